"""MCP over streamable HTTP, bound to sessions by their path.

Each session has a protocol manager of its own, started by its first request and ended with it: a
protocol session that one of our sessions knows is unknown to every other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .mcp import build_mcp_server
from .session import Session
from .sessions import SessionStore, TooManySessionsError

_PROTOCOL_SESSIONS = 256
_PROTOCOL_IDLE_SECONDS = 1800.0

Lookup = Callable[[str], Session | None]
Build = Callable[[Session], Server[Any]]


@dataclass(slots=True)
class _Hosted:
    """The protocol manager of one session, and what starts and ends it."""

    session: Session
    manager: StreamableHTTPSessionManager
    ready: anyio.Event = field(default_factory=anyio.Event)
    stop: anyio.Event = field(default_factory=anyio.Event)


class McpGate:
    """Serves `/mcp/{session}`: finds the session of a request and hands it to its manager."""

    def __init__(
        self,
        sessions: SessionStore,
        lookup: Lookup,
        *,
        max_body_bytes: int,
        build: Build = build_mcp_server,
    ) -> None:
        self._lookup = lookup
        self._max_body_bytes = max_body_bytes
        self._build = build
        self._hosted: dict[str, _Hosted] = {}
        self._tasks: anyio.abc.TaskGroup | None = None
        sessions.on_close(self._ended)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Host managers while the application lives."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def serve(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to the session of this name."""
        try:
            session = self._lookup(name)
        except TooManySessionsError:
            await _error(503, "too many sessions are open; try again later")(scope, receive, send)
            return
        if session is None:
            await _error(404, "there is no such session")(scope, receive, send)
            return
        hosted = await self._host(session)
        await hosted.manager.handle_request(scope, receive, send)

    async def _host(self, session: Session) -> _Hosted:
        hosted = self._hosted.get(session.id)
        if hosted is None or hosted.session is not session:
            if self._tasks is None:
                raise RuntimeError("the MCP gate is not running")
            manager = StreamableHTTPSessionManager(
                app=self._build(session),
                max_request_body_size=self._max_body_bytes,
                session_idle_timeout=_PROTOCOL_IDLE_SECONDS,
                max_sessions=_PROTOCOL_SESSIONS,
            )
            hosted = self._hosted[session.id] = _Hosted(session, manager)
            self._tasks.start_soon(self._keep, hosted)
        await hosted.ready.wait()
        return hosted

    async def _keep(self, hosted: _Hosted) -> None:
        try:
            async with hosted.manager.run():
                hosted.ready.set()
                await hosted.stop.wait()
        finally:
            # A manager that could not start must not keep its callers waiting: they get its error.
            hosted.ready.set()

    def _ended(self, session: Session) -> None:
        hosted = self._hosted.pop(session.id, None)
        if hosted is not None:
            hosted.stop.set()


class McpPaths:
    """Sends `/mcp` and `/mcp/{session}` to the gate and every other path to the rest of the application.

    MCP requests are the many small ones: they go past the router of the rest and its middleware.
    `home` is the session that `/mcp` stands for, None where a session must be named.
    """

    def __init__(self, gate: McpGate, home: str | None, rest: ASGIApp) -> None:
        self._gate = gate
        self._home = home
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        path: str = scope.get("path", "") if scope["type"] == "http" else ""
        if path in ("/mcp", "/mcp/"):
            if self._home is None:
                await _error(404, "name a session: /mcp/{session}")(scope, receive, send)
            else:
                await self._gate.serve(self._home, scope, receive, send)
        elif path.startswith("/mcp/"):
            await self._gate.serve(path.removeprefix("/mcp/"), scope, receive, send)
        else:
            await self._rest(scope, receive, send)


def _error(status: int, message: str) -> ASGIApp:
    """A JSON-RPC error as HTTP answer: clients of every revision show its message."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return JSONResponse(body, status_code=status)
