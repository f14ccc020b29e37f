"""Reads on a remote server: one resource, its capabilities, what it holds, and how much it may answer."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.server.remote_cases import BY_PATIENT, backend, observation, searchset
from tests.server.scripted import Reply, Seen, html, outcome, reply_json, scripted
from wardround_schemas.errors import ChartError
from wardround_server.backends.exchange import RemoteLimits
from wardround_server.backends.remote import COUNTED_TYPES

pytestmark = pytest.mark.anyio


async def test_an_answer_beyond_the_limit_is_refused_even_when_packed_small() -> None:
    packed = gzip.compress(b" " * 5_000_000)
    assert len(packed) < 10_000
    async with scripted([Reply(200, packed, (("Content-Encoding", "gzip"),))]) as server:
        chart = backend(server, limits=RemoteLimits(largest_answer=100_000))
        with pytest.raises(ChartError, match="larger than 100000 bytes"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


async def test_read_gives_the_bytes_or_none() -> None:
    body = b'{"resourceType":"Patient", "id":"a"}'
    async with scripted([Reply(200, body), outcome(404, "gone missing"), Reply(410)]) as server:
        chart = backend(server)
        assert await chart.read("Patient", "a") == body
        assert await chart.read("Patient", "b") is None
        assert await chart.read("Patient", "c") is None
        await chart.aclose()
    assert [seen.target for seen in server.seen] == [f"/fhir/Patient/{i}" for i in "abc"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (html(404), "404: an HTML page"),
        (reply_json({"resourceType": "Patient", "id": "b"}), "another resource"),
        (reply_json({"resourceType": "Group", "id": "a"}), "another resource"),
        (outcome(200, "locked"), "locked"),
    ],
)
async def test_read_refuses_what_is_not_the_resource(reply: Reply, message: str) -> None:
    async with scripted([reply]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match=message):
            await chart.read("Patient", "a")
        await chart.aclose()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Patient/../admin", "a"),
        ("patient", "a"),
        ("", "a"),
        ("Patient?x", "a"),
        ("Patient", ".."),
        ("Patient", "."),
        ("Patient", "a/b"),
        ("Patient", "a?b"),
        ("Patient", ""),
        ("Patient", "a\n"),
        ("Patient", "x" * 65),
    ],
)
async def test_a_type_or_id_that_would_change_the_path_is_never_sent(kind: str, name: str) -> None:
    async with scripted([]) as server:
        chart = backend(server)
        with pytest.raises(ChartError):
            await chart.read(kind, name)
        await chart.aclose()
    assert server.seen == []


async def test_capabilities_are_read_once_and_must_be_r4() -> None:
    statement: dict[str, Any] = {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1"}
    async with scripted([reply_json(statement)]) as server:
        chart = backend(server)
        assert await chart.capabilities() == statement
        assert await chart.capabilities() == statement
        await chart.aclose()
    for wrong in ({**statement, "fhirVersion": "5.0.0"}, {"resourceType": "Basic"}, {"hello": "world"}):
        async with scripted([reply_json(wrong)]) as server:
            chart = backend(server)
            with pytest.raises(ChartError, match="FHIR"):
                await chart.capabilities()
            await chart.aclose()


async def test_info_counts_types_and_names_those_that_are_hidden() -> None:
    def script(request: Seen) -> Reply:
        kind = request.path.split("/")[-1]
        if kind == "metadata":
            return reply_json(
                {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1", "software": {"name": "Srv"}}
            )
        if kind == "Procedure":
            return outcome(403, "not for you")
        if ("_summary", "count") in request.params:
            return reply_json(searchset([], COUNTED_TYPES.index(kind)))
        when = "2023-11-13T00:30:00+02:00" if ("_sort", "-date") in request.params else "2019"
        return reply_json(
            searchset([observation(1) | {"effectiveDateTime": when}], 2, next="Observation?p=2")
        )

    async with scripted(script) as server:
        chart = backend(server)
        info = await chart.info()
        await chart.aclose()
    assert info.counts == {"Patient": 0, "Condition": 1, "Observation": 2, "MedicationRequest": 3} | {
        "ServiceRequest": 5
    }
    assert (info.first, info.last, info.size, info.checksum) == ("2019", "2023-11-12T22:30:00Z", None, None)
    assert any("Procedure is not counted" in note for note in info.notes)
    assert not info.synthetic
