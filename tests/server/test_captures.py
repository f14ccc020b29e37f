"""Create calls: what is recorded, confirmed and sent, and what never is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.fakes import BASE, VITAL, FakeChart, make_service
from wardround_schemas.errors import UserError
from wardround_schemas.records import check_record
from wardround_server.asking import Answer, AskLater, Question
from wardround_server.backends.exchange import UncertainWriteError
from wardround_server.journal import read_captures, read_deliveries
from wardround_server.settings import ServerSettings

pytestmark = pytest.mark.anyio


async def answer_yes(question: Question) -> Answer:
    return "yes"


async def test_a_create_is_on_disk_before_it_is_accepted(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        result = await session.call("vital_create", VITAL)
        assert result.ok
        assert result.capture_seq == 1
        assert "Captured, not sent" in result.text
        (kept,) = read_captures(tmp_path / "journal")
        assert kept == session.captures[0]
        assert (kept.session, kept.seq, kept.function) == (session.id, 1, "vital.create")
        assert kept.resource == VITAL
        assert kept.canonical is not None
        assert kept.accepted


async def test_an_absolute_reference_to_the_own_chart_is_relative_in_the_canonical_form(
    tmp_path: Path,
) -> None:
    reference = f"{BASE}/Patient/S1234567"
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        assert (await session.call("vital_create", {**VITAL, "subject": {"reference": reference}})).ok
        capture = session.captures[0]
        assert capture.resource["subject"] == {"reference": reference}
        assert capture.canonical is not None
        assert capture.canonical["subject"] == {"reference": "Patient/S1234567"}


async def test_under_evaluation_the_acceptance_says_nothing_of_captures(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(voice="evaluation")
        result = await session.call("vital_create", VITAL)
        assert result.ok
        assert "captur" not in result.text.lower()
        assert all("captur" not in f.description.lower() for f in session.functions())


async def test_the_write_mode_stands_in_the_descriptions_of_the_create_tools(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        described = {f.name: f.description for f in service.sessions.create().functions()}
        assert "NOT sent" in described["medicationrequest.create"]
        assert "NOT sent" not in described["lab.search"]


async def test_a_refused_create_is_recorded_and_costs_a_round(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        wrong = {**VITAL, "status": 7}
        result = await session.call("vital_create", wrong)
        assert not result.ok
        assert "$.status" in result.text
        (kept,) = session.captures
        assert (kept.accepted, kept.seq, session.rounds_used) == (False, 1, 1)
        assert any(failure["path"] == "$.status" for failure in kept.failures)


async def test_a_create_with_arguments_that_are_no_json_is_recorded_as_an_attempt(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        assert not (await session.call("vital_create", '{"status": "final"')).ok
        assert [c.accepted for c in session.captures] == [False]


async def test_equal_orders_are_two_orders(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        for _ in range(2):
            await session.call("vital_create", VITAL)
        assert [c.seq for c in session.captures] == [1, 2]


async def test_a_call_repeated_with_its_key_is_one_capture(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(budget=1)
        first = await session.call("vital_create", VITAL, key="k")
        again = await session.call("vital_create", VITAL, key="k")
        assert again == first
        assert len(session.captures) == 1
        assert session.rounds_used == 1
        assert len(list(read_captures(tmp_path / "journal"))) == 1


async def test_a_call_repeated_while_the_first_is_under_way_is_one_capture(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        results = await asyncio.gather(*(session.call("vital_create", VITAL, key="k") for _ in range(5)))
        assert {r.capture_seq for r in results} == {1}
        assert len(session.captures) == 1


async def test_a_key_used_for_another_order_is_refused(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        await session.call("vital_create", VITAL, key="k")
        other = await session.call("vital_create", {**VITAL, "valueString": "90/60 mmHg"}, key="k")
        assert not other.ok
        assert "idempotency key" in other.text
        assert len(session.captures) == 1


async def test_a_key_is_remembered_across_a_restart(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        await service.sessions.create(name="ward").call("vital_create", VITAL, key="k")
    async with make_service(tmp_path) as service:
        session = service.sessions.create(name="ward")
        assert [c.seq for c in session.captures] == [1]
        again = await session.call("vital_create", VITAL, key="k")
        assert again.capture_seq == 1
        await session.call("vital_create", VITAL)
        assert [c.seq for c in read_captures(tmp_path / "journal")] == [1, 2]


async def test_a_capture_survives_a_caller_that_goes_away(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        task = asyncio.ensure_future(session.call("vital_create", VITAL))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await session.call("vital_create", VITAL)
        assert [c.seq for c in session.captures] == [1, 2]
        assert [(c.seq, c.ok) for c in session.calls] == [(1, False), (2, True)]
        assert session.rounds_used == 2


async def test_a_journal_that_fails_accepts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()

        async def refuse(*args: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(service.journal, "append", refuse)
        result = await session.call("vital_create", VITAL)
        assert not result.ok
        assert "Not accepted" in result.text
        assert session.captures == []
        assert session.journal_error is not None


async def test_in_overlay_later_searches_of_the_session_alone_show_the_capture(tmp_path: Path) -> None:
    search = {"patient": "S1234567", "category": "vital-signs", "date": "ge2023-11-13"}
    async with make_service(tmp_path, writes="overlay") as service:
        session, other = service.sessions.create(name="ward"), service.sessions.create()
        result = await session.call("vital_create", VITAL)
        assert "Later searches of this session show it" in result.text
        found = json.loads((await session.call("vital_search", search)).text)
        assert [e["resource"]["id"] for e in found["entry"]][-1] == "captured-1"
        assert found["total"] == 7
        assert json.loads((await other.call("vital_search", search)).text)["total"] == 6
        assert (await session.http_get("Observation/captured-1")).ok
        refused = await session.call("vital_create", {**VITAL, "status": 7})
        assert not refused.ok
        assert json.loads((await session.call("vital_search", search)).text)["total"] == 7
        service.sessions.close(session.id)
        again = service.sessions.create(name="ward")
        assert json.loads((await again.call("vital_search", search)).text)["total"] == 7


async def test_off_lists_and_carries_out_no_create(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(writes="off")
        assert all(f.kind == "search" for f in session.functions())
        result = await session.call("vital_create", VITAL)
        assert not result.ok
        assert "writes are off" in result.text
        post = await session.http_post(f"{BASE}/Observation", json.dumps(VITAL))
        assert not post.ok
        assert list(read_captures(tmp_path / "journal")) == []


async def test_a_resource_of_more_than_a_mebibyte_is_refused_and_not_kept(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        huge = {**VITAL, "valueString": "x" * 2_000_000}
        assert not (await session.call("vital_create", huge)).ok
        assert not (await session.http_post(f"{BASE}/Observation", json.dumps(huge))).ok
        assert [c.accepted for c in session.captures] == [False, False]
        assert (tmp_path / "journal" / "captures.jsonl").stat().st_size < 5000
        assert len(json.dumps(session.to_json())) < 10_000


async def test_every_capture_is_a_line_of_the_record_format(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        await session.call("vital_create", VITAL, key="k")
        await session.call("vital_create", {"status": 7})
        await session.call("vital_create", "{")
        await session.http_post("Condition", "[1, 2]")
        kept = list(read_captures(tmp_path / "journal"))
        assert len(kept) == 4
        for capture in kept:
            assert check_record("capture", capture.to_json()) == []


async def test_confirm_sends_after_a_yes_and_gives_the_servers_id(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        result = await session.call("vital_create", VITAL, ask=answer_yes)
        assert result.ok
        assert "new1" in result.text
        assert len(chart.created) == 1
        assert chart.created[0][1] == session.captures[0].canonical
        delivery = read_deliveries(tmp_path / "journal")[(session.id, 1)]
        assert (delivery.state, delivery.status, delivery.id) == ("sent", 201, "new1")


@pytest.mark.parametrize("answer", ["no", "none", "unsupported"])
async def test_confirm_without_a_yes_sends_nothing_and_records_why(tmp_path: Path, answer: Answer) -> None:
    chart = FakeChart(read_only=False)

    async def ask(question: Question) -> Answer:
        return answer

    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        result = await session.call("vital_create", VITAL, ask=ask)
        assert not result.ok
        assert result.text.startswith("Not sent")
        assert chart.created == []
        assert [c.accepted for c in session.captures] == [False]


async def test_confirm_without_a_way_to_ask_sends_nothing(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        assert not (await session.call("vital_create", VITAL)).ok
        assert not (await session.http_post(f"{BASE}/Observation", json.dumps(VITAL))).ok
        assert chart.created == []


async def test_a_call_put_off_until_the_person_answers_is_not_counted(tmp_path: Path) -> None:
    async def later(question: Question) -> Answer:
        raise AskLater(question)

    async with make_service(tmp_path, FakeChart(read_only=False), writes="confirm") as service:
        session = service.sessions.create(budget=1)
        with pytest.raises(AskLater):
            await session.call("vital_create", VITAL, ask=later)
        assert (session.rounds_used, session.captures) == (0, [])
        assert (await session.call("vital_create", VITAL, ask=answer_yes)).ok


async def test_forward_sends_only_what_is_valid_fhir(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create()
        wrong = await session.call("vital_create", {**VITAL, "effectiveDateTime": "2023-13-45T99:00:00Z"})
        assert not wrong.ok
        post = await session.http_post(f"{BASE}/Observation", '{"resourceType": "Observation"}')
        assert not post.ok
        assert "not sent" in post.text
        assert chart.created == []
        right = await session.call("vital_create", VITAL)
        assert right.ok
        assert len(chart.created) == 1


async def test_a_forwarded_call_that_is_retried_is_not_a_second_order(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create(name="ward")
        chart.error = UncertainWriteError("connection lost", retryable=True)
        lost = await session.call("vital_create", VITAL, key="k")
        assert not lost.ok
        assert "did not confirm" in lost.text
        chart.error = None
        again = await session.call("vital_create", VITAL, key="k")
        assert again.ok
        assert (await session.call("vital_create", VITAL, key="k")).ok
        assert (len(chart.created), len(session.captures)) == (1, 1)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        assert (await service.sessions.create(name="ward").call("vital_create", VITAL, key="k")).ok
        assert len(chart.created) == 1


async def test_forward_needs_the_second_switch(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--allow-forward"):
        ServerSettings(writes="forward")


async def test_an_order_too_long_to_be_shown_is_not_sent(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return "yes"

    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        result = await session.call("vital_create", {**VITAL, "valueString": "x" * 30_000}, ask=ask)
        assert not result.ok
        assert (asked, chart.created) == ([], [])
        assert [c.accepted for c in session.captures] == [False]


@pytest.mark.parametrize("answer", ["no", "unsupported"])
async def test_a_declined_order_that_is_retried_stays_declined(tmp_path: Path, answer: Answer) -> None:
    chart = FakeChart(read_only=False)

    async def ask(question: Question) -> Answer:
        return answer

    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        first = await session.call("vital_create", VITAL, key="k", ask=ask)
        again = await session.call("vital_create", VITAL, key="k", ask=answer_yes)
        assert again == first
        assert chart.created == []
