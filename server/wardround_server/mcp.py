"""A session as an MCP server: tools, resources, prompts, completion, for clients of every revision.

The text of a result is all that a tool returns. Output schemas are not advertised over MCP: a tool
that has one must send its result a second time as structured content, and a searchset of 100 kB
would cross the wire, and enter many clients' contexts, twice. They are part of the exports.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ListenHandler

from wardround_schemas.function import Function

from . import plainjson
from .asking import AskLater
from .codes import CodeList
from .mcp_asking import Asker
from .mcp_prompts import OWN_PROMPTS, Prompts, PromptSpec
from .mcp_resources import Resources, connection_of
from .session import Session
from .voice import mode_note

IDEMPOTENCY_KEY = "wardround/idempotency-key"
CAPTURE_SEQ = "wardround/capture-seq"
NEXT_PAGE = "wardround/next"
_STATIC = CacheHint(ttl_ms=600_000, scope="private")
_NOTHING: Any = object()

Context = ServerRequestContext[Any, Any]

_odd_arguments: ContextVar[Any] = ContextVar("odd_arguments", default=_NOTHING)


def build_mcp_server(session: Session, *, prompts: Sequence[PromptSpec] = ()) -> Server[str]:
    """The MCP server of one session; `prompts` are offered beside our own.

    Under evaluation an agent gets the tools and the given prompts alone: resources would show it
    the chart outside its budget.
    """
    face = _Face(session, prompts)
    evaluated = session.voice == "evaluation"
    server: Server[str] = Server(
        "wardround",
        version=version("wardround"),
        title="wardround",
        description="A FHIR chart as nine tools; every write is captured.",
        instructions=_instructions(session),
        lifespan=_stream_token,
        cache_hints={
            "tools/list": _STATIC,
            "prompts/list": _STATIC,
            "resources/list": _STATIC,
            "resources/templates/list": _STATIC,
        },
        # No tool takes arguments from headers, so there is nothing to check them against.
        get_tool_input_schema=lambda name: None,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_resources=None if evaluated else face.resources.listed,
        on_list_resource_templates=None if evaluated else face.resources.templates,
        on_read_resource=None if evaluated else face.resources.read,
        on_subscribe_resource=None if evaluated else face.resources.subscribe,
        on_unsubscribe_resource=None if evaluated else face.resources.unsubscribe,
        on_subscriptions_listen=None if evaluated else ListenHandler(face.resources.bus),
        on_list_prompts=face.prompts.listed if prompts or not evaluated else None,
        on_get_prompt=face.prompts.get if prompts or not evaluated else None,
        on_completion=None if evaluated else face.prompts.complete,
    )
    server.middleware.append(_keep_odd_arguments)
    if session.writes == "confirm":
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

        security = RequestStateSecurity.ephemeral(ttl=3600.0)
        server.middleware.append(RequestStateBoundary(security, default_audience=f"wardround/{session.id}"))
    return server


@asynccontextmanager
async def _stream_token(server: Server[str]) -> AsyncIterator[str]:
    """A token for each stream that is served: it tells the requests of one connection from another's."""
    yield secrets.token_hex(8)


class _Face:
    """The handlers of one session's MCP server."""

    def __init__(self, session: Session, prompts: Sequence[PromptSpec]) -> None:
        self._session = session
        codes = CodeList(session.backend)
        specs = (*prompts, *(OWN_PROMPTS if session.voice != "evaluation" else ()))
        self.resources = Resources(session, codes)
        self.prompts = Prompts(session, codes, specs)
        session.watch(self.resources.touched)
        self._asker = Asker()
        self._creates = {n for f in session.functions() if f.kind == "create" for n in (f.name, f.tool_name)}
        self._tools = types.ListToolsResult(tools=[_tool(session, f) for f in session.functions()])

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """`tools/list`."""
        return self._tools

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """`tools/call`: whatever is wrong with a call is said in a result, never as a protocol error."""
        odd = _odd_arguments.get()
        arguments: Any = params.arguments if odd is _NOTHING else odd
        ask = self._asker.ask_for(ctx, params) if self._session.writes == "confirm" else None
        key = self._key(ctx, params, arguments) if params.name in self._creates else None
        try:
            result = await self._session.call(params.name, arguments, key=key, ask=ask)
        except AskLater as later:
            return self._asker.question_result(later)
        meta: dict[str, Any] = {}
        if result.capture_seq is not None:
            meta[CAPTURE_SEQ] = result.capture_seq
        if result.next is not None:
            meta[NEXT_PAGE] = result.next
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            is_error=not result.ok,
            _meta=meta or None,
        )

    def _key(self, ctx: Context, params: types.CallToolRequestParams, arguments: Any) -> str | None:
        """What makes a repeated call the same call: the client's key, or the same request on a connection."""
        given = (ctx.meta or {}).get(IDEMPOTENCY_KEY)
        if isinstance(given, str) and given:
            return f"client:{given}"
        reply = self._asker.reply_key(params) if self._session.writes == "confirm" else None
        if reply is not None:
            return reply
        connection = connection_of(ctx)
        if connection is None or ctx.request_id is None:
            return None
        content = plainjson.dumps([params.name, plainjson.storable(arguments)])
        digest = hashlib.sha256(content).hexdigest()
        return f"request:{connection}:{type(ctx.request_id).__name__}:{ctx.request_id}:{digest}"


async def _keep_odd_arguments(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let arguments that are no object reach the tool, whose answer names the fault.

    The SDK would refuse them with a protocol error, which many clients end the conversation on.
    """
    if ctx.method != "tools/call" or ctx.params is None:
        return await call_next(ctx)
    arguments = ctx.params.get("arguments")
    if arguments is None or isinstance(arguments, dict):
        return await call_next(ctx)
    token = _odd_arguments.set(arguments)
    try:
        return await call_next(replace(ctx, params={**ctx.params, "arguments": {}}))
    finally:
        _odd_arguments.reset(token)


def _tool(session: Session, function: Function) -> types.Tool:
    hints = function.annotations
    return types.Tool(
        name=session.tool_name(function),
        title=function.title,
        description=function.description,
        input_schema=function.input_schema,
        annotations=types.ToolAnnotations(
            title=function.title,
            read_only_hint=hints.get("readOnlyHint"),
            destructive_hint=hints.get("destructiveHint"),
            idempotent_hint=hints.get("idempotentHint"),
            open_world_hint=hints.get("openWorldHint"),
        ),
    )


def _instructions(session: Session) -> str:
    if session.voice == "evaluation":
        return "A patient chart as FHIR search and create tools. Searches return FHIR Bundles."
    chart = "a synthetic chart" if session.backend.synthetic else "a FHIR chart"
    return (
        f"Tools over {chart}: six searches and three orders. Searches return FHIR Bundles, a page at a time. "
        f"{mode_note(session.writes)} For research and development; not a medical device."
    )
