"""A real small language model behind all three APIs: whatever it scores, the ledger is whole.

Needs a server of Chat Completions, Responses and Messages at WARDROUND_TEST_MODEL_URL (its origin, without
/v1); WARDROUND_TEST_MODEL_NAME is the model's name there, WARDROUND_TEST_MODEL_RUNS a folder to keep the runs
in. A small model on few cores is slow: attempts run one at a time, turns are short, a request has 20 minutes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from wardround_harness.agents.base import Settings
from wardround_harness.ledger import OWED
from wardround_harness.plan import RunPlan
from wardround_harness.preflight import Wishes, preflight
from wardround_harness.preflight_card import markdown
from wardround_harness.probes import PROBES
from wardround_harness.run import execute
from wardround_harness.runs import ATTEMPTS, SUMMARY, read_json, read_lines
from wardround_schemas.records import check_record

URL = os.environ.get("WARDROUND_TEST_MODEL_URL", "").rstrip("/")
NAME = os.environ.get("WARDROUND_TEST_MODEL_NAME", "local")
KEPT = os.environ.get("WARDROUND_TEST_MODEL_RUNS", "")
"""A folder to keep the runs in, so that their transcripts can be read."""

pytestmark = [
    pytest.mark.model,
    pytest.mark.anyio,
    pytest.mark.skipif(not URL, reason="WARDROUND_TEST_MODEL_URL names no server of a model"),
    pytest.mark.parametrize("provider", ["openai-chat", "openai", "anthropic"]),
]

TASKS = ("task1_1", "task3_1", "task4_1", "task9_1", "task10_1")
SETTINGS = Settings(max_tokens=300, timeout_seconds=1200.0)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def base_url(provider: str) -> str:
    """The base URL as the provider's SDK takes it: OpenAI's with /v1, Anthropic's without."""
    return URL if provider == "anthropic" else f"{URL}/v1"


def told(line: dict[str, Any]) -> str:
    """One attempt in a line, for whoever watches."""
    calls = [call["function"] for entry in line["rounds"] for call in entry["calls"]]
    passed = {rules: verdict["passed"] for rules, verdict in (line["verdicts"] or {}).items()}
    return f"{line['task_id']}: {line['attempt']['status']}, {calls}, {passed}, {line['seconds']:.0f} s"


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_five_tasks_leave_nothing_owed(
    provider: str, protocol: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = (Path(KEPT) if KEPT else tmp_path) / f"{provider}-{protocol}"
    plan = RunPlan(
        model=f"{provider}/{NAME}",
        out=out,
        protocol=protocol,
        only=TASKS,
        base_url=base_url(provider),
        settings=SETTINGS,
        concurrency=1,
        resume=True,
    )
    report = await execute(plan, signals=False)
    lines = list(read_lines(out / ATTEMPTS))
    summary = read_json(out / SUMMARY)
    with capsys.disabled():
        print(f"\n{provider} {protocol}: {json.dumps(summary['ledger'])}")
        for line in lines:
            print(f"  {told(line)}")
        for rules, scores in summary["scores"].items():
            print(f"  {rules}: {scores['overall']['passed']} of {scores['overall']['total']}")
    assert report.exit_code == 0
    assert sorted(line["task_id"] for line in lines) == sorted(TASKS)
    assert not any(summary["ledger"].get(status) for status in OWED)
    assert sum(summary["ledger"].values()) == len(TASKS)
    for line in lines:
        assert check_record("run_line", line) == []
        assert line["rounds"], "a scored attempt has at least one turn"
        assert line["usage"]["input_tokens"] > 0
        assert line["verdicts"] is not None


async def test_preflight_finds_out_what_it_does(
    provider: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = RunPlan(model=f"{provider}/{NAME}", out=tmp_path, base_url=base_url(provider), settings=SETTINGS)
    card = await preflight(plan, Wishes(samples=0, long_characters=4000), lambda text: None)
    with capsys.disabled():
        print("\n" + markdown(card))
    assert len(card.findings) == len(PROBES)
    assert card.findings[0].verdict == "yes"
    assert "failed" not in {finding.verdict for finding in card.findings}
    assert card.estimate.cost_usd is None, "nobody has told the price of this model"
