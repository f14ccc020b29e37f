"""The REST face: reads, formats, refusals, pages, HEAD, forms, and that nothing can be written."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.capabilitystatement import CapabilityStatement

from tests.fhir.serving import fhir_app
from tests.fhir.suite.chart import RESOURCES
from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.api import build_fhir_app
from wardround_server.chart.writer import ChartWriter

pytestmark = pytest.mark.anyio

GLUCOSE = "/Observation?patient=cx-p1&code=GLU"


@pytest.fixture
async def client(suite_backend: EmbeddedBackend) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=fhir_app(suite_backend))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421/fhir") as made:
        yield made


def outcome(answer: httpx.Response) -> str:
    """The diagnostics of an OperationOutcome, whose form is checked on the way."""
    assert answer.headers["content-type"].startswith("application/fhir+json")
    body = answer.json()
    assert body["resourceType"] == "OperationOutcome"
    (issue,) = body["issue"]
    assert issue["severity"] == "error"
    return str(issue["diagnostics"])


async def test_a_read_gives_the_bytes_that_were_stored(client: httpx.AsyncClient) -> None:
    answer = await client.get("/Patient/cx-p1")
    assert answer.status_code == 200
    assert answer.json() == RESOURCES[0]
    assert answer.headers["content-type"] == "application/fhir+json; charset=utf-8"
    assert answer.headers["last-modified"] == "Wed, 01 Nov 2023 08:00:00 GMT"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{GLUCOSE}&_count=3"),
        ("HEAD", GLUCOSE),
        ("GET", "/Patient/?gender=male"),
        ("GET", "/Patient/cx-p1?_pretty=true"),
        ("GET", "/metadata"),
        ("POST", "/Patient/_search?gender=male"),
        ("GET", "/Patient?foo=1"),
        ("GET", "/a/b/c"),
        ("GET", "/a%0Ab"),
        ("PUT", "/Patient/cx-p1"),
    ],
)
async def test_the_application_and_the_router_answer_alike(
    client: httpx.AsyncClient, suite_backend: EmbeddedBackend, method: str, path: str
) -> None:
    transport = httpx.ASGITransport(app=build_fhir_app(suite_backend))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421/fhir") as other:
        one, two = await client.request(method, path), await other.request(method, path)
    assert (one.status_code, one.content, one.headers) == (two.status_code, two.content, two.headers)


async def test_a_type_that_is_only_read_is_found_by_id(client: httpx.AsyncClient) -> None:
    assert (await client.get("/Practitioner/cx-doc")).json()["name"] == [{"family": "Gray"}]
    answer = await client.get("/Practitioner?name=gray")
    assert answer.status_code == 404
    assert "searched types: Patient" in outcome(answer)


@pytest.mark.parametrize(
    "path", ["/Patient/none", "/Nonsense/1", "/Patient/cx-p1/_history", "/Patient/%00", "/"]
)
async def test_what_is_not_there_is_404(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert outcome(answer)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/Observation"),
        ("PUT", "/Observation/cx-o1"),
        ("PATCH", "/Observation/cx-o1"),
        ("DELETE", "/Observation/cx-o1"),
        ("DELETE", "/Observation?patient=cx-p1"),
        ("POST", "/"),
        ("POST", "/Patient/cx-p1/$everything"),
        ("POST", "/metadata"),
    ],
)
async def test_every_write_is_answered_405(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path, json={"resourceType": "Observation"})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert "read-only" in outcome(answer)


async def test_head_is_get_without_the_body(client: httpx.AsyncClient) -> None:
    for path in (GLUCOSE, "/Patient/cx-p1", "/metadata", "/Patient/none", "/Patient?foo=1"):
        got, head = await client.get(path), await client.head(path)
        assert head.content == b""
        assert head.status_code == got.status_code
        assert dict(head.headers) == dict(got.headers)


async def test_a_form_searches_like_a_query(client: httpx.AsyncClient) -> None:
    queried = (await client.get(f"{GLUCOSE}&_count=3")).json()
    form = {"patient": "cx-p1", "code": "GLU", "_count": "3"}
    assert (await client.post("/Observation/_search", data=form)).json() == queried
    mixed = await client.post("/Observation/_search?patient=cx-p1", data={"code": "GLU", "_count": "3"})
    assert mixed.json() == queried
    assert (await client.get(f"/Observation/_search?{urlencode(form)}")).json() == queried
    assert (await client.post("/Observation/_search?patient=cx-p1&code=GLU&_count=3")).json() == queried


async def test_a_body_that_is_no_form_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/Observation/_search", json={"patient": "cx-p1"})
    assert answer.status_code == 415
    assert outcome(answer)
    large = await client.post("/Observation/_search", data={"code": "x" * 100_000})
    assert large.status_code == 413
    assert outcome(large)


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/fhir+json", 200),
        ("application/json", 200),
        ("*/*", 200),
        ("text/html, application/xhtml+xml, */*;q=0.8", 200),
        ("application/fhir+xml", 406),
        ("application/fhir+xml, application/json;q=0", 406),
    ],
)
async def test_accept_is_heeded(client: httpx.AsyncClient, accept: str, status: int) -> None:
    for path in ("/Patient?_id=cx-p1", "/Patient/cx-p1", "/metadata"):
        answer = await client.get(path, headers={"Accept": accept})
        assert answer.status_code == status


async def test_format_has_the_word_over_accept(client: httpx.AsyncClient) -> None:
    xml = {"Accept": "application/fhir+xml"}
    assert (await client.get("/Patient?_id=cx-p1&_format=json", headers=xml)).status_code == 200
    assert (await client.get("/Patient?_id=cx-p1&_format=xml")).status_code == 406
    assert (await client.get("/Patient/cx-p1?_format=application/fhir+json", headers=xml)).status_code == 200


async def test_an_unchanged_resource_is_304(client: httpx.AsyncClient, tmp_path: Path) -> None:
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put({"resourceType": "Patient", "id": "p1", "meta": {"versionId": "7"}})
    backend = EmbeddedBackend.open(tmp_path / "a.db")
    transport = httpx.ASGITransport(app=fhir_app(backend))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421/fhir") as other:
        assert (await other.get("/Patient/p1")).headers["etag"] == 'W/"7"'
        assert (await other.get("/Patient/p1", headers={"If-None-Match": 'W/"7"'})).status_code == 304
        assert (await other.get("/Patient/p1", headers={"If-None-Match": 'W/"6"'})).status_code == 200


async def test_an_empty_result_has_a_total_and_no_entry(client: httpx.AsyncClient) -> None:
    body = (await client.get("/Observation?patient=cx-nobody")).json()
    assert body == {
        "resourceType": "Bundle",
        "type": "searchset",
        "total": 0,
        "link": [
            {"relation": "self", "url": "http://127.0.0.1:8421/fhir/Observation?patient=cx-nobody"},
        ],
    }


async def test_lenient_handling_names_what_it_left_out(client: httpx.AsyncClient) -> None:
    prefer = {"Prefer": "return=minimal; handling=lenient"}
    body = (await client.get("/Patient?foo=1&gender=female&bar=2", headers=prefer)).json()
    match, note = body["entry"]
    assert match["resource"]["id"] == "cx-p1"
    assert note["search"]["mode"] == "outcome"
    assert "foo, bar" in note["resource"]["issue"][0]["diagnostics"]
    assert "foo" not in body["link"][0]["url"]
    assert (await client.get("/Patient?name:foo=1", headers=prefer)).status_code == 400


async def test_an_unknown_parameter_is_named_with_the_valid_ones(client: httpx.AsyncClient) -> None:
    message = outcome(await client.get("/Patient?legal-sex=male"))
    assert '"legal-sex"' in message
    assert "gender" in message


@pytest.mark.parametrize(
    "query", ["name=%FF", "_sort=", "_elements=", "&".join(f"name=a{n}" for n in range(300))]
)
async def test_a_broken_query_is_400(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"/Patient?{query}")
    assert answer.status_code == 400
    assert outcome(answer)


async def test_elements_and_summaries_are_marked_and_stay_valid(client: httpx.AsyncClient) -> None:
    cut = (await client.get("/Observation?_id=cx-o2&_elements=valueQuantity")).json()["entry"][0]["resource"]
    assert set(cut) == {"resourceType", "id", "meta", "status", "code", "valueQuantity"}
    assert cut["meta"]["tag"][0]["code"] == "SUBSETTED"
    summary = (await client.get("/Patient/cx-p1?_summary=true")).json()
    assert "generalPractitioner" not in summary
    assert summary["name"][0]["family"] == "Müller-Ashby"


async def test_cut_resources_keep_the_digits_of_their_numbers(tmp_path: Path) -> None:
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put(b'{"resourceType":"Observation","id":"o","valueQuantity":{"value":1.500}}')
    page = EmbeddedBackend.open(tmp_path / "a.db").search_now("Observation", [("_elements", "valueQuantity")])
    assert b'"value":1.500}' in page.body


async def test_answers_are_valid_r4(client: httpx.AsyncClient) -> None:
    statement = (await client.get("/metadata")).json()
    CapabilityStatement.model_validate(statement)
    assert statement["fhirVersion"] == "4.0.1"
    observation = next(one for one in statement["rest"][0]["resource"] if one["type"] == "Observation")
    assert {"code", "date", "patient", "_id"} <= {param["name"] for param in observation["searchParam"]}
    for path in (f"{GLUCOSE}&_count=2&_include=Observation:patient", "/Patient?name=nobody"):
        Bundle.model_validate((await client.get(path)).json())


def links(body: dict[str, Any]) -> dict[str, str]:
    return {link["relation"]: link["url"] for link in body["link"]}


async def test_self_links_name_what_was_applied(client: httpx.AsyncClient) -> None:
    asked = "code=GLU%7C,x&patient=cx-p1&_count=99999&date=ge2023-11-12T10:15:00+00:00&_format=json"
    applied = parse_qsl(urlsplit(links((await client.get(f"/Observation?{asked}")).json())["self"]).query)
    assert applied == [
        ("code", "GLU|,x"),
        ("patient", "cx-p1"),
        ("_count", "5000"),
        ("date", "ge2023-11-12T10:15:00 00:00"),
    ]


async def test_a_next_link_works_for_its_own_search_alone(client: httpx.AsyncClient) -> None:
    url = links((await client.get(f"{GLUCOSE}&_count=2")).json())["next"]
    assert (await client.get(url)).status_code == 200
    base, cursor = url.split("_cursor=")
    for broken in (
        url.replace("GLU", "K"),
        url.replace("cx-p1", "cx-p2"),
        url.replace("_count=2", "_count=3"),
        url.replace("/Observation", "/Condition"),
        f"{base}_cursor={cursor[:-1]}",
        f"{base}_cursor={'A' if cursor[0] != 'A' else 'B'}{cursor[1:]}",
        f"{base}_cursor=",
        f"{base}_cursor=%F0%9F%98%80",
        url + "&_sort=date",
        url + "&status=final",
    ):
        answer = await client.get(broken)
        assert answer.status_code == 400, broken
        assert outcome(answer)


async def test_the_backend_follows_its_own_links_only(suite_backend: EmbeddedBackend) -> None:
    page = await suite_backend.search("Observation", [("patient", "cx-p1"), ("_count", "2")])
    assert page.next is not None
    assert len((await suite_backend.next_page(page.next)).resources()) == 2
    path = page.next.removeprefix("http://127.0.0.1:8421")
    assert len((await suite_backend.next_page(path)).resources()) == 2
    for url in (
        page.next.replace("127.0.0.1", "evil.example"),
        page.next.replace("http:", "file:"),
        page.next.replace("8421", "8422"),
        page.next.replace("/fhir/", "/other/"),
        f"http://127.0.0.1:8421@evil.example{path}",
        f"//evil.example{path}",
        "http://127.0.0.1:8421/fhir/Observation?patient=cx-p1",
        "http://127.0.0.1:8421/fhir/Observation",
        "not a url",
        "",
        "http://[",
    ):
        with pytest.raises(ChartError):
            await suite_backend.next_page(url)


async def test_pages_stay_what_they_are_while_the_chart_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def result(name: str, day: int) -> dict[str, Any]:
        return {"resourceType": "Observation", "id": name, "effectiveDateTime": f"2023-11-{day:02d}"}

    with ChartWriter(path) as writer:
        writer.put_all(result(f"o{day}", day) for day in range(2, 22, 2))
    asked = [("_sort", "-date"), ("_count", "4")]
    before = EmbeddedBackend.open(path)
    first = await before.search("Observation", asked)
    with ChartWriter(path, extend=True) as writer:
        writer.put_all(result(f"new{day}", day) for day in range(1, 23, 2))
    assert first.next is not None
    second = await before.next_page(first.next)
    assert [one["id"] for one in second.resources()] == ["o12", "o10", "o8", "o6"]
    after = EmbeddedBackend.open(path)
    moved = await after.next_page(first.next)
    assert [one["id"] for one in moved.resources()] == ["new13", "o12", "new11", "o10"]


async def test_a_link_of_another_chart_is_refused(tmp_path: Path, suite_backend: EmbeddedBackend) -> None:
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put_all(RESOURCES)
    page = await EmbeddedBackend.open(tmp_path / "a.db").search("Observation", [("_count", "2")])
    assert page.next is not None
    with pytest.raises(ChartError, match="not a next link"):
        await suite_backend.next_page(page.next)


async def test_nothing_can_be_created(suite_backend: EmbeddedBackend) -> None:
    with pytest.raises(ChartError, match="read-only"):
        await suite_backend.create({"resourceType": "Observation"}, idempotency_key="k")
    with pytest.raises(sqlite3.OperationalError):
        suite_backend.chart.execute("DELETE FROM resource")
    assert suite_backend.read_only


async def test_search_values_never_become_sql(suite_backend: EmbeddedBackend) -> None:
    for value in ("' OR 1=1 --", '" OR ""="', "%", "_", "cx-p1'; DROP TABLE resource; --", "\x00", "?1"):
        for resource_type, name in (
            ("Patient", "name"),
            ("Patient", "name:contains"),
            ("Patient", "identifier"),
            ("Patient", "_id"),
            ("Observation", "code"),
            ("Observation", "code:text"),
            ("Observation", "patient.name"),
        ):
            page = await suite_backend.search(resource_type, [(name, value)])
            assert page.total == 0, (name, value)


async def test_facts_about_a_chart(suite_backend: EmbeddedBackend) -> None:
    info = await suite_backend.info()
    assert info.patients == 5
    assert info.counts["Observation"] == 21
    assert info.name == "conformance suite"
    assert info.first == "2015-06-02T00:00:00+00:00"
    assert info.last == "2023-11-13T10:15:00.500000+00:00"
    assert info.checksum is not None
    assert len(info.checksum) == 64


async def test_a_closed_chart_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put_all(RESOURCES)
    backend = EmbeddedBackend.open(tmp_path / "a.db")
    await backend.aclose()
    with pytest.raises(ChartError):
        await backend.search("Patient", [])


async def test_a_damaged_file_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with ChartWriter(path) as writer:
        writer.put_all(RESOURCES)
    content = bytearray(path.read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises((ChartError, UserError)):
        await _search_in(path)


async def _search_in(path: Path) -> None:
    await EmbeddedBackend.open(path).search("Patient", [])
