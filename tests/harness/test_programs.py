"""Programs and servers elsewhere: real processes over a real listener, real servers over HTTP."""

from __future__ import annotations

import json
import shlex
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.harness.test_run import plan, rate, without_times
from wardround_harness.houses import LocalHouse
from wardround_harness.programs import listening
from wardround_harness.run import execute
from wardround_harness.runs import ATTEMPTS, read_json, read_lines
from wardround_schemas.errors import UserError
from wardround_server.http import build_app
from wardround_server.service import Service, open_service
from wardround_server.settings import ServerSettings
from wardround_tasks.loading import load_tasks

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")]

CLIENT = """
import sys, anyio
from mcp import Client

async def main():
    async with Client(sys.argv[1]) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert 'finish' in names, names
        {body}

anyio.run(main)
{last}
"""


def program(folder: Path, body: str, last: str = "") -> str:
    """A model name for a program that does `body` with an MCP client and then `last`."""
    path = folder / "agent.py"
    path.write_text(CLIENT.format(body=body, last=last))
    return f"command:{shlex.quote(sys.executable)} {shlex.quote(str(path))} {{mcp_url}}"


async def line_of(tmp_path: Path, model: str, **more: Any) -> dict[str, Any]:
    """The one line of a run of one task by a program."""
    await execute(plan(tmp_path / "r", model, **{"only": ("task2",), "limit": 1, **more}), signals=False)
    return next(read_lines(tmp_path / "r" / ATTEMPTS))


async def test_a_program_that_finishes_over_mcp_is_completed(tmp_path: Path) -> None:
    body = (
        "await client.call_tool('patient_search', {'family': 'a'});"
        " await client.call_tool('finish', {'answers': [7]})"
    )
    line = await line_of(tmp_path, program(tmp_path, body, "sys.exit(3)"))
    assert (line["attempt"]["status"], line["attempt"]["answer"], line["rounds_by_call"]) == (
        "completed",
        "[7]",
        2,
    )
    assert [call["function"] for entry in line["rounds"] for call in entry["calls"]] == [
        "patient.search",
        "finish",
    ]
    assert line["cost_usd"] is None


@pytest.mark.parametrize(
    ("last", "status", "answer"),
    [
        ("print('thinking'); print('[42]')", "completed", "[42]"),
        ("print('FINISH([42])')", "completed", "[42]"),
        ("print('no idea')", "completed", "no idea"),
        ("", "invalid_action", None),
        ("sys.exit(9)", "agent_error", None),
    ],
)
async def test_without_finish_the_last_line_of_output_is_the_answer(
    tmp_path: Path, last: str, status: str, answer: str | None
) -> None:
    line = await line_of(tmp_path, program(tmp_path, "pass", last))
    assert (line["attempt"]["status"], line["attempt"]["answer"]) == (status, answer)
    assert line["verdicts"] is not None


async def test_a_program_can_read_its_task_as_a_prompt_of_the_server(tmp_path: Path) -> None:
    body = (
        "got = await client.get_prompt('task');"
        " await client.call_tool('finish', {'answers': [got.messages[0].content.text]})"
    )
    line = await line_of(tmp_path, program(tmp_path, body))
    task = next(task for task in load_tasks("bundled").tasks if task.id == line["task_id"])
    assert task.instruction.strip() in json.loads(line["attempt"]["answer"])[0]


async def test_a_program_past_its_budget_is_refused_and_scored_as_such(tmp_path: Path) -> None:
    body = "[await client.call_tool('patient_search', {'family': 'a'}) for _ in range(4)]"
    line = await line_of(tmp_path, program(tmp_path, body, "print('[1]')"), rounds=3)
    assert (line["attempt"]["status"], line["rounds_by_call"]) == ("budget_exhausted", 3)


async def test_an_answer_by_output_costs_a_round_too(tmp_path: Path) -> None:
    body = "[await client.call_tool('patient_search', {'family': 'a'}) for _ in range(3)]"
    line = await line_of(tmp_path, program(tmp_path, body, "print('[1]')"), rounds=3)
    assert line["attempt"]["status"] == "budget_exhausted"


