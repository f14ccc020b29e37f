"""The product's HTTP application with the conformance suite's fixtures in it; for tests alone.

    python -m tests.conformance.app PORT [--plain]

With `--plain` the fixtures are left out: that is the product as it ships.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from pydantic import BaseModel

from tests.conformance import fixtures
from wardround_server.http import build_app
from wardround_server.mcp import build_mcp_server
from wardround_server.service import open_service
from wardround_server.session import Session
from wardround_server.settings import ServerSettings

_TRIGGERS = {"test_trigger_tool_change": ToolsListChanged, "test_trigger_prompt_change": PromptsListChanged}


def with_fixtures(session: Session) -> Server[str]:
    """The product's server of a session, its handlers wrapped: fixtures by their names, all else ours."""
    server = build_mcp_server(session)
    ours = {method: server.get_request_handler(method) for method in _WRAPPED}

    def wrap(method: str, params_type: type[BaseModel], handler: Callable[..., Any]) -> None:
        entry = ours[method]
        assert entry is not None
        inner = entry.handler

        async def wrapped(ctx: Any, params: Any) -> Any:
            return await handler(ctx, params, inner)

        server.add_request_handler(method, params_type, wrapped)

    for method, (params_type, handler) in _WRAPPED.items():
        wrap(method, params_type, handler)

    async def set_level(ctx: Any, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    listen = server.get_request_handler("subscriptions/listen")
    assert listen is not None
    server.middleware.append(_Triggers(listen.handler._bus))  # type: ignore[attr-defined]
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="fixtures")
    )
    server.get_tool_input_schema = fixtures.tool_schema
    return server


class _Triggers:
    """Publishes a change when the suite calls a trigger; what is listed is the same before and after."""

    def __init__(self, bus: Any) -> None:
        self._bus = bus

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        name = (ctx.params or {}).get("name") if ctx.method == "tools/call" else None
        if name in _TRIGGERS:
            await self._bus.publish(_TRIGGERS[name]())
        return await call_next(ctx)


async def _list_tools(ctx: Any, params: Any, inner: Any) -> types.ListToolsResult:
    listed: types.ListToolsResult = await inner(ctx, params)
    triggers = [
        types.Tool(name=name, description=f"Fixture {name}.", input_schema={"type": "object"})
        for name in _TRIGGERS
    ]
    return types.ListToolsResult(tools=[*listed.tools, *fixtures.listed_tools(), *triggers])


async def _call_tool(ctx: Any, params: types.CallToolRequestParams, inner: Any) -> Any:
    if params.name in _TRIGGERS:
        return fixtures.said("Changed.")
    tool = fixtures.TOOLS.get(params.name)
    return await tool(ctx, params) if tool is not None else await inner(ctx, params)


async def _list_resources(ctx: Any, params: Any, inner: Any) -> types.ListResourcesResult:
    listed: types.ListResourcesResult = await inner(ctx, params)
    return types.ListResourcesResult(resources=[*listed.resources, *fixtures.RESOURCES])


async def _list_templates(ctx: Any, params: Any, inner: Any) -> types.ListResourceTemplatesResult:
    listed: types.ListResourceTemplatesResult = await inner(ctx, params)
    return types.ListResourceTemplatesResult(
        resource_templates=[*listed.resource_templates, fixtures.TEMPLATE]
    )


async def _read_resource(ctx: Any, params: types.ReadResourceRequestParams, inner: Any) -> Any:
    found = fixtures.read_resource(params.uri)
    return found if found is not None else await inner(ctx, params)


async def _subscription(ctx: Any, params: Any, inner: Any) -> Any:
    if str(params.uri).startswith("test://"):
        return types.EmptyResult()
    return await inner(ctx, params)


async def _list_prompts(ctx: Any, params: Any, inner: Any) -> types.ListPromptsResult:
    listed: types.ListPromptsResult = await inner(ctx, params)
    return types.ListPromptsResult(prompts=[*listed.prompts, *fixtures.listed_prompts()])


async def _get_prompt(ctx: Any, params: types.GetPromptRequestParams, inner: Any) -> Any:
    return fixtures.get_prompt(params) if params.name in fixtures.PROMPTS else await inner(ctx, params)


_WRAPPED: dict[str, tuple[type[BaseModel], Callable[..., Any]]] = {
    "tools/list": (types.PaginatedRequestParams, _list_tools),
    "tools/call": (types.CallToolRequestParams, _call_tool),
    "resources/list": (types.PaginatedRequestParams, _list_resources),
    "resources/templates/list": (types.PaginatedRequestParams, _list_templates),
    "resources/read": (types.ReadResourceRequestParams, _read_resource),
    "resources/subscribe": (types.SubscribeRequestParams, _subscription),
    "resources/unsubscribe": (types.UnsubscribeRequestParams, _subscription),
    "prompts/list": (types.PaginatedRequestParams, _list_prompts),
    "prompts/get": (types.GetPromptRequestParams, _get_prompt),
}


async def serve(port: int, *, plain: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="wardround-conformance-") as folder:
        settings = ServerSettings(port=port, journal=Path(folder))
        async with await open_service(settings) as service:
            app = build_app(service, build=build_mcp_server if plain else with_fixtures)
            config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
            await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), plain="--plain" in sys.argv))
