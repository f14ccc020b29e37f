"""`--mcp URL`: a house over an MCP server elsewhere, one of ours or anybody's.

Ours is known by its `/readyz` and gives a session per attempt, whose calls, captures and status are
read back. Of anybody else's the harness counts the rounds, adds `finish` where there is none, and
takes a create call for what its tool's result says.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx

from wardround_schemas.errors import ChartError, UserError
from wardround_schemas.function import decode, explain, find_function, finish_function
from wardround_server.voice import mode_note
from wardround_tasks.attempt import CreateCall

from .agents.base import Tool, ToolCall
from .doors import DoorStatus, Effects, Outcome
from .houses import JournalFailed, called, can_be_carried, dotted, listed_tools, opened_arguments
from .manifest import public_url

if TYPE_CHECKING:
    from mcp import Client

SENDING: Final = ("forward", "confirm")
"""Write modes in which an order can reach the FHIR server."""
TIMEOUT: Final = httpx.Timeout(30.0, read=300.0)


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """What is known of the server: its URL, whether it is ours, its tools.

    `synthetic` is what ours says of its chart; of anybody else's nothing is known, so it is False.
    """

    url: str
    ours: bool
    synthetic: bool
    tools: tuple[Tool, ...]


class RemoteHouse:
    """A server elsewhere. `token` is the control token of ours, None where it needs none."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._root = root_of(url)
        self._headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        self._http = httpx.AsyncClient(timeout=TIMEOUT, headers=self._headers, follow_redirects=False)
        self._ours = False

    @property
    def fhir_base(self) -> str:
        """Not known: the text protocol can't be spoken over MCP."""
        return ""

    async def aclose(self) -> None:
        """Close the control connection."""
        await self._http.aclose()

    async def survey(self) -> RemoteServer:
        """Look at the server before the run.

        UserError when it can't be reached, refuses the token, or says that it sends writes on.
        """
        ready = await self._ready()
        self._ours = ready is not None
        writes = (ready or {}).get("writes")
        try:
            async with self.door(budget=None, finish=True, native=True) as door:
                tools = await door.tools()
                says = door.instructions
        except ChartError as error:
            raise UserError(f"--mcp {public_url(self._url)}: {error}", mend="is it running?") from error
        if writes in SENDING or any(mode_note(mode) in says for mode in SENDING):
            raise UserError(
                f"--mcp {public_url(self._url)} says that it sends writes to its FHIR server",
                mend="start that server with --writes capture",
            )
        return RemoteServer(public_url(self._url), self._ours, bool((ready or {}).get("synthetic")), tools)

    @asynccontextmanager
    async def door(
        self, *, budget: int | None, finish: bool, native: bool = True
    ) -> AsyncIterator[RemoteDoor]:
        """A connection for one attempt; of ours over a session made for it, ended afterwards."""
        async with AsyncExitStack() as stack:
            session = await self._make_session(budget) if self._ours else None
            if session is not None:
                stack.push_async_callback(self._end_session, session)
            url = f"{self._root}/mcp/{session}" if session is not None else self._url
            client = await self._connected(stack, url)
            yield RemoteDoor(client, self._show if session is not None else None, session)

    async def _connected(self, stack: AsyncExitStack, url: str) -> Client:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        try:
            http = await stack.enter_async_context(create_mcp_http_client(headers=self._headers or None))
            return await stack.enter_async_context(
                Client(streamable_http_client(url, http_client=http), cache=None)
            )
        except Exception as error:
            raise ChartError(f"the MCP server can't be reached: {reason(error)}", retryable=True) from error

    async def _ready(self) -> dict[str, Any] | None:
        try:
            response = await self._http.get(f"{self._root}/readyz")
            body = response.json()
        except (httpx.HTTPError, ValueError):
            return None
        return body if isinstance(body, dict) and "writes" in body and "status" in body else None

    async def _make_session(self, budget: int | None) -> str:
        body = {"budget": budget, "writes": "capture", "finish": True, "voice": "evaluation"}
        made = await self._control("POST", "/sessions", body)
        return str(made["id"])

    async def _show(self, session: str) -> dict[str, Any]:
        return await self._control("GET", f"/sessions/{session}")

    async def _end_session(self, session: str) -> None:
        try:
            await self._http.delete(f"{self._root}/sessions/{session}")
        except httpx.HTTPError:
            # It ends by itself once it is idle; the attempt's result does not depend on it.
            return

    async def _control(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            response = await self._http.request(method, self._root + path, json=body)
        except httpx.HTTPError as error:
            raise ChartError(f"the MCP server can't be reached: {reason(error)}", retryable=True) from error
        if response.status_code in (401, 403):
            raise UserError(
                f"--mcp {public_url(self._url)} refuses control ({response.status_code})",
                mend="give its control token with --mcp-token-file",
            )
        try:
            value = response.json()
        except ValueError:
            value = None
        if response.status_code >= 400 or not isinstance(value, dict):
            raise ChartError(
                f"the MCP server answered {method} {path.split('/')[1]} with {response.status_code}"
            )
        return value


@dataclass(slots=True)
class RemoteDoor:
    """A connection to a server elsewhere. `show` reads the session of ours, None for anybody else's."""

    client: Client
    show: Any = None
    session: str | None = None
    status: DoorStatus = "open"
    _made: list[CreateCall] = field(default_factory=list)
    _answer: str | None = None
    _own_finish: bool = False

    @property
    def instructions(self) -> str:
        """What the server says of itself."""
        return self.client.instructions or ""

    async def tools(self) -> tuple[Tool, ...]:
        try:
            tools = await listed_tools(self.client)
        except Exception as error:
            raise ChartError(f"the MCP server lists no tools: {reason(error)}", retryable=True) from error
        finish = finish_function()
        if any(tool.name == finish.tool_name for tool in tools):
            return tools
        self._own_finish = True
        return (*tools, Tool(finish.tool_name, finish.description, finish.input_schema))

    async def call(self, call: ToolCall) -> Outcome:
        arguments = opened_arguments(call.arguments_raw)
        started = time.perf_counter()
        if call.name == finish_function().tool_name and self._own_finish:
            ok, text = self._finish(arguments)
        elif not can_be_carried(arguments):
            ok, text = False, "The arguments are not a JSON object of valid Unicode text."
        else:
            ok, text = await called(self.client, call.name, arguments)
            self._note(call.name, arguments, ok=ok)
        return Outcome(ok, text, dotted(call.name), arguments, time.perf_counter() - started)

    async def http_get(self, url: str) -> Outcome:
        raise RuntimeError("the text protocol can't be spoken over MCP")

    async def http_post(self, url: str, body: str) -> Outcome:
        raise RuntimeError("the text protocol can't be spoken over MCP")

    async def effects(self) -> Effects:
        if self.show is None or self.session is None:
            return self.effects_now()
        state = await self.show(self.session)
        if state.get("chart_error"):
            raise ChartError(str(state["chart_error"]))
        if state.get("journal_error"):
            raise JournalFailed(str(state["journal_error"]))
        self._made = [
            CreateCall(str(c["resource_type"]), c["resource"], bool(c["accepted"])) for c in state["captures"]
        ]
        self._answer = state.get("answer")
        return self.effects_now()

    def effects_now(self) -> Effects:
        return Effects(tuple(self._made), self._answer)

    def _finish(self, arguments: Any) -> tuple[bool, str]:
        finish = finish_function()
        decoded = decode(finish, arguments)
        if decoded.faults:
            return False, explain(finish, decoded.faults)
        self._answer = json.dumps(decoded.arguments["answers"])
        self.status = "completed"
        return True, "The answer is recorded."

    def _note(self, name: str, arguments: dict[str, Any], *, ok: bool) -> None:
        function = find_function(name, "medagentbench")
        if function is not None and function.kind == "create":
            self._made.append(CreateCall(function.resource_type, arguments, ok))
        elif name == finish_function().tool_name and ok:
            self.status = "completed"
            self._answer = json.dumps(arguments.get("answers"))


def root_of(url: str) -> str:
    """Where a server of ours has its other paths: the URL up to its `/mcp`.

    UserError for a URL that is no http or https one.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"--mcp {url!r} is no URL", mend="such as http://127.0.0.1:8421/mcp")
    path = parts.path.split("/mcp")[0].rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def reason(error: BaseException) -> str:
    """Why a connection failed, from the innermost of grouped errors; without the URL's secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300]
