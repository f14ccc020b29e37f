"""Preflight over the wire: each probe's question, whatever a model or its server makes of it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.providers.capable import capable, is_strict, served, tool_names
from tests.providers.wires import KEY, WIRES, Responses, Says, Wire
from tests.server.scripted import Reply, ScriptedServer, Seen, reply_json, scripted
from wardround_harness.agents.base import Settings
from wardround_harness.plan import RunPlan
from wardround_harness.preflight import Card, Wishes, choose_samples, preflight
from wardround_harness.preflight_card import markdown, plain
from wardround_harness.probes import PROBES
from wardround_schemas.errors import UserError
from wardround_tasks.loading import load_tasks

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.spec.split("/")[0])
PRICES = {"models": {wire.spec: {"input": 1.0, "output": 10.0} for wire in WIRES}}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


async def carded(
    wire: Wire, script: Callable[[Seen], Reply], *, prices: Path | None = None, samples: int = 2, **more: Any
) -> tuple[Card, ScriptedServer]:
    """The card of a model that follows a script, and its server."""
    async with scripted(script) as server:
        plan = RunPlan(
            model=wire.spec,
            out=Path(),
            base_url=server.origin + wire.base,
            prices=prices,
            settings=Settings(max_tokens=500, timeout_seconds=20),
            **more,
        )
        return await preflight(plan, Wishes(samples, long_characters=2000), lambda text: None), server


def always(wire: Wire, says: Says) -> Callable[[Seen], Reply]:
    return lambda request: reply_json(wire.answer(says, 0))


def verdicts(card: Card) -> dict[str, str]:
    return {finding.name: finding.verdict for finding in card.findings}


@pytest.mark.anyio
@each_wire
async def test_a_capable_model_is_found_so_and_its_run_is_estimated_from_attempts(
    wire: Wire, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps(PRICES))
    card, server = await carded(wire, capable(wire), prices=prices)
    assert set(verdicts(card).values()) == {"yes"}, [f for f in card.findings if f.verdict != "yes"]
    assert card.usable
    facts = {finding.name: finding.facts for finding in card.findings}
    assert facts["round_trip"]["reasoning_carried_back"] is True
    assert facts["parallel"]["calls"] == 2
    assert facts["one_call"]["calls"] == 1
    assert [sample.kind for sample in card.samples] == ["action", "query"]
    assert {sample.status for sample in card.samples} == {"completed"}
    # Each attempt is one request of 125 tokens in and 30 out, and the set has 300 tasks.
    assert card.estimate.basis == "sample"
    assert card.estimate.usage is not None
    assert (card.estimate.usage.input_tokens, card.estimate.usage.output_tokens) == (37_500, 9_000)
    assert card.estimate.cost_usd == pytest.approx(300 * (125 + 300) / 1e6)
    assert card.spent_usd == pytest.approx(len(server.seen) * (125 + 300) / 1e6)


@pytest.mark.anyio
@each_wire
async def test_an_unknown_price_is_unknown_and_never_zero(wire: Wire) -> None:
    card, _ = await carded(wire, capable(wire), samples=1)
    assert card.price is None
    assert card.estimate.cost_usd is None
    assert card.spent_usd is None
    assert card.estimate.usage is not None
    assert "- cost: unknown" in markdown(card)
    assert "$" not in markdown(card)


@pytest.mark.anyio
@each_wire
async def test_a_model_that_only_talks_is_not_ready_for_a_run(wire: Wire) -> None:
    card, _ = await carded(wire, always(wire, Says(text="Hello! How can I help?")))
    found = verdicts(card)
    assert found["answers"] == "yes"
    assert {found[n] for n in ("tool_call", "functions", "parallel", "text_protocol", "truncation")} == {"no"}
    assert {found[name] for name in ("round_trip", "strict", "willing", "long_result")} == {"unclear"}
    assert not card.usable
    assert card.samples == ()
    assert card.estimate.basis == "probe"


@pytest.mark.anyio
@each_wire
async def test_a_refusal_is_reported_with_its_stop(wire: Wire) -> None:
    card, _ = await carded(wire, always(wire, Says(text="I won't.", refusal=True)))
    (willing,) = (finding for finding in card.findings if finding.name == "willing")
    assert willing.verdict == "no"
    assert "refusal" in willing.detail


@pytest.mark.anyio
@each_wire
async def test_a_dead_endpoint_is_asked_once_and_the_rest_is_not_asked(wire: Wire) -> None:
    card, server = await carded(wire, lambda request: wire.error(404, "no such model"))
    assert list(verdicts(card).values()) == ["failed"] + ["not asked"] * (len(PROBES) - 1)
    assert len(server.seen) == 1
    assert not card.usable
    assert (card.estimate.basis, card.estimate.usage, card.estimate.cost_usd) == (None, None, None)


@pytest.mark.anyio
@each_wire
async def test_a_probe_that_fails_is_a_row_and_the_others_go_on(wire: Wire) -> None:
    def script(request: Seen) -> Reply:
        if "order_infusion" in tool_names(request.json()):
            return wire.error(404, "the backend for this went away")
        return capable(wire)(request)

    card, _ = await carded(wire, script, samples=0)
    assert verdicts(card) == {probe.name: "yes" for probe in PROBES} | {"willing": "failed"}
    assert not card.usable


@pytest.mark.anyio
@each_wire
async def test_a_refused_schema_is_a_no_with_the_providers_words(wire: Wire) -> None:
    def script(request: Seen) -> Reply:
        if is_strict(request.json()):
            return wire.error(400, "Invalid schema: too many unions")
        return capable(wire)(request)

    card, _ = await carded(wire, script, samples=0)
    (strict,) = (finding for finding in card.findings if finding.name == "strict")
    assert strict.verdict == "no"
    assert "too many unions" in strict.detail
    assert card.usable, "runs do without strict schemas"


@pytest.mark.anyio
@each_wire
async def test_a_result_that_does_not_fit_is_told_as_such(wire: Wire) -> None:
    def script(request: Seen) -> Reply:
        if len(request.body) > 2500 and "find_bed" in tool_names(request.json()):
            return wire.error(400, "prompt is too long: maximum context exceeded")
        return capable(wire)(request)

    card, _ = await carded(wire, script, samples=0)
    (long,) = (finding for finding in card.findings if finding.name == "long_result")
    assert long.verdict == "no"
    assert "context window" in long.detail


@pytest.mark.anyio
async def test_tokens_that_nobody_counts_are_unknown() -> None:
    wire = WIRES[2]
    card, _ = await carded(wire, always(wire, Says(text="FINISH([])", usage=False)))
    assert all(finding.usage is None for finding in card.findings)
    assert card.findings[0].facts["counts_tokens"] is False
    assert (card.estimate.basis, card.estimate.usage) == (None, None)


@pytest.mark.anyio
@each_wire
async def test_what_a_model_says_cannot_leave_its_cell(wire: Wire) -> None:
    evil = "a | b |\n| c | <script>alert(1)</script> \x1b[31m\u202e [x](http://evil.example.org) `y`"
    card, _ = await carded(wire, always(wire, Says(text=evil)), samples=0)
    page = markdown(card)
    rows = [line for line in page.splitlines() if line.startswith(("| D", "| C"))]
    assert len(rows) == len(PROBES)
    for row in rows:
        assert row.replace("\\|", "").count("|") == 6
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert re.search(r"(?<!\\)\]\(", page) is None
    assert "http://evil" not in page


def test_plain_text_is_one_bounded_line() -> None:
    assert plain("a\n\n b\x00c") == "a b c"
    assert len(plain("x" * 1000)) == 300


@pytest.mark.anyio
async def test_a_builtin_has_no_api_to_probe() -> None:
    with pytest.raises(UserError, match="no API"):
        await preflight(RunPlan(model="builtin/oracle", out=Path()), Wishes(), lambda text: None)


@pytest.mark.anyio
@each_wire
async def test_records_of_a_real_chart_are_not_probed_with_unasked(wire: Wire, tmp_path: Path) -> None:
    (tmp_path / "patient.json").write_text('{"resourceType": "Patient", "id": "S1"}')
    plan = RunPlan(
        model=wire.spec, out=Path(), base_url="https://api.example.org", fhir=str(tmp_path / "patient.json")
    )
    with pytest.raises(UserError, match="--allow-chart-to-provider"):
        await preflight(plan, Wishes(), lambda text: None)


def test_samples_take_the_kinds_in_turn() -> None:
    tasks = load_tasks("bundled").tasks
    assert choose_samples(tasks, 0) == []
    assert [task.kind for task in choose_samples(tasks, 1)] == ["action"]
    five = choose_samples(tasks, 5)
    assert [task.kind for task in five] == ["action"] * 3 + ["query"] * 2
    assert len({task.category for task in five}) == 5
    assert len(choose_samples(tasks[:3], 20)) == 3


def command(wire: Wire, server: ScriptedServer, *more: str) -> subprocess.CompletedProcess[str]:
    """`wardround preflight` as a user runs it."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "wardround_harness", "preflight", "--model", wire.spec),
            *("--base-url", server.origin + wire.base, *more),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY),
        check=False,
    )


