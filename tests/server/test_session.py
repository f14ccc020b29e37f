"""The session: rounds, budget, searches, and what a call never does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.fakes import BASE, VITAL, FakeChart, make_service
from wardround_schemas.errors import ChartError
from wardround_server.journal import read_captures
from wardround_server.sessions import CeilingError
from wardround_server.settings import WRITE_MODES, WriteMode, reach

pytestmark = pytest.mark.anyio


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


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_MODES: tuple[WriteMode, ...] = ("off", "capture", "overlay")


@given(
    name=st.sampled_from(["lab_search", "vital_create", "finish", "nonsense"]) | st.text(),
    arguments=ANY_JSON,
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


async def test_half_a_character_from_a_model_does_not_break_the_answer(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        for name, arguments in (("\ud800", {}), ("vital_create", {**VITAL, "valueString": "\udfff"})):
            (await session.call(name, arguments)).text.encode()
        (await session.http_get("Patient?name=\ud800")).text.encode()
        assert len(list(read_captures(tmp_path / "journal"))) == 1
