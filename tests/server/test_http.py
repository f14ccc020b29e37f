"""The HTTP face, by real requests to a real server."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated

from tests.server.fakes import VITAL, FakeChart, make_service
from tests.server.live import running
from wardround_schemas.errors import ChartError, UserError
from wardround_server.http import build_agent_app, build_app
from wardround_server.http_guard import HostPolicy
from wardround_server.mcp_resources import CAPTURES
from wardround_server.service import Service, open_service
from wardround_server.sessions import new_name
from wardround_server.settings import ServerSettings

pytestmark = pytest.mark.anyio

MODES = ("legacy", "2026-07-28")
LAB = {"patient": "S1234567", "code": "MG"}
TOKEN = "control-token-of-the-test"


@asynccontextmanager
async def served(folder: Path, **settings: Any) -> AsyncIterator[tuple[Service, str, httpx.AsyncClient]]:
    chart = settings.pop("chart", None)
    async with (
        make_service(folder, chart, **settings) as service,
        running(build_app(service)) as base,
        httpx.AsyncClient(base_url=base) as http,
    ):
        yield service, base, http


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", MODES)
async def test_one_process_serves_clients_of_both_eras(tmp_path: Path, mode: str) -> None:
    async with served(tmp_path) as (service, base, _):
        async with Client(f"{base}/mcp", mode=mode) as client:
            assert len((await client.list_tools()).tools) == 9
            assert not (await client.call_tool("lab_search", LAB)).is_error
            assert not (await client.call_tool("vital_create", VITAL)).is_error
        session = service.sessions.get("default")
        assert session is not None
        assert len(session.captures) == 1


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_revision_of_the_older_era_is_answered_in_kind(tmp_path: Path, version: str) -> None:
    async with served(tmp_path) as (_, _, http):
        body = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": version}}
        answer = await http.post("/mcp", json=body, headers=ACCEPT)
        assert answer.status_code == 200
        data = next(line for line in answer.text.splitlines() if line.startswith("data: {"))
        assert json.loads(data.removeprefix("data: "))["result"]["protocolVersion"] == version


@pytest.mark.parametrize("mode", MODES)
async def test_sessions_are_named_by_path_and_isolated(tmp_path: Path, mode: str) -> None:
    async with served(tmp_path) as (service, base, _):
        for name in ("one", "two"):
            async with Client(f"{base}/mcp/{name}", mode=mode) as client:
                await client.call_tool("vital_create", {**VITAL, "valueString": name})
        for name in ("one", "two"):
            session = service.sessions.get(name)
            assert session is not None
            assert [c.resource["valueString"] for c in session.captures] == [name]


async def test_a_protocol_session_of_one_path_is_unknown_at_another(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, _, http):
        opened = await http.post("/mcp/one", json=INITIALIZE, headers=ACCEPT)
        held = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await http.post("/mcp/one", json=ping, headers=held)).status_code == 200
        assert (await http.post("/mcp/two", json=ping, headers=held)).status_code == 404


async def test_a_request_sent_twice_on_a_connection_is_one_capture(tmp_path: Path) -> None:
    async with served(tmp_path) as (service, _, http):
        opened = await http.post("/mcp/one", json=INITIALIZE, headers=ACCEPT)
        held = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}
        await http.post(
            "/mcp/one", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=held
        )
        call = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {"name": "vital_create", "arguments": VITAL},
        }
        for _ in range(2):
            assert (await http.post("/mcp/one", json=call, headers=held)).status_code == 200
        await http.post("/mcp/one", json={**call, "id": 8}, headers=held)
        session = service.sessions.get("one")
        assert session is not None
        assert [c.seq for c in session.captures] == [1, 2]


@pytest.mark.parametrize("mode", MODES)
async def test_confirm_asks_over_http_in_both_eras(tmp_path: Path, mode: str) -> None:
    from tests.server.test_mcp import answering

    chart = FakeChart(read_only=False)
    async with served(tmp_path, chart=chart, writes="confirm") as (_, base, _):
        callback = answering("accept", True)
        async with Client(f"{base}/mcp/one", mode=mode, elicitation_callback=callback) as client:
            assert not (await client.call_tool("vital_create", VITAL)).is_error
        assert len(chart.created) == 1
        async with Client(f"{base}/mcp/one", mode=mode) as client:
            assert (await client.call_tool("vital_create", VITAL)).is_error
        assert len(chart.created) == 1


async def test_a_listener_over_http_hears_of_a_capture(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (_, base, _),
        Client(f"{base}/mcp/one", mode="2026-07-28") as client,
        client.listen(resource_subscriptions=[CAPTURES]) as events,
    ):
        await client.call_tool("vital_create", VITAL)
        with anyio.fail_after(5):
            assert await anext(events) == ResourceUpdated(uri=CAPTURES)


# --- control ------------------------------------------------------------------------------------


async def test_control_makes_shows_and_ends_a_session(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, base, http):
        made = await http.post("/sessions", json={"budget": 2, "finish": True})
        assert made.status_code == 201
        body = made.json()
        assert body["mcp_url"] == f"{base}/mcp/{body['id']}"
        async with Client(body["mcp_url"], mode="legacy") as client:
            assert [t.name for t in (await client.list_tools()).tools][-1] == "finish"
            await client.call_tool("vital_create", VITAL)
            await client.call_tool("finish", {"answers": [2]})
            assert (await client.call_tool("lab_search", LAB)).is_error
        shown = (await http.get(f"/sessions/{body['id']}")).json()
        assert {k: shown[k] for k in ("id", "status", "rounds_used", "budget", "answer")} == {
            "id": body["id"],
            "status": "completed",
            "rounds_used": 2,
            "budget": 2,
            "answer": "[2]",
        }
        assert [c["function"] for c in shown["captures"]] == ["vital.create"]
        assert [c["function"] for c in shown["calls"]] == ["vital.create", "finish", "lab.search"]
        assert (await http.delete(f"/sessions/{body['id']}")).status_code == 204
        assert (await http.get(f"/sessions/{body['id']}")).status_code == 404
        assert (await http.delete(f"/sessions/{body['id']}")).status_code == 404
        # A session that control made does not come back by its next use, without its budget.
        assert (await http.post(f"/mcp/{body['id']}", json=INITIALIZE, headers=ACCEPT)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"writes": "overlay"}, 403),
        ({"writes": "forward"}, 403),
        ({"writes": "everything"}, 422),
        ({"budget": 0}, 422),
        ({"budget": "many"}, 422),
        ({"unknown": 1}, 422),
        ([], 422),
    ],
)
async def test_control_refuses_what_it_should(tmp_path: Path, body: Any, status: int) -> None:
    async with served(tmp_path) as (service, _, http):
        assert (await http.post("/sessions", json=body)).status_code == status
        assert len(service.sessions) == 0


async def test_sessions_over_the_limit_are_answered_503(tmp_path: Path) -> None:
    async with served(tmp_path, max_sessions=1) as (_, _, http):
        assert (await http.post("/sessions", json={})).status_code == 201
        assert (await http.post("/sessions", json={})).status_code == 503
        assert (await http.post("/mcp/one", json=INITIALIZE, headers=ACCEPT)).status_code == 503


# --- who may ask --------------------------------------------------------------------------------


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


# --- health, counters, logs ---------------------------------------------------------------------


async def test_readiness_says_whether_chart_and_journal_work(tmp_path: Path) -> None:
    chart = FakeChart()
    async with served(tmp_path, chart=chart) as (_, _, http):
        ready = await http.get("/readyz")
        assert ready.status_code == 200
        assert ready.json() == {"status": "ready", "faults": [], "writes": "capture", "synthetic": True}
    chart.error = ChartError("gone")
    async with served(tmp_path, chart=chart) as (_, _, http):
        unready = await http.get("/readyz")
        assert unready.status_code == 503
        assert unready.json()["faults"] == ["the chart can't be read"]
        assert (await http.get("/healthz")).json() == {"status": "ok"}


async def test_counters_count_and_name_no_one(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, base, http):
        async with Client(f"{base}/mcp/ward7", mode="legacy") as client:
            await client.call_tool("lab_search", LAB)
            await client.call_tool("vital_create", {})
            await client.call_tool("Peter_Example", {})
        text = (await http.get("/metrics")).text
        assert 'wardround_calls_total{function="lab.search",outcome="ok"} 1.0' in text
        assert 'wardround_calls_total{function="vital.create",outcome="refused"} 1.0' in text
        assert 'wardround_calls_total{function="unknown",outcome="refused"} 1.0' in text
        assert "wardround_sessions_open 1.0" in text
        assert 'wardround_http_requests_total{area="mcp"' in text
        for secret in ("S1234567", "ward7", "Peter"):
            assert secret not in text


async def test_the_documentation_lists_the_routes(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, _, http):
        assert (await http.get("/docs")).status_code == 200
        paths = (await http.get("/openapi.json")).json()["paths"]
        assert {"/sessions", "/sessions/{session_id}", "/healthz", "/readyz", "/metrics"} <= set(paths)


async def test_each_request_has_an_id_and_its_log_line_names_no_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from wardround_server.logs import JsonFormatter

    with caplog.at_level(logging.INFO, logger="wardround_server"):
        async with served(tmp_path, token=TOKEN) as (_, _, http):
            given = await http.get(
                "/sessions/secret-session-name?family=Example", headers={"x-request-id": "abc-1"}
            )
            assert given.headers["x-request-id"] == "abc-1"
            made = await http.get("/sessions/x", headers={"x-request-id": "bad id"})
            assert len(made.headers["x-request-id"]) == 32
    lines = [
        JsonFormatter(details=False).format(r)
        for r in caplog.records
        if r.name == "wardround_server.http_guard"
    ]
    assert len(lines) == 2
    first = json.loads(lines[0])
    assert (first["area"], first["status"], first["method"]) == ("sessions", 401, "GET")
    for line in lines:
        for secret in ("secret-session-name", "Example", TOKEN):
            assert secret not in line


async def test_an_error_in_a_log_names_its_place_but_not_its_message() -> None:
    from wardround_server.logs import JsonFormatter

    def record(name: str, message: str) -> logging.LogRecord:
        try:
            raise ValueError("patient Ada Example")
        except ValueError as error:
            info = (type(error), error, error.__traceback__)
        return logging.LogRecord(name, logging.ERROR, __file__, 1, message, ("Ada",), info)

    quiet = json.loads(JsonFormatter(details=False).format(record("mcp.server.runner", "failed for %s")))
    assert quiet["message"] == "failed for %s"
    assert quiet["error"]["type"] == "ValueError"
    assert "Ada" not in json.dumps(quiet)
    loud = json.loads(JsonFormatter(details=True).format(record("mcp.server.runner", "failed for %s")))
    assert loud["message"] == "failed for Ada"
    assert loud["error"]["message"] == "patient Ada Example"


async def test_a_client_that_goes_away_in_mid_call_leaves_the_server_well(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, base, http):
        for _ in range(5):
            async with httpx.AsyncClient(base_url=base) as other:
                with anyio.move_on_after(0):
                    await other.post("/mcp/one", json=INITIALIZE, headers=ACCEPT)
        assert (await http.get("/readyz")).status_code == 200
        async with streamable_http_client(f"{base}/mcp/one"):
            pass
        async with Client(f"{base}/mcp/one", mode="legacy") as client:
            assert not (await client.call_tool("lab_search", LAB)).is_error
