"""Create calls that come twice: one order, asked about once and sent once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.fakes import VITAL, FakeChart, make_service
from wardround_schemas.errors import ChartError
from wardround_server.asking import Answer, AskLater, Question
from wardround_server.backends.exchange import UncertainWriteError
from wardround_server.capture import Capture
from wardround_server.journal import read_captures, read_deliveries

pytestmark = pytest.mark.anyio


class Person:
    """Who is asked: answers once told to, and counts the questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def ask(self, question: Question) -> Answer:
        self.asked += 1
        self.was_asked.set()
        await self.may_answer.wait()
        return "yes"


async def test_of_equal_keyed_calls_at_once_one_asks_and_one_order_is_sent(tmp_path: Path) -> None:
    chart, person = FakeChart(read_only=False), Person()
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        calls = [
            asyncio.ensure_future(session.call("vital_create", VITAL, key="k", ask=person.ask))
            for _ in range(3)
        ]
        await person.was_asked.wait()
        other = await session.call("vital_create", {**VITAL, "valueString": "x"}, key="k", ask=person.ask)
        assert "idempotency key" in other.text
        person.may_answer.set()
        first, *others = await asyncio.gather(*calls)
        assert first.ok
        assert others == [first, first]
        assert (person.asked, len(chart.created), len(session.captures)) == (1, 1, 1)
        assert session.rounds_used == 1


async def test_a_caller_that_goes_away_while_asking_leaves_the_key_to_the_one_who_waits(
    tmp_path: Path,
) -> None:
    chart, person = FakeChart(read_only=False), Person()
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        first = asyncio.ensure_future(session.call("vital_create", VITAL, key="k", ask=person.ask))
        await person.was_asked.wait()
        waiting = [
            asyncio.ensure_future(session.call("vital_create", VITAL, key="k", ask=person.ask))
            for _ in range(2)
        ]
        person.may_answer.set()
        first.cancel()
        results = await asyncio.gather(*waiting)
        assert [r.ok for r in results] == [True, True]
        assert (person.asked, len(chart.created), len(session.captures)) == (2, 1, 1)


async def test_a_call_put_off_leaves_its_key_free(tmp_path: Path) -> None:
    chart, person = FakeChart(read_only=False), Person()
    person.may_answer.set()

    async def later(question: Question) -> Answer:
        raise AskLater(question)

    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        with pytest.raises(AskLater):
            await session.call("vital_create", VITAL, key="k", ask=later)
        assert (await session.call("vital_create", VITAL, key="k", ask=person.ask)).ok
        assert (person.asked, len(chart.created)) == (1, 1)


async def test_an_order_that_never_reached_the_journal_may_be_tried_again_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()

        async def refuse(capture: Capture) -> Capture:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as full_disk:
            full_disk.setattr(service.journal, "append", refuse)
            for _ in range(2):
                assert "Not accepted" in (await session.call("vital_create", VITAL, key="k")).text
        result = await session.call("vital_create", VITAL, key="k")
        assert result.ok
        assert await session.call("vital_create", VITAL, key="k") == result
        assert len(list(read_captures(tmp_path / "journal"))) == 1


async def test_a_finished_session_answers_no_repeated_call(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(finish=True)
        assert (await session.call("vital_create", VITAL, key="k")).ok
        assert (await session.call("finish", {"answers": [1]})).ok
        again = await session.call("vital_create", VITAL, key="k")
        assert not again.ok
        assert "is finished" in again.text
        assert [record.ok for record in session.calls] == [True, True, False]


@pytest.mark.parametrize("end", ["budget", "finish"])
async def test_an_order_whose_sending_failed_is_not_sent_after_the_end(tmp_path: Path, end: str) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create(budget=1 if end == "budget" else None, finish=True)
        chart.error = ChartError("the server answered 503", status=503, retryable=True)
        first = await session.call("vital_create", VITAL, key="k")
        assert not first.ok
        chart.error = None
        if end == "finish":
            await session.call("finish", {"answers": [1]})
        again = await session.call("vital_create", VITAL, key="k")
        assert not again.ok
        assert (again == first) is (end == "budget")
        assert chart.created == []


async def test_an_order_of_before_a_restart_is_not_sent_past_the_budget(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        chart.error = ChartError("the server answered 503", status=503, retryable=True)
        await service.sessions.create(name="ward").call("vital_create", VITAL, key="k")
        chart.error = None
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create(name="ward", budget=1)
        await session.call("patient_search", {})
        again = await session.call("vital_create", VITAL, key="k")
        assert "budget" in again.text
        assert chart.created == []


@pytest.mark.parametrize(
    ("error", "state", "said"),
    [
        (ChartError("the server can't be reached; nothing was stored", retryable=True), "unsent", "Not sent"),
        (ChartError("the server answered 422", status=422), "refused", "Not sent"),
        (ChartError("the answer is larger than allowed", status=200), "unknown", "Not confirmed"),
        (UncertainWriteError("the connection broke"), "unknown", "Not confirmed"),
    ],
)
async def test_an_order_that_never_went_out_is_told_from_one_whose_answer_was_lost(
    tmp_path: Path, error: ChartError, state: str, said: str
) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create()
        chart.error = error
        result = await session.call("vital_create", VITAL, key="k")
        assert not result.ok
        assert result.text.startswith(said)
        assert read_deliveries(tmp_path / "journal")[(session.id, 1)].state == state
        chart.error = None
        assert (await session.call("vital_create", VITAL, key="k")).ok
        assert read_deliveries(tmp_path / "journal")[(session.id, 1)].state == "sent"
