"""The server of this process as a house: a session per attempt, reached by a real MCP client."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from wardround_schemas.errors import ChartError
from wardround_schemas.function import find_function
from wardround_tasks.attempt import CreateCall

from .agents.base import Tool, ToolCall
from .doors import DoorStatus, Effects, Outcome
from .loop import CallLog

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

    from wardround_server.call import CallResult
    from wardround_server.service import Service
    from wardround_server.session import Session


CALL_FAULTS: Final = frozenset({-32600, -32601, -32602})
"""JSON-RPC codes that say that the call was at fault: invalid request, no such method, invalid parameters."""


class JournalFailed(Exception):
    """A write could not be recorded: a fault of ours, not of the agent."""


def dotted(name: str) -> str:
    """The dotted name of one of the nine functions, any other name as it is."""
    function = find_function(name, "medagentbench")
    return function.name if function is not None else name


def opened_arguments(raw: str | dict[str, Any]) -> Any:
    """A call's arguments as an object where they are one; else the text as the model sent it.

    No arguments at all (an empty text) is an empty object.
    """
    if isinstance(raw, dict):
        return raw
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return value if isinstance(value, dict) else raw


def can_be_carried(arguments: Any) -> bool:
    """Whether MCP can carry the arguments: an object, without what JSON in UTF-8 has no room for."""
    if not isinstance(arguments, dict):
        return False
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError, ValueError, TypeError):
        return False
    return True


def result_text(result: CallToolResult) -> str:
    """All text of a tool's result; parts that are not text are named."""
    parts = [part.text if part.type == "text" else f"({part.type} content)" for part in result.content]
    return "\n".join(parts)


async def listed_tools(client: Client) -> tuple[Tool, ...]:
    """The server's tools, all pages."""
    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found.extend(Tool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools)
        cursor = page.next_cursor
        if not cursor:
            return tuple(found)


async def called(client: Client, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Call a tool: whether it succeeded, and the text for the model.

    A protocol error that names a fault of the call (no such tool, bad parameters) is one for the
    model to read. ChartError when the server did not answer.
    """
    from mcp import MCPError

    try:
        result = await client.call_tool(name, arguments)
    except MCPError as error:
        if error.code in CALL_FAULTS:
            return False, f"The call was refused: {error}"
        raise ChartError(f"the MCP server failed: {error}", retryable=True) from error
    return not result.is_error, result_text(result)


class LocalDoor:
    """A session of this process. Native calls go through the MCP client, text actions to the session."""

    def __init__(self, session: Session, client: Client | None) -> None:
        self._session = session
        self._client = client

    @property
    def id(self) -> str:
        """The session's name, which its MCP URL ends with."""
        return self._session.id

    @property
    def status(self) -> DoorStatus:
        return self._session.status

    @property
    def budget(self) -> int | None:
        """Calls that the session allows, None where it does not count them."""
        return self._session.budget

    @property
    def rounds_used(self) -> int:
        """Calls that the session has counted."""
        return self._session.rounds_used

    def call_logs(self) -> list[CallLog]:
        """The session's own record of the calls, which an agent made without the loop."""
        return [
            CallLog(record.function, record.arguments, record.ok, None, record.seconds, record.result_bytes)
            for record in self._session.calls
        ]

    async def tools(self) -> tuple[Tool, ...]:
        return await listed_tools(self._connected())

    async def call(self, call: ToolCall) -> Outcome:
        arguments = opened_arguments(call.arguments_raw)
        started = time.perf_counter()
        if can_be_carried(arguments):
            ok, text = await called(self._connected(), call.name, arguments)
        else:
            # What MCP can't carry the session refuses by the same rules, records and counts.
            refused = await self._session.call(call.name, arguments)
            ok, text = refused.ok, refused.text
        self.check()
        return Outcome(ok, text, dotted(call.name), arguments, time.perf_counter() - started)

    async def http_get(self, url: str) -> Outcome:
        return await self._text("GET", {"url": url}, self._session.http_get(url))

    async def http_post(self, url: str, body: str) -> Outcome:
        return await self._text("POST", {"url": url, "body": body}, self._session.http_post(url, body))

    async def effects(self) -> Effects:
        self.check()
        return self.effects_now()

    def effects_now(self) -> Effects:
        """What has been written and answered so far, for an attempt that was cut short too."""
        calls = tuple(CreateCall(c.resource_type, c.resource, c.accepted) for c in self._session.captures)
        return Effects(calls, self._session.answer)

    async def _text(self, kind: str, arguments: dict[str, str], action: Awaitable[CallResult]) -> Outcome:
        started = time.perf_counter()
        result = await action
        self.check()
        return Outcome(result.ok, result.text, kind, arguments, time.perf_counter() - started)

    def _connected(self) -> Client:
        if self._client is None:
            raise RuntimeError("this door was opened without an MCP client")
        return self._client

    def check(self) -> None:
        """Raise ChartError or JournalFailed where the session met one: neither is the agent's doing."""
        if self._session.chart_error is not None:
            raise ChartError(self._session.chart_error)
        if self._session.journal_error is not None:
            raise JournalFailed(self._session.journal_error)


class LocalHouse:
    """A `Service` of this process."""

    def __init__(self, service: Service) -> None:
        self.service = service

    @property
    def fhir_base(self) -> str:
        return self.service.backend.base_url

    @asynccontextmanager
    async def door(
        self, *, budget: int | None, finish: bool, native: bool = True
    ) -> AsyncIterator[LocalDoor]:
        """A session of its own, closed with the door. Without `native` no MCP client is made."""
        session = self.service.sessions.create(
            budget=budget, writes="capture", finish=finish, voice="evaluation"
        )
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(self._client(session)) if native else None
                yield LocalDoor(session, client)
        finally:
            self.service.sessions.close(session.id)

    @staticmethod
    def _client(session: Session) -> Client:
        from mcp import Client

        from wardround_server.mcp import build_mcp_server

        # One connection, one attempt: nothing is worth caching, and a cached list could be stale.
        return Client(build_mcp_server(session), cache=None)
