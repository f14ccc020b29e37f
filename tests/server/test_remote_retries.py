"""Patience with reads, and none with writes that may have been stored already."""

from __future__ import annotations

import hashlib
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from tests.server.remote_cases import BY_PATIENT, Pauses, backend, observation, searchset
from tests.server.scripted import Reply, html, outcome, reply_json, scripted
from wardround_schemas.errors import ChartError
from wardround_server.backends.creating import IDEMPOTENCY_SYSTEM
from wardround_server.backends.exchange import RemoteLimits, UncertainWriteError, retry_after
from wardround_server.backends.remote import RemoteBackend
from wardround_server.backends.transport import ReadOnlyTransport, WriteRefusedError

pytestmark = pytest.mark.anyio

GOOD = reply_json(searchset([observation(1)], 1))
ORDER: dict[str, Any] = {"resourceType": "ServiceRequest", "status": "active", "intent": "order"}
KEY = "session-1/key\r\nX: y"
KEY_HASH = hashlib.sha256(KEY.encode()).hexdigest()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_read_is_tried_again_after_doubling_pauses(status: int) -> None:
    pauses = Pauses()
    async with scripted([html(status), Reply(status), outcome(status, "busy"), GOOD]) as server:
        chart = backend(server, pauses=pauses)
        assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()
    assert pauses.seconds == [0.25, 0.5, 1.0]


async def test_half_of_a_pause_is_left_to_chance() -> None:
    pauses = Pauses()
    async with scripted([Reply(503), GOOD]) as server:
        chart = RemoteBackend(server.base, pause=pauses, chance=lambda: 0.0)
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert pauses.seconds == [0.125]


async def test_a_server_that_stays_away_is_a_retryable_error_that_says_why() -> None:
    async with scripted(lambda _: outcome(503, "being updated")) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match=r"answered 503.*tried 4 times") as caught:
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert caught.value.retryable
    assert caught.value.status == 503
    assert len(server.seen) == 4


@pytest.mark.parametrize("status", [400, 404, 500, 501])
async def test_an_answer_that_will_not_change_is_not_asked_for_again(status: int) -> None:
    async with scripted([outcome(status, "no")]) as server:
        chart = backend(server)
        with pytest.raises(ChartError):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(server.seen) == 1


async def test_retry_after_is_kept_to_in_seconds_and_as_a_date() -> None:
    pauses = Pauses()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    script = [Reply(429, headers=(("Retry-After", wait),)) for wait in ("7", later, "soon")]
    async with scripted([*script, GOOD]) as server:
        chart = backend(server, pauses=pauses)
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert pauses.seconds[0] == 7.0
    assert 15 < pauses.seconds[1] <= 20
    assert pauses.seconds[2] == 1.0


async def test_a_wait_longer_than_anyone_would_is_an_error_at_once() -> None:
    pauses = Pauses()
    async with scripted([Reply(503, headers=(("Retry-After", "3600"),))]) as server:
        chart = backend(server, pauses=pauses)
        with pytest.raises(ChartError, match="asks to wait 3600 s") as caught:
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert pauses.seconds == []
    assert caught.value.retryable


@pytest.mark.parametrize(
    "raw", ["", "-3", "١٢", "1e9", "Mon, 99 Foo", "nan", "Thu, 01 Jan 99999 00:00:00 GMT"]
)
async def test_a_retry_after_that_says_nothing_is_passed_over(raw: str) -> None:
    assert retry_after(httpx.Headers({b"Retry-After": raw.encode()}), 0.0) is None


BROKEN_CONNECTIONS = {
    "dropped before the answer": Reply(hang_up=True),
    "dropped within the body": Reply(200, b'{"resourceType":"Bun', length=4000),
    "dropped within the head": Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Le"),
    "not http": Reply(raw=b"SSH-2.0-OpenSSH_9.6\r\n"),
}


@pytest.mark.parametrize("case", BROKEN_CONNECTIONS)
async def test_a_dropped_connection_is_tried_again_by_reads(case: str) -> None:
    async with scripted([BROKEN_CONNECTIONS[case], GOOD]) as server:
        chart = backend(server)
        assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()
    assert len(server.seen) == 2


async def test_a_connection_that_always_drops_is_a_clear_error() -> None:
    async with scripted(lambda _: Reply(hang_up=True)) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match=r"the connection ended before the answer did.*tried 4 times"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


async def test_a_post_search_is_a_read_and_tried_again() -> None:
    async with scripted([Reply(hang_up=True), Reply(502), GOOD]) as server:
        chart = backend(server)
        await chart.search("Observation", [*BY_PATIENT, ("code", ",".join(["x" * 50] * 100))])
        await chart.aclose()
    assert [seen.method for seen in server.seen] == ["POST"] * 3


async def test_nobody_listening_is_a_clear_retryable_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        chart = backend(f"http://127.0.0.1:{port}/fhir")
        with pytest.raises(ChartError, match="can't be reached") as caught:
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert caught.value.retryable