@each_wire
def test_the_command_writes_both_cards_privately_and_without_the_key(wire: Wire, tmp_path: Path) -> None:
    def script(request: Seen) -> Reply:
        body = request.json()
        if not tool_names(body) and "FINISH" not in json.dumps(body) and 16 not in body.values():
            return reply_json(wire.answer(Says(text=f"ready, and your key is {KEY}"), 0))
        return capable(wire)(request)

    with served(script) as server:
        page, data = tmp_path / "card.md", tmp_path / "card.json"
        done = command(wire, server, "-o", str(page), "--json", str(data), "--samples", "1")
    assert (done.returncode, done.stdout) == (0, f"{page}\n"), done.stderr
    card = json.loads(data.read_bytes())
    assert card["usable"] is True
    assert len(card["findings"]) == len(PROBES)
    assert card["estimate"]["cost_usd"] is None
    for file in (page, data):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert KEY not in file.read_text()
    assert KEY not in done.stderr


@each_wire
def test_a_refused_key_ends_the_command_with_one_line_and_exit_2(wire: Wire, tmp_path: Path) -> None:
    with served(lambda request: wire.error(401, f"bad key {KEY}")) as server:
        done = command(wire, server, "-o", str(tmp_path / "card.md"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "refused the key" in done.stderr
    assert KEY not in done.stderr
    assert not (tmp_path / "card.md").exists()


def test_a_model_that_is_not_ready_makes_exit_1_and_a_card_on_standard_output() -> None:
    wire = Responses()
    with served(always(wire, Says(text="Hello!"))) as server:
        done = command(wire, server, "--samples", "0")
    assert done.returncode == 1
    assert done.stdout.startswith("# Preflight of openai/gpt-5-test")
    assert "NOT ready" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_missing_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    wire = Responses()
    with served(always(wire, Says(text="Hello!"))) as server:
        done = command(wire, server, "--json", str(tmp_path / "no" / "card.json"))
        assert server.seen == []
    assert done.returncode == 2
    assert "folder does not exist" in done.stderr
