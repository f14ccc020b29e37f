"""Whole attempts of each provider's agent over the wire, through the real server, into the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.providers.wires import KEY, WIRES, Says, Wire, playing
from tests.server.scripted import Reply, Seen, reply_json, scripted
from wardround_harness.plan import RunPlan
from wardround_harness.run import execute
from wardround_harness.runs import ATTEMPTS, read_json, read_lines
from wardround_schemas.errors import UserError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.spec.split("/")[0]),
]

TASK = "task4_1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


async def ran(
    wire: Wire, script: Callable[[Seen], Reply], out: Path, **more: Any
) -> tuple[dict[str, Any], list[Seen]]:
    """The one line of a run over one task against a scripted provider, and what the provider saw."""
    async with scripted(script) as server:
        plan = RunPlan(model=wire.spec, out=out, only=(TASK,), base_url=server.origin + wire.base, **more)
        await execute(plan, signals=False)
        (line,) = read_lines(out / ATTEMPTS)
        return dict(line), server.seen


def model(*turns: Says) -> Callable[[int], Says]:
    """The turns in order; the last one again and again."""
    return lambda turn: turns[min(turn, len(turns) - 1)]


FINISH = Says(calls=[("finish", {"answers": [-1]})])
SEARCH = Says(thinking="Where is it?", calls=[("lab_search", {"code": "MG", "patient": "S0"})])


async def test_search_and_finish_make_a_completed_attempt(wire: Wire, tmp_path: Path) -> None:
    line, seen = await ran(wire, playing(wire, model(SEARCH, FINISH)), tmp_path / "run")
    assert line["attempt"]["status"] == "completed"
    assert line["attempt"]["answer"] == "[-1]"
    assert (line["rounds_by_call"], line["rounds_by_turn"]) == (2, 2)
    assert line["usage"]["cached_input_tokens"] == 200
    assert line["usage"]["reasoning_tokens"] == 24
    (_, found), *_ = wire.results(seen[-1])
    assert '"resourceType":"Bundle"' in found.replace(" ", "")


async def test_the_text_protocol_goes_over_the_same_wire(wire: Wire, tmp_path: Path) -> None:
    said = model(Says(text="GET http://127.0.0.1/nowhere?x=1"), Says(text="FINISH([-1])"))
    line, seen = await ran(wire, playing(wire, said), tmp_path / "run", protocol="text")
    assert (line["attempt"]["status"], line["attempt"]["answer"]) == ("completed", "[-1]")
    assert line["rounds"][0]["calls"][0]["ok"] is False
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("odd", "status"),
    [
        ("cut", "truncated"),
        ("filtered", "refused"),
        ("refusal", "refused"),
        ("empty", "invalid_action"),
        ("talk", "invalid_action"),
        ("too long", "context_limit"),
        ("loop", "budget_exhausted"),
    ],
)
async def test_each_odd_turn_has_its_place_in_the_ledger(
    wire: Wire, odd: str, status: str, tmp_path: Path
) -> None:
    turns = {
        "cut": wire.cut(),
        "filtered": wire.filtered(),
        "refusal": Says(text="No.", refusal=True),
        "empty": Says(),
        "talk": Says(text="The magnesium is fine."),
        "loop": SEARCH,
    }

    def script(request: Seen) -> Reply:
        if odd == "too long":
            return wire.error(400, "prompt is too long: maximum context exceeded")
        return playing(wire, model(turns[odd]))(request)

    line, _ = await ran(wire, script, tmp_path / "run")
    assert line["attempt"]["status"] == status
    assert line["verdicts"]["clinical"]["passed"] is False
    assert read_json(tmp_path / "run" / "summary.json")["ledger"][status] == 1


async def test_calls_that_came_together_each_cost_a_round(wire: Wire, tmp_path: Path) -> None:
    four = Says(calls=[("lab_search", {"code": "MG", "patient": "S0"})] * 4)
    line, _ = await ran(wire, playing(wire, model(four)), tmp_path / "run")
    assert line["attempt"]["status"] == "budget_exhausted"
    assert (line["rounds_by_call"], line["rounds_by_turn"]) == (8, 2)


async def test_faulty_arguments_and_unknown_tools_are_explained_and_cost_a_round(
    wire: Wire, tmp_path: Path
) -> None:
    said = model(
        Says(calls=[("lab_search", {"cod": "MG", "patient": "S0"})]),
        Says(calls=[("read_mind", {})]),
        FINISH,
    )
    line, seen = await ran(wire, playing(wire, said), tmp_path / "run")
    assert line["attempt"]["status"] == "completed"
    assert line["rounds_by_call"] == 3
    first, second = (text for _, text in wire.results(seen[-1]))
    assert "code" in first
    assert "read_mind" in second


async def test_a_rate_limit_is_waited_out_and_not_scored(wire: Wire, tmp_path: Path) -> None:
    refusals = iter(
        [wire.error(429, "slow down", retry_after_ms="1"), wire.error(529, "busy", retry_after="0")]
    )

    def script(request: Seen) -> Reply:
        return next(refusals, None) or playing(wire, model(FINISH))(request)

    line, seen = await ran(wire, script, tmp_path / "run")
    assert line["attempt"]["status"] == "completed"
    assert len(seen) == 3


async def test_an_outage_is_owed_and_resume_makes_it_up(wire: Wire, tmp_path: Path) -> None:
    outages = [wire.error(404, "no such model")]

    def script(request: Seen) -> Reply:
        return outages.pop() if outages else playing(wire, model(FINISH))(request)

    async with scripted(script) as server:
        base_url = server.origin + wire.base
        for resume, status, owed in ((False, "provider_error", 1), (True, "completed", 0)):
            plan = RunPlan(
                model=wire.spec, out=tmp_path / "run", only=(TASK,), base_url=base_url, resume=resume
            )
            await execute(plan, signals=False)
            summary = read_json(tmp_path / "run" / "summary.json")
            assert summary["ledger"][status] == 1
            assert ("rate_bounds" in summary["scores"]["clinical"]["overall"]) == bool(owed)


async def test_a_refused_key_scores_nothing_and_no_key_is_written(wire: Wire, tmp_path: Path) -> None:
    async with scripted(lambda request: wire.error(401, f"bad key {KEY}")) as server:
        plan = RunPlan(
            model=wire.spec, out=tmp_path / "run", only=(TASK,), base_url=server.origin + wire.base
        )
        with pytest.raises(UserError, match="refused the key") as caught:
            await execute(plan, signals=False)
    assert KEY not in str(caught.value)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


async def test_the_key_is_never_written_even_where_a_provider_echoes_it(wire: Wire, tmp_path: Path) -> None:
    def script(request: Seen) -> Reply:
        return reply_json(wire.answer(Says(text=f"your key is {KEY}"), 0))

    await ran(wire, script, tmp_path / "run")
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
