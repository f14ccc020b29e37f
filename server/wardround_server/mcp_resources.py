"""What a client may read beside the tools: the session's captures and calls, and what the chart is.

Each can be subscribed to: by `resources/subscribe` up to 2025-11-25, by `subscriptions/listen` from
2026-07-28 on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

from . import plainjson
from .codes import CodeList
from .session import Session

CAPTURES = "wardround://session/captures"
CALLS = "wardround://session/calls"
CAPABILITIES = "wardround://chart/capabilities"
CODES = "wardround://chart/codes"
CAPTURE_TEMPLATE = "wardround://session/captures/{seq}"
CODE_TEMPLATE = "wardround://chart/codes/{code}"

MAX_SUBSCRIBERS = 256

Context = ServerRequestContext[Any, Any]

_RESOURCES = (
    types.Resource(
        uri=CAPTURES,
        name="captures",
        title="Captured orders",
        description="Every create call of this session with its canonical FHIR form, refused ones included.",
        mime_type="application/json",
    ),
    types.Resource(
        uri=CALLS,
        name="calls",
        title="Calls",
        description="Every call of this session: function, arguments, outcome, size, seconds.",
        mime_type="application/json",
    ),
    types.Resource(
        uri=CAPABILITIES,
        name="capabilities",
        title="Capability statement",
        description="The FHIR capability statement of the chart.",
        mime_type="application/fhir+json",
    ),
    types.Resource(
        uri=CODES,
        name="codes",
        title="Codes in the chart",
        description="Laboratory and vital-sign codes that the chart holds, with how many results each has.",
        mime_type="application/json",
    ),
)

_TEMPLATES = (
    types.ResourceTemplate(
        uri_template=CAPTURE_TEMPLATE,
        name="capture",
        title="One captured order",
        description="The capture with this number.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template=CODE_TEMPLATE,
        name="code",
        title="One code of the chart",
        description="What the chart calls this code and how many results it has.",
        mime_type="application/json",
    ),
)


class _Bus(InMemorySubscriptionBus):
    """The SDK's bus, which can say whether anyone listens."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener; what comes back removes it, once."""
        stop = super().subscribe(listener)
        self.listeners += 1
        left = False

        def leave() -> None:
            nonlocal left
            stop()
            if not left:
                left = True
                self.listeners -= 1

        return leave


class Resources:
    """The resources of one session, and who is told when they change."""

    def __init__(self, session: Session, codes: CodeList) -> None:
        self.bus = _Bus()
        self._session = session
        self._codes = codes
        self._subscribers: dict[tuple[str, str], ServerSession] = {}
        self._changed: set[str] = set()
        self._delivery: asyncio.Task[None] | None = None

    async def listed(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """`resources/list`."""
        return types.ListResourcesResult(resources=[*_RESOURCES])

    async def templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """`resources/templates/list`."""
        return types.ListResourceTemplatesResult(resource_templates=[*_TEMPLATES])

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """`resources/read`. An unknown resource is a protocol error that names it."""
        value = await self._value(params.uri)
        kind = "application/fhir+json" if params.uri == CAPABILITIES else "application/json"
        text = plainjson.dumps(value).decode()
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)]
        )

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """`resources/subscribe`, up to 2025-11-25."""
        uri = str(params.uri)
        self._known(uri)
        who = (connection_of(ctx) or "", uri)
        if who not in self._subscribers and len(self._subscribers) >= MAX_SUBSCRIBERS:
            # The oldest goes: most often a client that has left without saying so.
            self._subscribers.pop(next(iter(self._subscribers)))
        self._subscribers[who] = ctx.session
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """`resources/unsubscribe`."""
        self._subscribers.pop((connection_of(ctx) or "", str(params.uri)), None)
        return types.EmptyResult()

    def touched(self, what: str) -> None:
        """Tell the subscribers, soon, that the session's "calls" or "captures" changed.

        Changes that come together are told once.
        """
        if not self._subscribers and not self.bus.listeners:
            return
        self._changed.add(CALLS if what == "calls" else CAPTURES)
        if what == "captures" and self._session.captures:
            self._changed.add(f"{CAPTURES}/{self._session.captures[-1].seq}")
        if self._delivery is None or self._delivery.done():
            self._delivery = asyncio.get_running_loop().create_task(self._deliver())

    async def _deliver(self) -> None:
        while self._changed:
            changed, self._changed = self._changed, set()
            for uri in sorted(changed):
                await self.bus.publish(ResourceUpdated(uri=uri))
                await self._tell(uri)

    async def _tell(self, uri: str) -> None:
        for who, session in list(self._subscribers.items()):
            if who[1] != uri:
                continue
            try:
                await session.send_resource_updated(uri)
            except (MCPError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._subscribers.pop(who, None)

    def _known(self, uri: str) -> None:
        if uri in {CAPTURES, CALLS, CAPABILITIES, CODES}:
            return
        if uri.startswith((f"{CAPTURES}/", f"{CODES}/")):
            return
        raise _unknown(uri)

    async def _value(self, uri: str) -> Any:
        readers: dict[str, Callable[[], Awaitable[Any]]] = {
            CAPTURES: self._captures,
            CALLS: self._calls,
            CAPABILITIES: self._session.backend.capabilities,
            CODES: self._codes.to_json,
        }
        reader = readers.get(uri)
        if reader is not None:
            return await reader()
        if uri.startswith(f"{CAPTURES}/"):
            number = uri.removeprefix(f"{CAPTURES}/")
            for capture in self._session.captures:
                if str(capture.seq) == number:
                    return capture.to_json()
        if uri.startswith(f"{CODES}/"):
            entry = await self._codes.find(uri.removeprefix(f"{CODES}/"))
            if entry is not None:
                return entry
        raise _unknown(uri)

    async def _captures(self) -> Any:
        return [capture.to_json() for capture in self._session.captures]

    async def _calls(self) -> Any:
        return self._session.to_json()["calls"]


def connection_of(ctx: Context) -> str | None:
    """What tells one client connection from another; None where the protocol has no connection.

    Over HTTP that is the protocol session that the client holds, up to 2025-11-25; each request
    stands alone from 2026-07-28 on. Elsewhere it is the stream, for which a token was drawn.
    """
    if ctx.request is not None:
        header = ctx.request.headers.get("mcp-session-id")
        return f"http:{header}" if header else None
    return f"stream:{ctx.lifespan_context}"


def _unknown(uri: str) -> MCPError:
    return MCPError(
        code=types.INVALID_PARAMS, message=f"Unknown resource: {uri[:200]}", data={"uri": uri[:200]}
    )
