"""The round loop: what counts as a round, and where every odd turn ends up."""

from __future__ import annotations

from typing import Literal

import anyio
import pytest

from tests.harness.fakes import FINISH, FakeDoor, FakeModel, FakeTime, calls, failing, most, says
from wardround_harness.agents.base import Settings, ToolMessage, Transcript, Turn, UserMessage
from wardround_harness.costs import Price, Purse
from wardround_harness.limits import Caller, RateLimiter, RetryPolicy
from wardround_harness.loop import Budget, Dialect, Play, run_rounds
from wardround_harness.protocols.native import Native
from wardround_harness.protocols.text import Text
from wardround_schemas.errors import ChartError

pytestmark = pytest.mark.anyio

SEARCH = ("lab_search", {"patient": "S1", "code": "K"})


async def played(
    *replies: Turn | Exception,
    protocol: Literal["native", "text"] = "native",
    rounds: int = 8,
    by_turn: bool = False,
    door: FakeDoor | None = None,
) -> Play:
    """An attempt over scripted replies."""
    time = FakeTime()
    caller = Caller(
        FakeModel(list(replies)),
        Settings(),
        RateLimiter(1, clock=time.clock, sleep=time.sleep),
        Purse(Price(1.0, 1.0)),
        RetryPolicy(tries=3),
        time.clock,
        time.sleep,
        most,
    )
    play = Play(Transcript("", [UserMessage("task")], protocol=protocol))
    door = door if door is not None else FakeDoor(None if by_turn else rounds)
    dialect: Dialect = Native() if protocol == "native" else Text()
    await run_rounds(play, caller, dialect, door, await door.tools(), Budget(rounds, by_turn=by_turn))
    return play


async def test_a_call_then_finish_is_completed_in_two_rounds() -> None:
    play = await played(calls(SEARCH), FINISH)
    assert (play.status, play.answer, play.actions, len(play.rounds)) == ("completed", "[1]", 2, 2)
    assert isinstance(play.transcript.messages[2], ToolMessage)


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (says("I think it is 3.5"), "invalid_action"),
        (says(""), "invalid_action"),
        (says("FINISH([1])"), "invalid_action"),
        (says("no", stop="refusal"), "refused"),
        (says("", stop="content_filter"), "refused"),
        (says("", stop="context_limit"), "context_limit"),
        (says("the answer is", stop="max_tokens"), "truncated"),
    ],
)
async def test_every_odd_turn_of_the_native_protocol_has_a_status(turn: Turn, status: str) -> None:
    play = await played(turn)
    assert play.status == status
    assert len(play.rounds) == 1


async def test_calls_of_a_turn_that_was_cut_are_not_run() -> None:
    door = FakeDoor()
    play = await played(calls(("vital_create", {"valueString": "1"}), stop="max_tokens"), door=door)
    assert (play.status, door.made) == ("truncated", [])


async def test_the_eighth_round_without_finish_exhausts_the_budget() -> None:
    play = await played(*[calls(SEARCH)] * 8)
    assert (play.status, play.actions) == ("budget_exhausted", 8)


async def test_finish_in_the_eighth_round_still_counts() -> None:
    play = await played(*[calls(SEARCH)] * 7, FINISH)
    assert (play.status, play.actions) == ("completed", 8)


async def test_a_refused_call_costs_a_round() -> None:
    door = FakeDoor(respond=lambda name, arguments: (False, "no such code"))
    play = await played(calls(SEARCH), FINISH, door=door)
    assert (play.actions, play.rounds[0].calls[0].ok) == (2, False)


async def test_parallel_calls_cost_a_round_each() -> None:
    door = FakeDoor(budget=3)
    play = await played(calls(SEARCH, SEARCH, SEARCH, SEARCH, SEARCH), rounds=3, door=door)
    assert (play.status, play.actions, len(play.rounds), len(door.made)) == ("budget_exhausted", 3, 1, 3)
    assert play.rounds[0].notes == ("2 calls beyond the last round were not run",)


async def test_with_parallel_tools_a_round_is_a_turn() -> None:
    play = await played(calls(SEARCH, SEARCH, SEARCH), calls(SEARCH, SEARCH), FINISH, rounds=3, by_turn=True)
    assert (play.status, play.actions, len(play.rounds)) == ("completed", 6, 3)


