"""MCP over stdio: one session, for the client that started the process."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from .logs import set_up_logs
from .mcp import build_mcp_server
from .service import open_service
from .settings import ServerSettings

_LAST_ANSWERS_SECONDS = 10.0
_ENDLESS = frozenset({"subscriptions/listen"})


def serve_stdio(settings: ServerSettings) -> int:
    """Serve until the client closes standard input. Nothing but protocol goes to standard output."""
    set_up_logs(details=settings.log_details)
    anyio.run(_serve, settings)
    return 0


async def _serve(settings: ServerSettings) -> None:
    async with await open_service(settings) as service:
        session = service.sessions.create()
        server = build_mcp_server(session)
        async with stdio_server() as (read, write):
            owed = _Owed()
            options = server.create_initialization_options()
            await server.run(_Reader(read, owed), _Writer(write, owed), options)


class _Owed:
    """Which requests have not been answered yet.

    The SDK drops what is under way when its input ends. A program that writes its requests and
    closes the pipe would lose the answer to a write that was captured, so the end is held back
    until the last answer is out.
    """

    def __init__(self) -> None:
        self._open: set[RequestId] = set()
        self._none = anyio.Event()
        self._ended = False

    def asked(self, item: SessionMessage | Exception) -> None:
        """Note a message that came in."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest) and message.method not in _ENDLESS:
            self._open.add(message.id)

    def answered(self, item: SessionMessage) -> None:
        """Note a message that went out."""
        if isinstance(item.message, JSONRPCResponse | JSONRPCError) and item.message.id is not None:
            self._open.discard(item.message.id)
            if self._ended and not self._open:
                self._none.set()

    async def settled(self) -> None:
        """Return when every request is answered, or after a while."""
        self._ended = True
        if self._open:
            with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
                await self._none.wait()


class _Reader:
    """The input, whose end comes once all that it asked for is answered."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], owed: _Owed) -> None:
        self._inner = inner
        self._owed = owed

    async def receive(self) -> SessionMessage | Exception:
        """The next message; EndOfStream once the input has ended and nothing is owed."""
        try:
            item = await self._inner.receive()
        except anyio.EndOfStream:
            await self._owed.settled()
            raise
        self._owed.asked(item)
        return item

    async def aclose(self) -> None:
        """Close the input."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Writer:
    """The output, which notes what has been answered."""

    def __init__(self, inner: WriteStream[SessionMessage], owed: _Owed) -> None:
        self._inner = inner
        self._owed = owed

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message."""
        await self._inner.send(item)
        self._owed.answered(item)

    async def aclose(self) -> None:
        """Close the output."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
