"""Searches and reads on a remote server: what is asked, and what is made of the answers."""

from __future__ import annotations

import gzip

import orjson
import pytest

from tests.server.remote_cases import BY_PATIENT, PATIENT, backend, observation, searchset
from tests.server.scripted import Reply, Seen, html, outcome, outcome_body, reply_json, scripted
from wardround_schemas.chart import search_all
from wardround_schemas.errors import ChartError

pytestmark = pytest.mark.anyio


async def test_parameters_are_encoded_once_and_a_page_size_is_added() -> None:
    asked = [
        ("patient", PATIENT),
        ("code", "http://loinc.org|2345-7"),
        ("date", "ge2023-11-12T10:15:00+02:00"),
    ]
    async with scripted([reply_json(searchset([], 0))]) as server:
        chart = backend(server, page_size=7)
        await chart.search("Observation", asked)
        await chart.aclose()
    assert server.seen[0].params == [*asked, ("_count", "7")]
    assert "%2B02:00" in server.seen[0].target
    assert "%7C" in server.seen[0].target
    assert server.seen[0].headers["prefer"] == "handling=strict"
    assert server.seen[0].headers["accept"].startswith("application/fhir+json")


async def test_a_count_that_was_asked_for_is_kept_and_no_format_is_sent() -> None:
    async with scripted([reply_json(searchset([], 0))]) as server:
        chart = backend(server)
        await chart.search("Observation", [("_count", "3"), ("_format", "xml")])
        await chart.aclose()
    assert server.seen[0].params == [("_count", "3")]


async def test_a_long_query_goes_by_post_search() -> None:
    codes = ",".join(f"http://loinc.org|{n}-1" for n in range(400))
    async with scripted([reply_json(searchset([observation(1)], 1))]) as server:
        chart = backend(server)
        page = await chart.search("Observation", [*BY_PATIENT, ("code", codes)])
        await chart.aclose()
    request = server.seen[0]
    assert (request.method, request.target) == ("POST", "/fhir/Observation/_search")
    assert Seen("", "?" + request.body.decode(), {}, b"").params[1] == ("code", codes)
    assert [r["id"] for r in page.resources()] == ["o1"]


async def test_the_body_is_the_servers_byte_for_byte() -> None:
    body = (
        b'{ "type":"searchset", "resourceType":"Bundle","total":1,"entry":[{"resource":%s}]}\n'
        % orjson.dumps(observation(1) | {"valueQuantity": {"value": 1.0}})
    )
    async with scripted([Reply(200, body)]) as server:
        chart = backend(server)
        page = await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert page.body == body
    assert page.total == 1


async def test_gzip_and_a_byte_order_mark_are_taken_off() -> None:
    body = orjson.dumps(searchset([observation(1)], 1))
    packed = gzip.compress(b"\xef\xbb\xbf" + body)
    async with scripted([Reply(200, packed, (("Content-Encoding", "gzip"),))]) as server:
        chart = backend(server)
        page = await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert page.body == body


@pytest.mark.parametrize("total", [None, 0])
async def test_a_null_entry_list_and_a_missing_total_are_an_empty_page(total: int | None) -> None:
    bundle = searchset([], total) | {"entry": None}
    async with scripted([reply_json(bundle)]) as server:
        chart = backend(server)
        page = await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert (page.total, page.resources(), page.next) == (total, [], None)


async def test_a_total_larger_than_the_rows_without_a_next_link_is_an_error() -> None:
    bundle = searchset([], 12) | {"entry": None}
    async with scripted([reply_json(bundle)]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="counts 12 matches, sent 0"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


async def test_rows_missing_over_several_pages_are_an_error() -> None:
    def script(request: Seen) -> Reply:
        if ("page", "2") in request.params:
            return reply_json(searchset([observation(2)], 3))
        return reply_json(searchset([observation(1)], 3, next="Observation?page=2"))

    async with scripted(script) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="counts 3 matches, sent 2"):
            await search_all(chart, "Observation", BY_PATIENT)
        await chart.aclose()


