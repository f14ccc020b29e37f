"""`wardround run` as a user starts it, in a process of its own, against each provider's API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.providers.capable import served
from tests.providers.oracle import oracle, user_texts
from tests.providers.wires import KEY, WIRES, Wire
from tests.server.scripted import Reply, ScriptedServer, Seen
from wardround_harness.runs import ATTEMPTS, read_json, read_lines
from wardround_tasks.loading import load_tasks

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.spec.split("/")[0])

TASKS = load_tasks("bundled").tasks
CHOSEN = [next(task for task in TASKS if task.category == f"task{number}") for number in range(1, 11)]
"""One of each category."""


def run(wire: Wire, server: ScriptedServer, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """`wardround run` over the chosen tasks in both protocols."""
    only = ",".join(task.id for task in CHOSEN)
    return subprocess.run(
        [
            *(sys.executable, "-m", "wardround_harness", "run", "--model", wire.spec, "-o", str(out)),
            *("--base-url", server.origin + wire.base, "--protocol", "both", "--only", only, *more),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY),
        check=False,
    )


def no_key_in(folder: Path) -> bool:
    return all(KEY.encode() not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_the_oracle_over_the_wire_passes_every_category_in_both_protocols(wire: Wire, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with served(oracle(wire, CHOSEN)) as server:
        done = run(wire, server, out)
    assert done.returncode == 0, done.stderr
    for lane in ("native", "text"):
        summary = read_json(out / lane / "summary.json")
        assert summary["ledger"]["completed"] == len(CHOSEN)
        for rules in ("medagentbench", "clinical"):
            assert summary["scores"][rules]["overall"]["passed"] == len(CHOSEN), [
                line["verdicts"] for line in read_lines(out / lane / ATTEMPTS)
            ]
        assert summary["usage"]["input_tokens"] > 0
        assert summary["cost_usd"] is None, "no list price holds for a server on this machine"
    comparison = json.loads((out / "compare.json").read_bytes())
    assert comparison
    assert no_key_in(out)


def test_what_a_provider_does_not_answer_is_owed_by_exit_3_and_made_up_by_resume(
    wire: Wire, tmp_path: Path
) -> None:
    out, well = tmp_path / "run", oracle(wire, CHOSEN)
    ill = CHOSEN[3].instruction

    def script(request: Seen) -> Reply:
        if ill in user_texts(request.json())[0]:
            return wire.error(404, "no such model in this region")
        return well(request)

    with served(script) as server:
        first = run(wire, server, out)
        assert first.returncode == 3, first.stderr
        assert "run again with --resume" in first.stderr
        for lane in ("native", "text"):
            summary = read_json(out / lane / "summary.json")
            assert summary["ledger"]["provider_error"] == 1
            low, high = summary["scores"]["clinical"]["overall"]["rate_bounds"]
            assert (low, high) == (pytest.approx(0.9), pytest.approx(1.0))
        assert not (out / "compare.json").exists()
        before = len(server.seen)
        server.script = well
        again = run(wire, server, out, "--resume")
        assert again.returncode == 0, again.stderr
        resumed = server.seen[before:]
    assert all(ill in user_texts(request.json())[0] for request in resumed), "what was done is not done again"
    for lane in ("native", "text"):
        assert read_json(out / lane / "summary.json")["ledger"]["completed"] == len(CHOSEN)
        assert len(list(read_lines(out / lane / ATTEMPTS))) == len(CHOSEN)
    assert (out / "compare.json").exists()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_the_run_by_exit_2_and_leaves_nothing(
    wire: Wire, status: int, tmp_path: Path
) -> None:
    refuse: Callable[[Seen], Reply] = lambda request: wire.error(status, f"key {KEY} is not known")  # noqa: E731
    with served(refuse) as server:
        done = run(wire, server, tmp_path / "run")
    assert done.returncode == 2
    assert "refused the key" in done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert not (tmp_path / "run").exists()
