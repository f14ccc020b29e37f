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

    def endpoint(self, fixed: str | None = None) -> ASGIApp:
        """The ASGI application of a route: for the session `fixed`, or the one that the path names."""
        return _Endpoint(self, fixed)

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
        async with hosted.manager.run():
            hosted.ready.set()
            await hosted.stop.wait()

    def _ended(self, session: Session) -> None:
        hosted = self._hosted.pop(session.id, None)
        if hosted is not None:
            hosted.stop.set()


class _Endpoint:
    """A route's ASGI application; a class, so that Starlette takes it for one."""

    def __init__(self, gate: McpGate, fixed: str | None) -> None:
        self._gate = gate
        self._fixed = fixed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._fixed if self._fixed is not None else str(scope["path_params"]["session"])
        await self._gate.serve(name, scope, receive, send)


def _error(status: int, message: str) -> ASGIApp:
    """A JSON-RPC error as HTTP answer: clients of every revision show its message."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return JSONResponse(body, status_code=status)


def elsewhere() -> ASGIApp:
    """The answer at `/mcp` where the session must be named."""
    return _error(404, "name a session: /mcp/{session}; POST /sessions makes one")