async def test_empty_pages_are_passed_but_not_for_ever() -> None:
    def script(request: Seen) -> Reply:
        number = int(dict(request.params).get("page", "1"))
        rows = [observation(number)] if number == 90 else []
        return reply_json(searchset(rows, None, next=f"Observation?page={number + 1}"))

    async with scripted(script) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="101 pages in a row without a match"):
            await search_all(chart, "Observation", BY_PATIENT)
        await chart.aclose()
    assert len(server.seen) == 191


async def test_a_count_is_read_and_a_count_without_total_is_an_error() -> None:
    async with scripted([reply_json(searchset([], 31)), reply_json(searchset([]))]) as server:
        chart = backend(server)
        assert (await chart.search("Observation", [("_summary", "count")])).total == 31
        with pytest.raises(ChartError, match="no total"):
            await chart.search("Observation", [("_count", "0")])
        await chart.aclose()
    assert server.seen[0].params == [("_summary", "count")]


BROKEN: dict[str, tuple[Reply, str]] = {
    "an html page in 200": (html(), "HTML page"),
    "an html page without a type": (Reply(200, b"<!DOCTYPE html><p>", content_type=None), "HTML page"),
    "xml": (Reply(200, b"<Bundle/>", content_type="application/fhir+xml"), "XML"),
    "nothing": (Reply(200, b""), "with nothing"),
    "no content": (Reply(204, b""), "204"),
    "plain text": (Reply(200, b"OK", content_type="text/plain"), "not JSON"),
    "a json list": (reply_json([]), "not an object"),
    "truncated json": (Reply(200, orjson.dumps(searchset([observation(1)], 1))[:-9]), "cut off or damaged"),
    "bytes that are not utf-8": (Reply(200, b'{"resourceType":"Bundle","x":"\xff"}'), "cut off or damaged"),
    "an outcome in 200": (outcome(200, "index is down"), "index is down"),
    "another resource": (reply_json(observation(1)), "not a searchset"),
    "another bundle": (reply_json(searchset([], 0) | {"type": "history"}), "not a searchset"),
    "entries that are no list": (reply_json(searchset([]) | {"entry": {}}), "not a list"),
    "an entry of null": (reply_json(searchset([]) | {"entry": [None]}), "without its resource"),
    "an entry without resource": (reply_json(searchset([]) | {"entry": [{"fullUrl": "x"}]}), "without its"),
    "a resource without type": (reply_json(searchset([{"id": "x"}])), "without its resource"),
    "an unknown search mode": (
        reply_json(searchset([]) | {"entry": [{"resource": observation(1), "search": {"mode": "maybe"}}]}),
        "why it is there",
    ),
    "a search mode of null": (
        reply_json(searchset([]) | {"entry": [{"resource": observation(1), "search": {"mode": None}}]}),
        "why it is there",
    ),
    "a row marked as included": (
        reply_json(searchset([]) | {"entry": [{"resource": observation(1), "search": {"mode": "include"}}]}),
        "marked as include",
    ),
    "a row marked as an outcome": (
        reply_json(searchset([]) | {"entry": [{"resource": observation(1), "search": {"mode": "outcome"}}]}),
        "marked as outcome",
    ),
    "links that are no list": (reply_json(searchset([]) | {"link": {"relation": "next"}}), "not a list"),
    "a next link without url": (reply_json(searchset([]) | {"link": [{"relation": "next"}]}), "link without"),
    "a total in words": (reply_json(searchset([]) | {"total": "3"}), "not a count"),
    "a negative total": (reply_json(searchset([]) | {"total": -1}), "not a count"),
    "a row of another type": (
        reply_json(searchset([{"resourceType": "Patient", "id": "a"}], 1)),
        "a Patient",
    ),
    "damaged gzip": (Reply(200, b"\x1f\x8bno", (("Content-Encoding", "gzip"),)), "compression"),
    "400 with outcome": (outcome(400, "unknown parameter"), "400: error processing: unknown parameter"),
    "404 with html": (html(404), "404: an HTML page instead"),
    "401": (outcome(401, "who?"), "401: sign-in was not accepted"),
    "403": (outcome(403, "no"), "403: access was refused"),
    "500 with outcome": (outcome(500, "boom"), "500: error processing: boom"),
    "500 with html": (html(500), "500: an HTML page"),
    "500 with nothing": (Reply(500), "500: no reason given"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_answer_is_a_clear_error(case: str) -> None:
    reply, message = BROKEN[case]
    async with scripted([reply]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match=message):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(server.seen) == 1


async def test_an_error_keeps_the_servers_status() -> None:
    async with scripted([outcome(422, "no such code system")]) as server:
        chart = backend(server)
        with pytest.raises(ChartError) as caught:
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert caught.value.status == 422
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": "Patient/S101"},
        {"reference": "S100"},
        {"reference": "Group/S100"},
        {"reference": "https://elsewhere.example/fhir/Patient/S100"},
        {"reference": "#S100"},
        {"display": "S100"},
        "Patient/S100",
        None,
    ],
)
async def test_a_row_of_another_patient_is_an_error_and_not_data(subject: object) -> None:
    rows = [observation(1), observation(2, None) | ({} if subject is None else {"subject": subject})]
    async with scripted([reply_json(searchset(rows, 2))]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="another patient"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


async def test_the_patient_is_known_in_every_form_of_reference() -> None:
    async with scripted(lambda _: reply_json({})) as server:
        base = server.base

        def script(_: Seen) -> Reply:
            rows = [
                observation(1, "Patient/S100"),
                observation(2, f"{base}/Patient/S100"),
                observation(3, "Patient/S100/_history/4"),
                observation(4, "https://inside.example/r4/Patient/S100"),
            ]
            link = "https://inside.example/r4/Observation?patient=S100&subject=S100"
            return reply_json(searchset(rows, 4, self_=link))

        server.script = script
        chart = backend(server)
        for name in ("patient", "subject", "subject:Patient"):
            for value in ("S100", "Patient/S100", f"{base}/Patient/S100", "S7,S100"):
                page = await chart.search("Observation", [(name, value)])
                assert len(page.resources()) == 4
        await chart.aclose()


async def test_two_patient_parameters_must_both_hold() -> None:
    async with scripted([reply_json(searchset([observation(1)], 1))]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="another patient"):
            await chart.search("Observation", [*BY_PATIENT, ("subject", "Patient/S101")])
        await chart.aclose()


async def test_a_row_on_a_later_page_is_checked_too() -> None:
    def script(request: Seen) -> Reply:
        if ("token", "abc") in request.params:
            return reply_json(searchset([observation(2, "Patient/S9")], 2))
        return reply_json(searchset([observation(1)], 2, next=f"{server.base}?token=abc"))

    async with scripted(script) as server:
        chart = backend(server)
        page = await chart.search("Observation", BY_PATIENT)
        assert page.next is not None
        with pytest.raises(ChartError, match="another patient"):
            await chart.next_page(page.next)
        await chart.aclose()


async def test_a_subject_may_be_missing_when_elements_left_it_out() -> None:
    async with scripted([reply_json(searchset([observation(1, None)], 1))]) as server:
        chart = backend(server)
        page = await chart.search("Observation", [*BY_PATIENT, ("_elements", "status")])
        await chart.aclose()
    assert len(page.resources()) == 1


async def test_a_patient_with_another_id_than_asked_for_is_an_error() -> None:
    async with scripted([reply_json(searchset([{"resourceType": "Patient", "id": "b"}], 1))]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="another id"):
            await chart.search("Patient", [("_id", "a")])
        await chart.aclose()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("code", ""),
        ("patient", " "),
        ("code", ","),
        ("code", "|"),
        ("_id", ""),
        ("code:foo", "a"),
        ("date:exact", "2023"),
        ("code:contains", "a"),
        ("patient:not", "a"),
        ("code:missing", "maybe"),
        ("date:Patient", "2023"),
        ("made-up:foo", "a"),
        ("_count", "-1"),
        ("_count", "many"),
        ("_count", ""),
    ],
)
async def test_a_filter_that_a_server_might_overlook_is_not_sent(name: str, value: str) -> None:
    async with scripted([]) as server:
        chart = backend(server)
        with pytest.raises(ChartError) as caught:
            await chart.search("Observation", [*BY_PATIENT, (name, value)])
        await chart.aclose()
    assert caught.value.status == 400
    assert server.seen == []


