"""The HTTP face, by real requests to a real server."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated

from tests.server.fakes import VITAL, FakeChart
from tests.server.live import ACCEPT, INITIALIZE, served
from wardround_schemas.errors import ChartError
from wardround_server.mcp_resources import CAPTURES

pytestmark = pytest.mark.anyio

MODES = ("legacy", "2026-07-28")
LAB = {"patient": "S1234567", "code": "MG"}
TOKEN = "control-token-of-the-test"


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