async def test_with_parallel_tools_the_last_turn_exhausts_the_budget() -> None:
    play = await played(calls(SEARCH, SEARCH), calls(SEARCH), rounds=2, by_turn=True)
    assert (play.status, play.actions) == ("budget_exhausted", 3)


async def test_calls_after_finish_in_one_turn_are_not_run() -> None:
    door = FakeDoor()
    play = await played(calls(SEARCH, ("finish", {"answers": [1]}), ("vital_create", {})), door=door)
    assert play.status == "completed"
    assert [name for name, _ in door.made] == ["lab_search", "finish"]
    assert play.rounds[0].notes == ("1 calls after finish were not run",)


async def test_results_go_back_under_the_ids_of_their_calls_in_order() -> None:
    play = await played(calls(SEARCH, ("patient_search", {})), FINISH)
    reply = play.transcript.messages[2]
    assert isinstance(reply, ToolMessage)
    assert [(r.call_id, r.name) for r in reply.results] == [("id0", "lab_search"), ("id1", "patient_search")]


async def test_a_provider_that_fails_for_good_is_owed_not_scored() -> None:
    play = await played(calls(SEARCH), *[failing("server", status=500)] * 3)
    assert (play.status, play.actions) == ("provider_error", 1)
    assert play.error == "server: it failed"


async def test_a_provider_that_recovers_goes_unnoticed_but_for_the_tries() -> None:
    play = await played(failing("overloaded", status=529), failing("connection"), FINISH)
    assert (play.status, play.rounds[0].tries) == ("completed", 3)


async def test_a_chart_that_cannot_be_read_is_owed_not_scored() -> None:
    def broken(name: str, arguments: object) -> tuple[bool, str]:
        raise ChartError("the server is away")

    play = await played(calls(SEARCH), door=FakeDoor(respond=broken))
    assert (play.status, play.error) == ("chart_error", "the server is away")


async def test_usage_and_cost_add_up_over_the_turns() -> None:
    play = await played(calls(SEARCH), FINISH)
    assert (play.usage.input_tokens, play.usage.output_tokens) == (200, 20)
    assert play.cost == pytest.approx(220e-6)


async def test_a_turn_without_usage_makes_the_cost_unknown() -> None:
    play = await played(Turn(calls=FINISH.calls, usage=None))
    assert play.cost is None


async def test_text_actions_go_to_the_chart_and_finish_ends() -> None:
    door = FakeDoor()
    play = await played(
        says("GET http://h/fhir/Patient?name=x"),
        says('POST http://h/fhir/Observation\n{"a": 1}'),
        says("FINISH([1, 2])"),
        protocol="text",
        door=door,
    )
    assert (play.status, play.answer, play.actions) == ("completed", "[1, 2]", 3)
    assert door.made == [
        ("GET", {"url": "http://h/fhir/Patient?name=x"}),
        ("POST", {"url": "http://h/fhir/Observation", "body": '{"a": 1}'}),
    ]
    assert play.mentions_post


async def test_prose_in_the_text_protocol_is_an_invalid_action() -> None:
    play = await played(says("Let me look. GET http://h/fhir/Patient"), protocol="text")
    assert (play.status, play.actions, play.mentions_post) == ("invalid_action", 0, False)


async def test_the_letters_post_in_any_message_are_noted() -> None:
    play = await played(says("GET http://h/POST"), says("FINISH([])"), protocol="text")
    assert play.mentions_post


async def test_a_text_run_past_its_rounds_exhausts_the_budget() -> None:
    play = await played(*[says("GET http://h/fhir/Patient")] * 2, protocol="text", rounds=2)
    assert play.status == "budget_exhausted"


async def test_a_cancelled_attempt_keeps_what_was_done() -> None:
    from tests.harness.fakes import HangingModel

    model = HangingModel()
    play = Play(Transcript("", [UserMessage("task")]))
    caller = Caller(model, Settings(), RateLimiter(1), Purse(None))
    door = FakeDoor()
    async with anyio.create_task_group() as group:
        group.start_soon(run_rounds, play, caller, Native(), door, (), Budget(8))
        await model.asked.wait()
        group.cancel_scope.cancel()
    assert play.status == "interrupted"