@pytest.mark.parametrize(
    "name",
    [
        "code:not",
        "code:in",
        "subject:Patient",
        "patient:identifier",
        "patient.name:exact",
        "made-up:Type",
        "code",
    ],
)
async def test_a_filter_that_r4_knows_is_the_servers_to_answer(name: str) -> None:
    async with scripted([reply_json(searchset([], 0))]) as server:
        chart = backend(server)
        await chart.search("Observation", [(name, "a"), ("_sort", "")])
        await chart.aclose()
    assert len(server.seen) == 1


async def test_an_id_may_be_asked_for_with_its_type() -> None:
    async with scripted([reply_json(searchset([observation(1)], 1))]) as server:
        chart = backend(server)
        assert len((await chart.search("Observation", [("_id", "Observation/o1,o2")])).resources()) == 1
        await chart.aclose()


async def test_a_filter_missing_from_the_self_link_is_an_error() -> None:
    link = "Observation?patient=S100&_count=20"
    async with scripted([reply_json(searchset([observation(1)], 1, self_=link))]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="did not apply the filter 'date'"):
            await chart.search("Observation", [*BY_PATIENT, ("date", "ge2023-11-13")])
        await chart.aclose()


@pytest.mark.parametrize(
    "link",
    [
        "Observation?patient=S100&date=ge2023-11-13",
        "Observation?subject%3APatient=Patient%2FS100&date=ge2023-11-13T00%3A00%3A00Z",
        "Observation?subject.reference=Patient/S100&effective=ge2023-11-13&_count=20",
        "Observation",
    ],
)
async def test_a_self_link_that_words_the_filters_otherwise_is_accepted(link: str) -> None:
    async with scripted([reply_json(searchset([observation(1)], 1, self_=link))]) as server:
        chart = backend(server)
        page = await chart.search("Observation", [*BY_PATIENT, ("date", "ge2023-11-13"), ("_sort", "date")])
        await chart.aclose()
    assert page.self_link == link


