"""The real HAPI FHIR server as this project's counterpart: the JPA server, with which our client agrees."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.hapi.load import load, load_resources, read_path
from wardround_schemas.chart import search_all
from wardround_schemas.errors import ChartError
from wardround_server.backends.remote import RemoteBackend

pytestmark = [pytest.mark.hapi, pytest.mark.anyio]

MARK = f"smoke-{os.getpid()}"
"""Keeps these resources apart from what other tests put into the same server."""
PATIENT = f"{MARK}-1"
OTHER = f"{MARK}-2"


def glucose(number: int, patient: str, when: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": f"{patient}-glucose-{number}",
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}], "text": "GLU"},
        "subject": {"reference": f"Patient/{patient}"},
        "effectiveDateTime": when,
        "valueQuantity": {"value": 91 + number, "unit": "mg/dL"},
    }


def chart() -> list[dict[str, Any]]:
    patients = [
        {"resourceType": "Patient", "id": one, "identifier": [{"system": "urn:mrn", "value": one}]}
        for one in (PATIENT, OTHER)
    ]
    rows = [glucose(n, PATIENT, f"2023-11-{n + 1:02}T10:15:00+00:00") for n in range(25)]
    # The patient comes last: the loader has to put it first.
    return [*rows, glucose(0, OTHER, "2023-11-12T10:15:00+00:00"), *patients]


@pytest.fixture
async def hapi(hapi_url: str) -> AsyncIterator[RemoteBackend]:
    await load_resources(hapi_url, chart())
    backend = RemoteBackend(hapi_url)
    yield backend
    await backend.aclose()


async def test_the_counterpart_is_hapis_jpa_server(hapi: RemoteBackend) -> None:
    statement = await hapi.capabilities()
    assert statement["software"]["name"] == "HAPI FHIR Server"
    types = {one["type"]: one for rest in statement["rest"] for one in rest["resource"]}
    # Only the JPA server stores: the plain one has no types of its own, and no conditional create.
    assert types["Observation"]["conditionalCreate"] is True
    assert len(types) > 140


async def test_pages_of_twenty_are_followed_to_the_end(hapi: RemoteBackend) -> None:
    params = [("patient", PATIENT), ("code", "2345-7"), ("_sort", "-date")]
    first = await hapi.search("Observation", params)
    assert first.total == 25
    assert len(first.resources()) == 20
    rows = await search_all(hapi, "Observation", params)
    assert [row["id"] for row in rows] == [f"{PATIENT}-glucose-{n}" for n in reversed(range(25))]


async def test_a_date_bounds_the_rows_and_the_other_patient_stays_out(hapi: RemoteBackend) -> None:
    rows = await search_all(
        hapi,
        "Observation",
        [("patient", f"Patient/{PATIENT}"), ("date", "ge2023-11-20"), ("date", "lt2023-11-22")],
    )
    assert {row["id"] for row in rows} == {f"{PATIENT}-glucose-19", f"{PATIENT}-glucose-20"}


async def test_an_unknown_parameter_and_a_bad_date_are_refused_in_hapis_words(hapi: RemoteBackend) -> None:
    for params, words in (([("legal-sex", "female")], "legal-sex"), ([("birthdate", "soon")], "soon")):
        with pytest.raises(ChartError, match=words) as caught:
            await hapi.search("Patient", params)
        assert caught.value.status == 400


async def test_reading_gives_the_resource_or_none(hapi: RemoteBackend) -> None:
    body = await hapi.read("Patient", PATIENT)
    assert body is not None
    assert orjson.loads(body)["identifier"][0]["value"] == PATIENT
    assert await hapi.read("Patient", f"{MARK}-nobody") is None


async def test_the_same_key_stores_one_resource_and_another_key_a_second(
    hapi_url: str, hapi: RemoteBackend
) -> None:
    order = {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "subject": {"reference": f"Patient/{OTHER}"},
        "code": {"text": "consult"},
    }
    writer = RemoteBackend(hapi_url, allow_writes=True)
    first = await writer.create(order, idempotency_key=f"{MARK}/1")
    again = await writer.create(order, idempotency_key=f"{MARK}/1")
    second = await writer.create(order, idempotency_key=f"{MARK}/2")
    with pytest.raises(ChartError, match="400"):
        await writer.create({**order, "status": "whatever"}, idempotency_key=f"{MARK}/3")
    await writer.aclose()
    assert [one.status for one in (first, again, second)] == [201, 200, 201]
    assert first.id == again.id != second.id
    stored = await search_all(hapi, "ServiceRequest", [("patient", OTHER)])
    assert {one["id"] for one in stored} == {first.id, second.id}


async def test_a_folder_is_loaded_whole_and_again_without_doubling(hapi_url: str, tmp_path: Path) -> None:
    name = f"{MARK}-folder"
    patient = {"resourceType": "Patient", "id": name}
    rows = [glucose(n, name, "2023-11-12") for n in range(30)]
    (tmp_path / "a.ndjson").write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    (tmp_path / "b.json").write_bytes(
        orjson.dumps({"resourceType": "Bundle", "entry": [{"resource": patient}]})
    )
    for _ in range(2):
        loaded = await load(hapi_url, lambda: read_path(tmp_path), batch=7)
        assert loaded.counts == {"Patient": 1, "Observation": 30}
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{hapi_url}/Observation", params={"patient": name, "_summary": "count"})
    assert answer.json()["total"] == 30