async def test_a_program_past_its_time_limit_is_an_agent_error(tmp_path: Path) -> None:
    model = f"command:{shlex.quote(sys.executable)} -c 'import time; time.sleep(60)' {{mcp_url}}"
    line = await line_of(tmp_path, model, time_limit=0.5)
    assert (line["attempt"]["status"], line["error"]) == ("agent_error", "time limit of 0.5 s reached")


async def test_programs_speak_mcp_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="speaks MCP alone"):
        await line_of(tmp_path, program(tmp_path, "pass"), protocol="text")
    with pytest.raises(UserError, match="--mcp with command"):
        await line_of(tmp_path, program(tmp_path, "pass"), mcp="http://127.0.0.1:1/mcp")


async def test_the_agents_listener_knows_its_sessions_and_nothing_else(tmp_path: Path) -> None:
    async with await open_service(ServerSettings(journal=tmp_path / "journal")) as service:
        house = LocalHouse(service)
        async with listening(service) as base, httpx.AsyncClient(base_url=base) as http:
            async with house.door(budget=8, finish=True, native=False) as door:
                assert (await http.post(f"/mcp/{door.id}", json={})).status_code != 404
            for method, path in (
                ("POST", "/sessions"),
                ("GET", "/sessions/default"),
                ("GET", "/fhir/Patient"),
                ("GET", "/docs"),
                ("GET", "/openapi.json"),
                ("GET", "/metrics"),
                ("POST", "/mcp"),
                ("POST", "/mcp/default"),
                ("POST", f"/mcp/{door.id}"),
            ):
                status = (await http.request(method, path, json={})).status_code
                assert status in {404, 405}, (method, path, status)


# --- servers elsewhere ---------------------------------------------------------------------------


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """An application on a loopback port."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: server.serve(sockets=[held]))
        while not server.started:
            await anyio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{held.getsockname()[1]}"
        finally:
            server.should_exit = True


@asynccontextmanager
async def ours(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[str, Service]]:
    """A server of ours over the embedded chart."""
    async with (
        await open_service(ServerSettings(journal=tmp_path / "served", **settings)) as service,
        serving(build_app(service)) as base,
    ):
        yield f"{base}/mcp", service


async def test_a_server_of_ours_elsewhere_gives_the_same_verdicts(tmp_path: Path) -> None:
    async with ours(tmp_path) as (url, service):
        report = await execute(plan(tmp_path / "far", mcp=url), signals=False)
        assert len(service.sessions) <= 1
    await execute(plan(tmp_path / "near"), signals=False)
    assert (rate(report.summaries["native"]), report.exit_code) == (1.0, 0)
    far, near = (
        [without_times(line) for line in read_lines(tmp_path / n / ATTEMPTS)] for n in ("far", "near")
    )
    assert [line["attempt"] for line in far] == [line["attempt"] for line in near]
    assert read_json(tmp_path / "far" / "manifest.json")["server"]["mcp"] == url


async def test_a_server_that_guards_control_is_used_with_its_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-long-control-token-0123456789\n")
    async with ours(tmp_path, token="a-long-control-token-0123456789") as (url, _):
        with pytest.raises(UserError, match="--mcp-token-file"):
            await execute(plan(tmp_path / "r", mcp=url), signals=False)
        assert not (tmp_path / "r").exists()
        report = await execute(plan(tmp_path / "r", mcp=url, mcp_token_file=token), signals=False)
    assert report.exit_code == 0
    assert b"a-long-control-token" not in b"".join(
        p.read_bytes() for p in (tmp_path / "r").rglob("*") if p.is_file()
    )


async def test_a_server_that_says_it_forwards_is_refused(tmp_path: Path) -> None:
    async with ours(tmp_path) as (url, service):
        object.__setattr__(service.settings, "writes", "forward")
        with pytest.raises(UserError, match="sends writes to its FHIR server"):
            await execute(plan(tmp_path / "r", mcp=url), signals=False)
    assert not (tmp_path / "r").exists()


def strangers_server(*, says: str = "") -> MCPServer:
    """Anybody's MCP server with two of the nine functions, and no `finish`."""
    server = MCPServer("stranger", instructions=says or None)

    @server.tool()
    def patient_search(identifier: str = "") -> str:
        """Find a patient."""
        return '{"resourceType": "Bundle", "type": "searchset", "total": 0}'

    @server.tool()
    def vital_create(
        resourceType: str,
        category: list[dict[str, Any]],
        code: dict[str, Any],
        effectiveDateTime: str,
        status: str,
        valueString: str,
        subject: dict[str, Any],
    ) -> str:
        """Record a vital sign."""
        return "done"

    return server


