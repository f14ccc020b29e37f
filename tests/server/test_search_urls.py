"""From a call's arguments to the URL on the wire: the right path, every value encoded exactly once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote_plus, urlsplit

import anyio
import orjson
import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.schemas.strategies import AWKWARD, calls
from tests.server.remote_cases import backend
from wardround_schemas.function import Function, decode, find_function, load_functions, search_query

SEARCHES = [function for function in load_functions() if function.kind == "search"]
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]
BOUNDED = settings(max_examples=10, deadline=None, database=None, suppress_health_check=SLOW)
ADDED = {"_count", "_format"}
"""What a backend adds to a search on its own account."""


def _name(function: Function) -> str:
    return function.name


class Recorder(BaseHTTPRequestHandler):
    """Answers every search with an empty searchset whose self link is what was asked for."""

    targets: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.targets.append(self.path)
        link = {"relation": "self", "url": f"http://{self.headers['host']}{self.path}"}
        body = orjson.dumps({"resourceType": "Bundle", "type": "searchset", "total": 0, "link": [link]})
        self.send_response(200)
        self.send_header("Content-Type", "application/fhir+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The FHIR base of a server that keeps what it was asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/fhir"
        server.shutdown()
        thread.join()


async def on_the_wire(
    base: str, function: Function, call: dict[str, Any]
) -> tuple[str, list[tuple[str, str]]]:
    """The path and raw query pairs, undecoded, that a call's search sends."""
    chart = backend(base)
    try:
        decoded = decode(function, call, base_url=chart.base_url)
        assert decoded.faults == ()
        await chart.search(function.resource_type, search_query(function, decoded.arguments))
    finally:
        await chart.aclose()
    parts = urlsplit(Recorder.targets[-1])
    pairs = [pair.partition("=") for pair in parts.query.split("&") if pair]
    return parts.path, [(name, value) for name, _, value in pairs]


@pytest.mark.parametrize("function", SEARCHES, ids=_name)
def test_every_value_of_a_search_is_encoded_exactly_once(base: str, function: Function) -> None:
    @seed(1)
    @BOUNDED
    @given(calls(function))
    def check(call: dict[str, Any]) -> None:
        path, pairs = anyio.run(on_the_wire, base, function, call)
        assert path == f"/fhir{function.path}"
        expected = search_query(function, decode(function, call).arguments)
        arrived = [(unquote_plus(name), unquote_plus(value)) for name, value in pairs]
        assert [pair for pair in arrived if pair in expected or pair[0] not in ADDED] == expected
        # Decoded once they are what was meant; raw, nothing stands in them that means something in a URL.
        assert not any(set(value) & set(' &#|"<>') for _, value in pairs)

    check()


@pytest.mark.parametrize("text", [*AWKWARD, "a+b&c|d,e f=g#h", "Zoë 名前 \N{SNOWMAN}"])
def test_awkward_text_arrives_as_it_was_written(base: str, text: str) -> None:
    function = find_function("patient.search")
    assert function is not None
    _, pairs = anyio.run(on_the_wire, base, function, {"name": text, "address": text})
    arrived = [(unquote_plus(name), unquote_plus(value)) for name, value in pairs]
    assert ("name", text) in arrived
    assert ("address", text) in arrived


def test_a_time_zone_keeps_its_plus_sign_on_the_wire(base: str) -> None:
    function = find_function("lab.search")
    assert function is not None
    call = {
        "patient": "S1",
        "code": "http://loinc.org|2823-3",
        "date": ["ge2023-11-12T10:15:00+00:00", "lt2023-12"],
    }
    _, pairs = anyio.run(on_the_wire, base, function, call)
    assert ("date", "ge2023-11-12T10:15:00%2B00:00") in pairs
    assert ("code", "http://loinc.org%7C2823-3") in pairs
