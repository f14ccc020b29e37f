"""No mode that keeps writes in the house lets one out: checked at the wire, not by reading the code.

A real HTTP server stands where the hospital's FHIR server would. It notes every request that arrives.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp import Client

from tests.server.fakes import LABS, NOW, PATIENT, VITAL
from tests.server.live import running
from tests.server.test_mcp import answering
from wardround_schemas.function import load_functions
from wardround_server.cli import main
from wardround_server.http import build_app
from wardround_server.mcp import IDEMPOTENCY_KEY
from wardround_server.service import Service, open_service
from wardround_server.settings import ServerSettings, WriteMode

pytestmark = pytest.mark.anyio


class Hospital(BaseHTTPRequestHandler):
    """A FHIR server that would take any write, and remembers what it was asked."""

    protocol_version = "HTTP/1.1"
    server: HospitalServer

    def handle_any(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path))
        path = urlsplit(self.path).path.removeprefix("/fhir").strip("/")
        status, answer = self.answer(path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/fhir+json")
        self.send_header("content-length", str(len(data)))
        if status == 201:
            self.send_header("location", f"{self.server.base}/{path}/{len(self.server.created)}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        if self.command in ("POST", "PUT", "PATCH", "DELETE") and not path.endswith("_search"):
            return self.take(body)
        if path == "metadata":
            return 200, {
                "resourceType": "CapabilityStatement",
                "fhirVersion": "4.0.1",
                "rest": [{"resource": [{"type": "Observation", "conditionalCreate": True}]}],
            }
        kind = path.split("/")[0]
        found = {"Patient": [PATIENT], "Observation": LABS}.get(kind, [])
        query = parse_qs(urlsplit(self.path).query)
        link = [{"relation": "self", "url": f"{self.server.base}{self.path.removeprefix('/fhir')}"}]
        if "_page" not in query and kind == "Observation":
            link.append({"relation": "next", "url": f"{self.server.base}/Observation?_page=2"})
        entries = [{"resource": r, "search": {"mode": "match"}} for r in found]
        return 200, {
            "resourceType": "Bundle",
            "type": "searchset",
            "total": len(found),
            "link": link,
            **({"entry": entries} if entries else {}),
        }

    def take(self, body: bytes) -> tuple[int, Any]:
        condition = self.headers.get("if-none-exist")
        if condition is not None and condition in self.server.conditions:
            return 200, self.server.created[self.server.conditions.index(condition)]
        resource = json.loads(body)
        self.server.created.append({**resource, "id": str(len(self.server.created) + 1)})
        self.server.conditions.append(condition or "")
        return 201, self.server.created[-1]

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's own name
        """Keep the test's output clean."""


