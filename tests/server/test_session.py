"""The session: budget, write modes, what is recorded, and what a call never does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.fakes import BASE, VITAL, FakeChart, make_service
from wardround_schemas.errors import ChartError, UserError
from wardround_schemas.records import check_record
from wardround_server.asking import Answer, AskLater, Question
from wardround_server.journal import read_captures, read_deliveries
from wardround_server.sessions import CeilingError, TooManySessionsError, may_be_chosen, new_name
from wardround_server.settings import WRITE_MODES, ServerSettings, WriteMode, reach

pytestmark = pytest.mark.anyio


async def answer_yes(question: Question) -> Answer:
    return "yes"


# --- searches and rounds ------------------------------------------------------------------------


async def test_a_search_gives_the_bundle_as_the_chart_gave_it(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        result = await session.call("lab_search", {"patient": "S1234567", "code": "MG"})
        assert result.ok
        assert result.is_search
        assert json.loads(result.text)["total"] == 6
        assert session.rounds_used == 1
        assert session.calls[0].function == "lab.search"


@pytest.mark.parametrize("name", ["lab_search", "lab.search"])
async def test_both_spellings_of_a_name_reach_the_function(tmp_path: Path, name: str) -> None:
    async with make_service(tmp_path) as service:
        result = await service.sessions.create().call(name, {"patient": "S1234567", "code": "MG"})
        assert result.ok


async def test_past_the_budget_each_call_is_refused_and_says_so(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(budget=2, finish=True)
        for _ in range(2):
            assert (await session.call("patient_search", {})).ok
        assert session.to_json()["status"] == "open"
        for name in ("patient_search", "vital_create", "finish", "nonsense"):
            refused = await session.call(name, {"answers": []})
            assert not refused.ok
            assert "budget of 2 calls is used up" in refused.text
        assert session.status == "budget_exhausted"
        assert session.rounds_used == 2
        assert session.captures == []
        assert session.answer is None


async def test_finish_within_the_budget_ends_the_session_with_its_answer(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(budget=2, finish=True)
        await session.call("patient_search", {})
        result = await session.call("finish", {"answers": [1.8, "x"]})
        assert result.ok
        assert (session.status, session.answer, session.rounds_used) == ("completed", '[1.8,"x"]', 2)
        late = await session.call("patient_search", {})
        assert not late.ok
        assert "finished" in late.text
        assert session.rounds_used == 2


@pytest.mark.parametrize("arguments", [None, {}, {"answers": 1}, {"answers": [], "more": 1}, "[1]", [1], "{"])
async def test_a_finish_without_a_list_is_refused_and_costs_a_round(tmp_path: Path, arguments: Any) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(finish=True)
        result = await session.call("finish", arguments)
        assert not result.ok
        assert "answers" in result.text
        assert (session.status, session.answer, session.rounds_used) == ("open", None, 1)


async def test_finish_is_listed_and_known_only_where_it_was_asked_for(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        plain = service.sessions.create()
        assert len(plain.functions()) == 9
        assert not (await plain.call("finish", {"answers": []})).ok
        assert plain.status == "open"
        assert [f.tool_name for f in service.sessions.create(finish=True).functions()][-1] == "finish"


@pytest.mark.parametrize("arguments", ["{", "[1,2]", 7, [1], '{"code": }', True])
async def test_arguments_that_are_no_object_cost_a_round_and_are_named(
    tmp_path: Path, arguments: Any
) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        result = await session.call("lab_search", arguments)
        assert not result.ok
        assert "$" in result.text
        assert session.rounds_used == 1
        assert session.calls[0].ok is False


async def test_an_unknown_tool_costs_a_round_and_names_the_nearest(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        result = await session.call("lab_serach", {})
        assert not result.ok
        assert "Did you mean lab_search?" in result.text
        assert session.rounds_used == 1


async def test_a_page_is_only_ever_a_link_that_was_given_out(tmp_path: Path) -> None:
    chart = FakeChart(page_size=4)
    async with make_service(tmp_path, chart) as service:
        session = service.sessions.create()
        first = await session.call("lab_search", {"patient": "S1234567", "code": "MG"})
        assert first.next is not None
        second = await session.call("lab_search", {"page": first.next})
        assert second.ok
        assert [e["resource"]["id"] for e in json.loads(second.text)["entry"]] == ["O4", "O5"]
        for url in ("http://169.254.169.254/latest", f"{BASE}?page=0-99", "file:///etc/passwd", ""):
            refused = await session.call("lab_search", {"page": url})
            assert not refused.ok
        other = service.sessions.create()
        assert not (await other.call("lab_search", {"page": first.next})).ok


async def test_a_result_over_the_bound_is_cut_and_its_rest_comes_by_its_cursor(tmp_path: Path) -> None:
    async with make_service(tmp_path, max_result_bytes=2500) as service:
        session = service.sessions.create()
        result = await session.call("lab_search", {"patient": "S1234567", "code": "MG"})
        seen: list[str] = []
        for _ in range(10):
            assert result.ok
            assert len(result.text.encode()) <= 2500
            entries = json.loads(result.text)["entry"]
            seen += [e["resource"]["id"] for e in entries if e["resource"]["resourceType"] == "Observation"]
            if result.next is None:
                break
            result = await session.call("lab_search", {"page": result.next})
        assert seen == [f"O{n}" for n in range(6)]


async def test_a_chart_that_fails_is_an_error_and_never_an_empty_result(tmp_path: Path) -> None:
    chart = FakeChart()
    async with make_service(tmp_path, chart) as service:
        session = service.sessions.create()
        chart.error = ChartError("no route to host", retryable=True)
        result = await session.call("lab_search", {"patient": "S1234567", "code": "MG"})
        assert not result.ok
        assert "not an empty result" in result.text
        assert session.chart_error == "no route to host"


async def test_a_query_that_the_chart_refuses_is_the_agents_to_mend(tmp_path: Path) -> None:
    chart = FakeChart()
    async with make_service(tmp_path, chart) as service:
        session = service.sessions.create()
        chart.error = ChartError("unknown parameter", status=400)
        result = await session.call("lab_search", {"patient": "S1234567", "code": "MG"})
        assert not result.ok
        assert "HTTP 400" in result.text
        assert session.chart_error is None


# --- captures -----------------------------------------------------------------------------------


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


# --- confirm and forward ------------------------------------------------------------------------


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
        chart.error = ChartError("connection lost", retryable=True)
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


# --- the text protocol --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        f"{BASE}/Observation?code=MG&patient=S1234567",
        "Observation?code=MG&patient=S1234567",
        "/Observation?code=MG&patient=S1234567",
        "/fhir/Observation?code=MG&patient=S1234567&_format=json",
        f" {BASE}/Observation?code=MG&patient=S1234567 ",
    ],
)
async def test_get_searches_under_the_base_only_relative_or_whole(tmp_path: Path, url: str) -> None:
    chart = FakeChart()
    async with make_service(tmp_path, chart) as service:
        session = service.sessions.create()
        result = await session.http_get(url)
        assert result.ok
        assert chart.asked == [("Observation", [("code", "MG"), ("patient", "S1234567")])]
        assert session.rounds_used == 1


HOSTILE_URLS = [
    "http://169.254.169.254/latest/meta-data",
    "http://127.0.0.1:8421/other/Patient?name=x",
    "http://127.0.0.1:8421/fhirx/Patient",
    "http://127.0.0.1:8421/fhir@evil.example/Patient",
    "http://user:pw@127.0.0.1:8421/fhir/Patient",
    "https://127.0.0.1:8421/fhir/Patient",
    "//evil.example/fhir/Patient",
    "\\\\evil.example\\fhir",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "Patient/../../etc/passwd",
    "../Patient",
    "Patient/S1/$everything",
    "$export",
    "Patient#x",
    "Patient?name=a\r\nHost: evil",
    "",
    " ",
    "x" * 9000,
]


@pytest.mark.parametrize("url", HOSTILE_URLS)
async def test_a_url_that_leads_elsewhere_is_refused_and_never_fetched(tmp_path: Path, url: str) -> None:
    chart = FakeChart()
    async with make_service(tmp_path, chart) as service:
        session = service.sessions.create()
        result = await session.http_get(url)
        assert not result.ok
        assert chart.asked == []
        assert session.rounds_used == 1


async def test_get_follows_next_links_that_were_given_and_reads_one_resource(tmp_path: Path) -> None:
    async with make_service(tmp_path, FakeChart(page_size=4)) as service:
        session = service.sessions.create()
        first = await session.http_get("Observation?code=MG")
        assert first.next is not None
        assert (await session.http_get(f"{first.next}&_format=json")).ok
        assert (await session.http_get("Patient/S1234567")).ok
        assert (await session.http_get("metadata")).ok
        assert not (await session.http_get("Patient/none")).ok
        assert not (await session.http_get(f"{BASE}?page=0-9999")).ok


async def test_post_accepts_whatever_is_json_and_records_the_faults(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(voice="evaluation")
        right = await session.http_post(f"{BASE}/Observation", json.dumps(VITAL))
        odd = await session.http_post(f"{BASE}/Observation", '{"status": 7}')
        listed = await session.http_post(f"{BASE}/MedicationRequest", "[1]")
        elsewhere = await session.http_post("http://evil.example/Observation", json.dumps(VITAL))
        unknown = await session.http_post(f"{BASE}/Condition", "{}")
        assert [r.ok for r in (right, odd, listed, elsewhere, unknown)] == [True] * 5
        kept = session.captures
        assert [c.accepted for c in kept] == [True] * 5
        assert [c.function for c in kept[:3]] == ["vital.create", "vital.create", "medicationrequest.create"]
        assert [c.resource_type for c in kept] == [
            "Observation",
            "Observation",
            "MedicationRequest",
            "http://evil.example/Observation",
            "Condition",
        ]
        assert kept[0].failures == ()
        assert all(c.failures for c in kept[1:])
        assert kept[2].resource == [1]


@pytest.mark.parametrize("body", ["", "{", "Observation", "{'a': 1}", '{"a": NaN}', "[" * 5000])
async def test_post_of_what_is_no_json_is_invalid_and_recorded(tmp_path: Path, body: str) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        result = await session.http_post(f"{BASE}/Observation", body)
        assert not result.ok
        assert result.text.startswith("Invalid POST")
        assert [(c.accepted, c.resource_type) for c in session.captures] == [(False, "Observation")]
        assert session.rounds_used == 1


# --- the store ----------------------------------------------------------------------------------


async def test_no_session_goes_above_the_operators_ceiling(tmp_path: Path) -> None:
    for ceiling in WRITE_MODES:
        settings_of: dict[str, Any] = {
            "writes": ceiling,
            "allow_forward": True,
            "journal": tmp_path / ceiling,
        }
        async with make_service(tmp_path, FakeChart(read_only=False), **settings_of) as service:
            for asked in WRITE_MODES:
                if reach(asked) > reach(ceiling):
                    with pytest.raises(CeilingError):
                        service.sessions.create(writes=asked)
                else:
                    assert service.sessions.create(writes=asked).writes == asked
            assert service.sessions.create().writes == ceiling


async def test_names_are_unguessable_and_sessions_isolated(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        one, two = service.sessions.create(), service.sessions.create()
        assert one.id != two.id
        assert len(one.id) >= 32
        await one.call("vital_create", VITAL)
        assert (len(one.captures), len(two.captures), two.rounds_used) == (1, 0, 0)


async def test_an_idle_session_ends_and_its_made_name_never_comes_back(tmp_path: Path) -> None:
    async with make_service(tmp_path, session_idle_seconds=10.0) as service:
        time = [0.0]
        service.sessions._clock = lambda: time[0]
        made = service.sessions.create(budget=1)
        chosen = service.sessions.get_or_create("ward")
        assert chosen is not None
        time[0] = 9.0
        assert service.sessions.get(made.id) is made
        time[0] = 30.0
        assert service.sessions.get(made.id) is None
        assert service.sessions.get_or_create(made.id) is None
        again = service.sessions.get_or_create("ward")
        assert again is not None
        assert again is not chosen


async def test_sessions_are_bounded(tmp_path: Path) -> None:
    async with make_service(tmp_path, max_sessions=2) as service:
        service.sessions.create()
        service.sessions.get_or_create("b")
        with pytest.raises(TooManySessionsError):
            service.sessions.create()
        with pytest.raises(TooManySessionsError):
            service.sessions.get_or_create("c")


HOSTILE_NAMES = [
    "",
    ".",
    "..",
    "a/b",
    "../x",
    "a b",
    "a\n",
    "-x",
    "_x",
    "x" * 65,
    "é",
    "%2e%2e",
    "a\x00",
    pytest.param(new_name(), id="a name that only control may make"),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_hostile_name_makes_no_session(tmp_path: Path, name: str) -> None:
    async with make_service(tmp_path) as service:
        assert not may_be_chosen(name)
        assert service.sessions.get_or_create(name) is None
        assert len(service.sessions) == 0


_ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_MODES: tuple[WriteMode, ...] = ("off", "capture", "overlay")


@given(
    name=st.sampled_from(["lab_search", "vital_create", "finish", "nonsense"]) | st.text(),
    arguments=_ANY_JSON,
    mode=st.sampled_from(_MODES),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_call_ever_raises_and_each_costs_one_round(
    name: str, arguments: Any, mode: WriteMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def check() -> None:
        folder = tmp_path_factory.mktemp("any")
        async with make_service(folder, writes="overlay") as service:
            session = service.sessions.create(writes=mode, finish=True)
            result = await session.call(name, arguments)
            result.text.encode()
            assert session.rounds_used == 1
            assert len(session.calls) == 1

    asyncio.run(check())


@given(
    url=st.sampled_from([f"{BASE}/Observation", "/MedicationRequest", "ServiceRequest", "http://x/y", ""])
    | st.text(),
    body=st.text() | _ANY_JSON.map(json.dumps),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_post_ever_raises_and_what_is_json_is_kept_as_the_record_format_has_it(
    url: str, body: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def check() -> None:
        folder = tmp_path_factory.mktemp("post")
        async with make_service(folder, writes="overlay") as service:
            session = service.sessions.create()
            result = await session.http_post(url, body)
            result.text.encode()
            (kept,) = read_captures(folder / "journal")
            assert check_record("capture", kept.to_json()) == []
            assert kept.accepted is result.ok
            assert session.rounds_used == 1

    asyncio.run(check())


async def test_a_resource_of_more_than_a_mebibyte_is_refused_and_not_kept(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        huge = {**VITAL, "valueString": "x" * 2_000_000}
        assert not (await session.call("vital_create", huge)).ok
        assert not (await session.http_post(f"{BASE}/Observation", json.dumps(huge))).ok
        assert [c.accepted for c in session.captures] == [False, False]
        assert (tmp_path / "journal" / "captures.jsonl").stat().st_size < 5000
        assert len(json.dumps(session.to_json())) < 10_000


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


async def test_half_a_character_from_a_model_does_not_break_the_answer(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        for name, arguments in (("\ud800", {}), ("vital_create", {**VITAL, "valueString": "\udfff"})):
            (await session.call(name, arguments)).text.encode()
        (await session.http_get("Patient?name=\ud800")).text.encode()
        assert len(list(read_captures(tmp_path / "journal"))) == 1


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