async def test_anybodys_server_can_be_used_and_its_create_calls_are_judged(tmp_path: Path) -> None:
    async with serving(strangers_server().streamable_http_app()) as base:
        report = await execute(
            plan(tmp_path / "r", mcp=f"{base}/mcp", only=("task3", "task4"), limit=31), signals=False
        )
    groups = report.summaries["native"]["scores"]["clinical"]
    assert groups["task3"]["rate"] == 1.0
    line = list(read_lines(tmp_path / "r" / ATTEMPTS))[-1]
    calls = [call for entry in line["rounds"] for call in entry["calls"]]
    assert [(call["function"], call["ok"]) for call in calls] == [
        ("patient.search", True),
        ("lab.search", False),
        ("finish", True),
    ]


async def test_a_stranger_that_says_what_our_forwarding_server_says_is_refused(tmp_path: Path) -> None:
    from wardround_server.voice import mode_note

    says = f"A chart. {mode_note('forward')}"
    async with serving(strangers_server(says=says).streamable_http_app()) as base:
        with pytest.raises(UserError, match="sends writes"):
            await execute(plan(tmp_path / "r", mcp=f"{base}/mcp"), signals=False)


async def test_a_server_that_goes_away_is_owed_not_scored(tmp_path: Path) -> None:
    """The listener ends while the run goes on: every attempt after that is the chart's error."""
    done = 0

    async with ours(tmp_path) as (url, service):
        original = service.sessions.create

        def create(**more: Any) -> Any:
            nonlocal done
            done += 1
            if done > 3:
                raise RuntimeError("the server is broken")
            return original(**more)

        service.sessions.create = create  # type: ignore[method-assign]
        report = await execute(plan(tmp_path / "r", mcp=url, concurrency=1), signals=False)
    assert report.summaries["native"]["ledger"] == {"completed": 2, "chart_error": 8}
    assert report.exit_code == 3


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_a_chart_behind_a_fhir_url_gives_the_same_verdicts(tmp_path: Path, protocol: Any) -> None:
    async with ours(tmp_path) as (url, _):
        far = plan(tmp_path / "far", fhir=url.removesuffix("/mcp") + "/fhir", protocol=protocol)
        report = await execute(far, signals=False)
    assert report.exit_code == 0
    assert rate(report.summaries[protocol]) == rate(report.summaries[protocol], "medagentbench") == 1.0


@dataclass
class Failing:
    """An application whose chart answers 500 after so many requests (None: never)."""

    app: ASGIApp
    after: int | None
    asked: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/fhir/"):
            self.asked += 1
            if self.after is not None and self.asked > self.after:
                await Response("the disk is gone", 500)(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def test_a_chart_that_goes_away_is_owed_and_made_up_later(tmp_path: Path) -> None:
    async with await open_service(ServerSettings(journal=tmp_path / "served")) as service:
        app = Failing(build_app(service), after=12)
        async with serving(app) as base:
            far = plan(tmp_path / "r", fhir=f"{base}/fhir", concurrency=1)
            report = await execute(far, signals=False)
            app.after = None
            again = await execute(replace(far, resume=True), signals=False)
    ledger = report.summaries["native"]["ledger"]
    assert sorted(ledger) == ["chart_error", "completed"]
    assert sum(ledger.values()) == 10
    assert report.exit_code == 3
    assert (again.exit_code, rate(again.summaries["native"])) == (0, 1.0)
    assert len(list(read_lines(tmp_path / "r" / ATTEMPTS))) == 10