@pytest.mark.parametrize(
    ("severity", "code", "refused"),
    [
        ("error", "processing", True),
        ("fatal", "exception", True),
        ("warning", "incomplete", True),
        ("warning", "not-supported", True),
        ("warning", "suppressed", False),
        ("information", "informational", False),
    ],
)
async def test_an_outcome_beside_the_rows_is_heeded(severity: str, code: str, refused: bool) -> None:
    said = {"resource": outcome_body("half of it", severity, code), "search": {"mode": "outcome"}}
    bundle = searchset([observation(1)], 1)
    bundle["entry"].append(said)
    async with scripted([reply_json(bundle)]) as server:
        chart = backend(server)
        if refused:
            with pytest.raises(ChartError, match="half of it"):
                await chart.search("Observation", BY_PATIENT)
        else:
            assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()


async def test_an_outcome_or_an_included_patient_without_mode_is_no_row() -> None:
    bundle = searchset([observation(1)], 1)
    bundle["entry"] += [
        {"resource": outcome_body("fyi", "information")},
        {"resource": {"resourceType": "Patient", "id": PATIENT}},
    ]
    async with scripted([reply_json(bundle)]) as server:
        chart = backend(server)
        page = await chart.search("Observation", [*BY_PATIENT, ("_include", "Observation:patient")])
        await chart.aclose()
    assert [r["id"] for r in page.resources()] == ["o1"]
    modes = [entry["search"]["mode"] for entry in orjson.loads(page.body)["entry"]]
    assert modes == ["match", "outcome", "include"]