async def test_a_server_that_says_nothing_is_given_up_on() -> None:
    limits = RemoteLimits(tries=2, read=0.05)
    async with scripted(lambda _: Reply(stall=True)) as server:
        chart = backend(server, limits=limits)
        with pytest.raises(ChartError, match="no answer in time"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(server.seen) == 2


async def test_an_answer_that_never_ends_is_given_up_on_as_a_whole() -> None:
    limits = RemoteLimits(tries=1, read=5.0, whole_answer=0.1)
    async with scripted(lambda _: Reply(200, b"{", length=99, stall=True)) as server:
        chart = backend(server, limits=limits)
        with pytest.raises(ChartError, match="took too long as a whole"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


# Writes


def metadata(conditional: bool) -> Reply:
    resource = {"type": "ServiceRequest", "conditionalCreate": conditional}
    return reply_json(
        {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1", "rest": [{"resource": [resource]}]}
    )


def created(status: int = 201, **more: Any) -> Reply:
    return reply_json(
        {**ORDER, "id": "new", **more}, status, Location="http://inside:8080/r4/ServiceRequest/new/_history/1"
    )


async def test_a_create_gives_the_servers_status_id_location_and_body() -> None:
    async with scripted([metadata(conditional=False), created()]) as server:
        chart = backend(server, allow_writes=True)
        stored = await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert (stored.status, stored.id) == (201, "new")
    assert stored.location == "http://inside:8080/r4/ServiceRequest/new/_history/1"
    assert stored.body == created().body
    request = server.seen[1]
    assert (request.method, request.target, request.json()) == ("POST", "/fhir/ServiceRequest", ORDER)
    assert request.headers["content-type"] == "application/fhir+json"
    assert request.headers["idempotency-key"] == f'"{KEY_HASH}"'
    assert "if-none-exist" not in request.headers


async def test_a_server_that_knows_conditional_create_gets_the_key_as_an_identifier() -> None:
    mine = {"system": "urn:mine", "value": "1"}
    order = {**ORDER, "identifier": [mine]}
    async with scripted([metadata(conditional=True), created(200)]) as server:
        chart = backend(server, allow_writes=True)
        stored = await chart.create(order, idempotency_key=KEY)
        await chart.aclose()
    assert stored.status == 200
    request = server.seen[1]
    assert request.headers["if-none-exist"] == f"identifier={IDEMPOTENCY_SYSTEM}%7C{KEY_HASH}"
    assert request.json()["identifier"] == [mine, {"system": IDEMPOTENCY_SYSTEM, "value": KEY_HASH}]
    assert order["identifier"] == [mine]


@pytest.mark.parametrize("reply", [Reply(hang_up=True), Reply(503), Reply(429), html(502)])
async def test_a_conditional_create_is_sent_again_the_same(reply: Reply) -> None:
    async with scripted([metadata(conditional=True), reply, created(200)]) as server:
        chart = backend(server, allow_writes=True)
        assert (await chart.create(ORDER, idempotency_key=KEY)).id == "new"
        await chart.aclose()
    first, second = server.seen[1:]
    assert first.body == second.body
    assert first.headers["if-none-exist"] == second.headers["if-none-exist"]


@pytest.mark.parametrize(
    "reply", [Reply(hang_up=True), Reply(200, b"{", length=99), Reply(502), Reply(503), Reply(504), html(500)]
)
async def test_a_plain_create_that_may_have_arrived_is_not_sent_again(reply: Reply) -> None:
    async with scripted([metadata(conditional=False), reply]) as server:
        chart = backend(server, allow_writes=True)
        with pytest.raises(UncertainWriteError, match="not known whether the server stored"):
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert len(server.seen) == 2


async def test_a_plain_create_that_never_left_is_sent_again() -> None:
    async with scripted([metadata(conditional=False), created()]) as server:
        refused = 0

        class FirstNobodyHome(httpx.AsyncHTTPTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                nonlocal refused
                if request.method == "POST" and refused < 2:
                    refused += 1
                    raise httpx.ConnectError("refused", request=request)
                return await super().handle_async_request(request)

        chart = RemoteBackend(server.base, allow_writes=True, transport=FirstNobodyHome(), pause=Pauses())
        assert (await chart.create(ORDER, idempotency_key=KEY)).id == "new"
        await chart.aclose()
    assert refused == 2
    assert len(server.seen) == 2


async def test_a_create_that_may_have_arrived_stays_uncertain_when_the_server_then_goes_away() -> None:
    async with scripted([metadata(conditional=True), Reply(hang_up=True)]) as server:
        sent = 0

        class ThenNobodyHome(httpx.AsyncHTTPTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                nonlocal sent
                if request.method == "POST":
                    sent += 1
                    if sent > 1:
                        raise httpx.ConnectError("refused", request=request)
                return await super().handle_async_request(request)

        chart = RemoteBackend(server.base, allow_writes=True, transport=ThenNobodyHome(), pause=Pauses())
        with pytest.raises(UncertainWriteError):
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert sent == 4


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412, 422])
async def test_a_refused_create_is_an_error_in_the_servers_words(status: int) -> None:
    async with scripted([metadata(conditional=True), outcome(status, "no such patient")]) as server:
        chart = backend(server, allow_writes=True)
        with pytest.raises(ChartError, match="no such patient") as caught:
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert caught.value.status == status
    assert not isinstance(caught.value, UncertainWriteError)


async def test_a_plain_create_refused_for_haste_stored_nothing() -> None:
    async with scripted([metadata(conditional=False), Reply(429)]) as server:
        chart = backend(server, allow_writes=True)
        with pytest.raises(ChartError, match="nothing was stored") as caught:
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert caught.value.retryable
    assert not isinstance(caught.value, UncertainWriteError)


RIDDLES = {
    "a sign-in page": html(200),
    "accepted": Reply(202),
    "no id anywhere": Reply(201, b""),
    "another type": reply_json({"resourceType": "Observation", "id": "new"}, 201),
    "cut off": Reply(201, b'{"resourceType":"ServiceRequest","id":"n'),
    "an id that is none": reply_json({**ORDER, "id": "../x"}, 201),
}


@pytest.mark.parametrize("case", RIDDLES)
async def test_a_create_whose_answer_is_a_riddle_is_reported_as_uncertain(case: str) -> None:
    async with scripted([metadata(conditional=True), RIDDLES[case]]) as server:
        chart = backend(server, allow_writes=True)
        with pytest.raises(UncertainWriteError):
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert len(server.seen) == 2


async def test_an_empty_answer_with_a_location_is_enough() -> None:
    reply = Reply(201, headers=(("Location", "ServiceRequest/abc"),))
    async with scripted([metadata(conditional=False), reply]) as server:
        chart = backend(server, allow_writes=True)
        assert (await chart.create(ORDER, idempotency_key=KEY)).id == "abc"
        await chart.aclose()


async def test_a_redirected_create_is_not_followed() -> None:
    async with scripted(
        [metadata(conditional=True), Reply(307, headers=(("Location", "/fhir/Other"),))]
    ) as server:
        chart = backend(server, allow_writes=True)
        with pytest.raises(ChartError, match="307"):
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert len(server.seen) == 2


# What a reading connection lets out


async def test_a_reading_backend_refuses_to_create_before_anything_is_sent() -> None:
    async with scripted([]) as server:
        chart = backend(server)
        assert chart.read_only
        with pytest.raises(ChartError, match="only reads"):
            await chart.create(ORDER, idempotency_key=KEY)
        await chart.aclose()
    assert server.seen == []


class Recording(httpx.AsyncBaseTransport):
    """The network's place: keeps what would have left."""

    def __init__(self) -> None:
        self.left: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.left.append(f"{request.method} {request.url.path}")
        return httpx.Response(200, json=searchset([], 0))


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/fhir/ServiceRequest", {}),
        ("POST", "/fhir", {}),
        ("POST", "/fhir/", FORM),
        ("POST", "/fhir/_search", FORM),
        ("POST", "/other/Patient/_search", FORM),
        ("POST", "/fhir/Patient/_search/x", FORM),
        ("POST", "/fhir/Patient/_search", {"Content-Type": "application/fhir+json"}),
        ("POST", "/fhir/Patient/$merge", FORM),
        ("GET", "/fhir/Patient/$expunge", {}),
        ("GET", "/fhir/%24reindex", {}),
        ("PUT", "/fhir/Patient/1", {}),
        ("PATCH", "/fhir/Patient/1", {}),
        ("DELETE", "/fhir/Patient/1", {}),
        ("OPTIONS", "/fhir", {}),
        ("get", "/fhir/Patient", {}),
    ],
)
async def test_the_transport_of_a_reading_backend_lets_no_write_out(
    method: str, path: str, headers: dict[str, str]
) -> None:
    wire = Recording()
    guard = ReadOnlyTransport(wire, httpx.URL("http://127.0.0.1/fhir"))
    request = httpx.Request(method, f"http://127.0.0.1{path}", headers=headers)
    request.method = method
    with pytest.raises(WriteRefusedError):
        await guard.handle_async_request(request)
    assert wire.left == []


async def test_everything_a_reading_backend_can_be_asked_leaves_as_a_read() -> None:
    wire = Recording()
    chart = RemoteBackend("http://127.0.0.1/fhir", transport=wire, pause=Pauses())
    await chart.search("Patient", [("name", "a")])
    await chart.search("Patient", [("name", "a" * 5000)])
    await chart.next_page("http://127.0.0.1/fhir?_getpages=1")
    for call in (chart.read("Patient", "a"), chart.capabilities(), chart.create(ORDER, idempotency_key=KEY)):
        with pytest.raises(ChartError):
            await call
    await chart.aclose()
    assert wire.left == [
        "GET /fhir/Patient",
        "POST /fhir/Patient/_search",
        "GET /fhir",
        "GET /fhir/Patient/a",
        "GET /fhir/metadata",
    ]
