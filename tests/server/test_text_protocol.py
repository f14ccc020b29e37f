"""The text protocol: what a GET may reach, and what a POST is taken for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.fakes import BASE, VITAL, FakeChart, make_service
from tests.server.test_session import ANY_JSON
from wardround_schemas.records import check_record
from wardround_server.journal import read_captures

pytestmark = pytest.mark.anyio


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


@given(
    url=st.sampled_from([f"{BASE}/Observation", "/MedicationRequest", "ServiceRequest", "http://x/y", ""])
    | st.text(),
    body=st.text() | ANY_JSON.map(json.dumps),
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


HARD_BODIES = [
    '{"resourceType": "Observation", "valueQuantity": {"value": 1e999}}',
    '{"resourceType": "Observation", "\\ud800": -1e999}',
    '{"resourceType": "Observation", "a": ' + "9" * 4000 + "}",
    '{"resourceType": "Observation", "a": ' + "[" * 300 + "1e999" + "]" * 300 + "}",
]


@pytest.mark.parametrize("body", HARD_BODIES)
async def test_post_of_what_no_file_can_hold_unchanged_is_accepted_and_kept_in_words(
    tmp_path: Path, body: str
) -> None:
    async with make_service(tmp_path, writes="overlay") as service:
        session, other = service.sessions.create(), service.sessions.create()
        results = await asyncio.gather(
            *(session.http_post(f"{BASE}/Observation", body) for _ in range(3)),
            *(other.call("vital_create", VITAL) for _ in range(3)),
        )
        assert all(result.ok for result in results)
        assert session.journal_error is None
        kept = list(read_captures(tmp_path / "journal"))
        assert len(kept) == 6
        assert all(check_record("capture", capture.to_json()) == [] for capture in kept)


@pytest.mark.parametrize("body", HARD_BODIES)
async def test_post_of_what_no_file_can_hold_unchanged_is_never_sent(tmp_path: Path, body: str) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="forward", allow_forward=True) as service:
        session = service.sessions.create()
        whole = json.dumps(VITAL)[:-1] + body.removeprefix('{"resourceType": "Observation"')
        result = await session.http_post(f"{BASE}/Observation", whole)
        assert not result.ok
        assert "was not sent" in result.text
        assert chart.created == []
        assert [c.accepted for c in session.captures] == [False]