class HospitalServer(ThreadingHTTPServer):
    """The server with its memory."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hospital)
        self.base = f"http://127.0.0.1:{self.server_address[1]}/fhir"
        self.seen: list[tuple[str, str]] = []
        self.created: list[Any] = []
        self.conditions: list[str] = []

    def writes(self) -> list[tuple[str, str]]:
        """Requests that are neither a read nor a search."""
        return [(method, path) for method, path in self.seen if not _reads(method, path)]


def _reads(method: str, path: str) -> bool:
    return method in ("GET", "HEAD") or (method == "POST" and urlsplit(path).path.endswith("/_search"))


@contextmanager
def hospital() -> Iterator[HospitalServer]:
    server = HospitalServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@asynccontextmanager
async def over(server: HospitalServer, folder: Path, writes: WriteMode) -> AsyncIterator[Service]:
    settings = ServerSettings(fhir=server.base, writes=writes, allow_forward=True, journal=folder / "journal")
    async with await open_service(settings) as service:
        yield service


async def exercise(service: Service, server: HospitalServer) -> None:
    """Every way of asking for a write that the house has, right and wrong, through every door."""
    creates = [f for f in load_functions() if f.kind == "create"]
    session = service.sessions.create()
    for function in creates:
        await session.call(function.tool_name, function.example)
        await session.call(function.name, function.example, key="again")
        await session.call(function.name, function.example, key="again")
        await session.call(function.tool_name, {**function.example, "status": "nonsense"})
        await session.call(function.tool_name, json.dumps(function.example))
        await session.http_post(f"{server.base}{function.path}", json.dumps(function.example))
        await session.http_post(function.path, json.dumps(function.example))
    for function in load_functions():
        if function.kind == "search":
            found = await session.call(function.tool_name, function.example)
            if found.next is not None:
                await session.call(function.tool_name, {"page": found.next})
    for url in ("Observation?code=MG", "Patient/S1234567", "metadata", "Observation/captured-1"):
        await session.http_get(url)
    for path in (
        "/Patient",
        "/Observation/1",
        "/",
        "/Observation/_search",
        "/$process-message",
        "?_format=json",
    ):
        await session.http_post(f"{server.base}{path}", json.dumps(VITAL))
    async with running(build_app(service)) as base:
        for mode in ("legacy", "2026-07-28"):
            callback = answering("accept", True)
            key: Any = {IDEMPOTENCY_KEY: "k"}
            async with Client(f"{base}/mcp/{mode}", mode=mode, elicitation_callback=callback) as client:
                await client.call_tool("vital_create", VITAL)
                await client.call_tool("vital_create", VITAL, meta=key)
                for resource in (await client.list_resources()).resources:
                    await client.read_resource(resource.uri)
                await client.get_prompt("summarise_patient", {"patient": "S1234567"})


@pytest.mark.parametrize("writes", ["off", "capture", "overlay"])
async def test_no_write_leaves_the_house(tmp_path: Path, writes: WriteMode) -> None:
    with hospital() as server:
        async with over(server, tmp_path, writes) as service:
            await exercise(service, server)
            kept = list(service.journal.captures())
        assert len(server.seen) > 10
        assert server.writes() == []
        assert server.created == []
        assert bool(kept) is (writes != "off")


def test_the_doctor_writes_nothing_whatever_mode_it_examines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with hospital() as server:
        for writes in ("capture", "confirm", "forward"):
            argv = ["doctor", "--fhir", server.base, "--writes", writes, "--allow-forward"]
            assert main([*argv, "--journal", str(tmp_path / "journal")]) == 0, capfd.readouterr().out
        assert len(server.seen) > 10
        assert server.writes() == []


async def test_the_count_would_see_a_write(tmp_path: Path) -> None:
    """The same exercise where writes are sent: if this saw nothing, the test above would prove nothing."""
    with hospital() as server:
        async with over(server, tmp_path, "forward") as service:
            await exercise(service, server)
        assert {method for method, _ in server.writes()} == {"POST"}
        assert len(server.created) > 5


async def test_confirm_sends_only_what_was_agreed_to(tmp_path: Path) -> None:
    with hospital() as server:
        async with over(server, tmp_path, "confirm") as service, running(build_app(service)) as base:
            for approve, sent in ((False, 0), (None, 0), (True, 1)):
                async with Client(
                    f"{base}/mcp/one", mode="2026-07-28", elicitation_callback=answering("accept", approve)
                ) as client:
                    await client.call_tool("vital_create", VITAL)
                assert len(server.created) == sent
        (order,) = server.created
        assert order["effectiveDateTime"] == NOW
        assert order["valueString"] == VITAL["valueString"]


async def test_a_forwarded_order_is_not_placed_twice_by_a_retry(tmp_path: Path) -> None:
    with hospital() as server:
        async with over(server, tmp_path, "forward") as service:
            session = service.sessions.create(name="ward")
            first = await session.call("vital_create", VITAL, key="k")
            assert first.ok
            assert "id 1" in first.text
            await session.call("vital_create", VITAL, key="k")
        async with over(server, tmp_path, "forward") as service:
            again = await service.sessions.create(name="ward").call("vital_create", VITAL, key="k")
            assert again.ok
            assert "id 1" in again.text
        assert len(server.created) == 1


async def test_a_session_below_the_ceiling_sends_nothing_either(tmp_path: Path) -> None:
    """The backend may write then; the session's mode alone stands before it."""
    with hospital() as server:
        async with over(server, tmp_path, "forward") as service:
            kept_in: tuple[WriteMode, ...] = ("off", "capture", "overlay")
            for mode in kept_in:
                session = service.sessions.create(writes=mode)
                await session.call("vital_create", VITAL, key="k")
                await session.call("vital_create", VITAL)
                await session.http_post(f"{server.base}/Observation", json.dumps(VITAL))
        assert server.writes() == []
