"""Who may ask the HTTP face for what: tokens, Host, Origin, names, sizes, broken bodies."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError

from tests.server.fakes import VITAL, FakeChart, make_service
from tests.server.live import ACCEPT, INITIALIZE, bearer, running, served
from wardround_schemas.errors import UserError
from wardround_server.http import build_agent_app, build_app
from wardround_server.http_guard import HostPolicy
from wardround_server.service import open_service
from wardround_server.sessions import new_name
from wardround_server.settings import ServerSettings

pytestmark = pytest.mark.anyio

MODES = ("legacy", "2026-07-28")
LAB = {"patient": "S1234567", "code": "MG"}
TOKEN = "control-token-of-the-test"


async def test_off_loopback_there_is_no_server_without_a_token(tmp_path: Path) -> None:
    service = make_service(tmp_path, host="0.0.0.0")
    with pytest.raises(UserError, match="control token"):
        build_app(service)
    await service.aclose()


async def test_off_loopback_control_needs_the_token_and_agents_a_session(tmp_path: Path) -> None:
    async with served(tmp_path, host="0.0.0.0", token=TOKEN) as (_, _, http):
        for path in ("/sessions", "/metrics"):
            for headers in (
                {},
                bearer("wrong"),
                {"authorization": TOKEN},
                {"authorization": "Bearer"},
                bearer(TOKEN[:-1]),
            ):
                if path == "/sessions":
                    answer = await http.post(path, json={}, headers=headers)
                else:
                    answer = await http.get(path, headers=headers)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
                assert TOKEN not in answer.text
        made = await http.post("/sessions", json={"budget": 1}, headers=bearer(TOKEN))
        assert made.status_code == 201
        async with Client(made.json()["mcp_url"], mode="2026-07-28") as client:
            assert not (await client.call_tool("lab_search", LAB)).is_error
        for path in ("/mcp", "/mcp/default", "/mcp/one", f"/mcp/{new_name()}"):
            assert (await http.post(path, json=INITIALIZE, headers=ACCEPT)).status_code == 404
        assert (await http.get("/healthz")).status_code == 200


async def test_off_loopback_the_chart_needs_the_token_too(tmp_path: Path) -> None:
    settings = ServerSettings(host="0.0.0.0", token=TOKEN, journal=tmp_path)
    async with (
        await open_service(settings) as service,
        running(build_app(service)) as base,
        httpx.AsyncClient(base_url=base) as http,
    ):
        for path in ("/fhir/metadata", "/fhir/Patient", "/fhir/Patient/S1"):
            assert (await http.get(path)).status_code == 401
        assert (await http.post("/fhir/Patient/_search")).status_code == 401
        assert (await http.get("/fhir/Patient?_count=1", headers=bearer(TOKEN))).status_code == 200
        assert (await http.post("/fhir/Patient", json={}, headers=bearer(TOKEN))).status_code == 405


async def test_a_token_set_on_loopback_is_asked_for_there_too(tmp_path: Path) -> None:
    async with served(tmp_path, token=TOKEN) as (_, _, http):
        assert (await http.post("/sessions", json={})).status_code == 401
        assert (await http.post("/sessions", json={}, headers=bearer(TOKEN))).status_code == 201


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8421",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
    ],
)
async def test_a_foreign_host_is_refused_on_every_path(tmp_path: Path, host: str) -> None:
    async with served(tmp_path) as (service, _, http):
        for path in ("/mcp", "/mcp/one", "/sessions", "/healthz", "/docs", "/metrics"):
            assert (await http.get(path, headers={"host": host})).status_code == 421
        answer = await http.post("/mcp", json=INITIALIZE, headers={**ACCEPT, "host": host})
        assert answer.status_code == 421
        assert len(service.sessions) == 0


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://localhost.evil.example", "null", "file://", "x"]
)
async def test_a_foreign_origin_is_refused_on_every_path(tmp_path: Path, origin: str) -> None:
    async with served(tmp_path) as (service, _, http):
        for path in ("/mcp", "/sessions", "/healthz"):
            answer = await http.post(path, json=INITIALIZE, headers={**ACCEPT, "origin": origin})
            assert answer.status_code == 403
        assert len(service.sessions) == 0


async def test_a_page_of_this_machine_may_ask(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, _, http):
        for origin in ("http://localhost:6274", "http://127.0.0.1:1234", "http://[::1]:80"):
            assert (await http.get("/healthz", headers={"origin": origin})).status_code == 200


def test_a_server_on_all_addresses_knows_addresses_and_the_names_it_was_given() -> None:
    policy = HostPolicy.of(ServerSettings(host="0.0.0.0", token=TOKEN, allow_hosts=("ward.example",)))
    for host in ("10.1.2.3:8421", "[fd00::1]:8421", "localhost", "ward.example:443", "WARD.example"):
        assert policy.allows_host(host), host
    assert not policy.allows_host(None)
    for host in ("evil.example", "ward.example.evil", "", "a b", "10.1.2.3.evil.example", "x:99999"):
        assert not policy.allows_host(host), host


HOSTILE_PATHS = [
    "/mcp/..",
    "/mcp/%2e%2e",
    "/mcp/a%2fb",
    "/mcp/%00",
    "/mcp/a%20b",
    "/mcp/" + "x" * 65,
    "/mcp/-x",
    "/mcp/é",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS)
async def test_a_hostile_session_name_is_not_found(tmp_path: Path, path: str) -> None:
    async with served(tmp_path) as (service, _, http):
        answer = await http.post(path, json=INITIALIZE, headers=ACCEPT)
        assert answer.status_code in (404, 405)
        assert len(service.sessions) == 0


async def test_bodies_are_bounded(tmp_path: Path) -> None:
    async with served(tmp_path, max_body_bytes=10_000) as (_, _, http):
        big = json.dumps({**INITIALIZE, "padding": "x" * 20_000}).encode()
        headers = {**ACCEPT, "content-type": "application/json"}
        for path in ("/mcp", "/sessions"):
            assert (await http.post(path, content=big, headers=headers)).status_code == 413

            async def chunks() -> AsyncIterator[bytes]:
                for _ in range(20):
                    yield b"x" * 1000

            assert (await http.post(path, content=chunks(), headers=headers)).status_code == 413


async def test_the_listener_of_a_run_has_its_sessions_and_nothing_else(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(budget=1, finish=True, voice="evaluation")
        async with running(build_agent_app(service)) as base, httpx.AsyncClient(base_url=base) as http:
            async with Client(f"{base}/mcp/{session.id}", mode="2026-07-28") as client:
                assert not (await client.call_tool("lab_search", LAB)).is_error
            paths = (
                "/",
                "/sessions",
                "/fhir/Patient",
                "/mcp",
                "/mcp/default",
                "/mcp/new",
                f"/sessions/{session.id}",
            )
            for path in (*paths, "/docs", "/openapi.json", "/metrics", "/healthz"):
                for method in ("GET", "POST", "DELETE"):
                    body = INITIALIZE if method == "POST" else None
                    answer = await http.request(method, path, json=body, headers=ACCEPT)
                    assert answer.status_code == 404, (method, path)
            assert [s.id for s in service.sessions] == [session.id]
            service.sessions.close(session.id)
            with pytest.raises((MCPError, BaseExceptionGroup)):
                async with Client(f"{base}/mcp/{session.id}", mode="legacy"):
                    pass


_MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_HOSTILE_PARAMS: list[dict[str, Any]] = [
    {},
    {"name": 7},
    {"name": None, "arguments": {}},
    {"name": "lab_search", "arguments": "\ud800"},
    {"name": "vital_create", "arguments": {"note": "\udfff", "x": 10**400}},
    {"name": "vital_create", "arguments": VITAL, "inputResponses": {"approve-order": 7}},
    {"name": "vital_create", "arguments": VITAL, "requestState": "v1.AAAA"},
]
HOSTILE_BODIES: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"\xff\xfe",
    b"{" * 5000,
    b"[" * 100_000,
    b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}',
    *(
        json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": _MODERN_META}}
        ).encode()
        for params in _HOSTILE_PARAMS
    ),
]


@pytest.mark.parametrize("version", [None, "2025-06-18", "2026-07-28", "2099-01-01", "x" * 5000])
async def test_no_body_brings_the_server_down_or_makes_it_fail(tmp_path: Path, version: str | None) -> None:
    async with served(tmp_path, writes="confirm", chart=FakeChart(read_only=False)) as (_, base, http):
        for body in HOSTILE_BODIES:
            headers = {**ACCEPT, "content-type": "application/json", "mcp-method": "tools/call"}
            if version is not None:
                headers["mcp-protocol-version"] = version
            for more in ({}, {"mcp-name": "vital_create"}, {"mcp-session-id": "none"}):
                answer = await http.post("/mcp/one", content=body, headers={**headers, **more})
                assert answer.status_code < 500, (body[:60], answer.text)
        async with Client(f"{base}/mcp/one", mode="2026-07-28") as client:
            assert not (await client.call_tool("lab_search", LAB)).is_error
