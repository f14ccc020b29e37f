"""The HTTP face: MCP, the chart, control and health in one FastAPI application.

`build_app` is a server for people and programs; `build_agent_app` is what a run puts before its
agents: their sessions, and nothing that could make a new one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

import anyio
from fastapi import Depends, FastAPI, Response
from fastapi.responses import JSONResponse
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp

from wardround_schemas.errors import ChartError, UserError

from .http_control import TokenGuard, build_control_router
from .http_guard import Guard, HostPolicy
from .http_mcp import Build, McpGate, McpPaths
from .mcp import build_mcp_server
from .service import Service
from .sessions import DEFAULT_NAME
from .telemetry import Metrics

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

_SWEEP_SECONDS = 30.0
_READY_SECONDS = 5.0

# FastAPI's own spans and log records carry paths, queries and bodies: the names of patients. The MCP
# SDK's spans do not, and those are kept.
_NO_SPANS: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}

_ABOUT = (
    "A FHIR R4 chart as MCP tools; every write is captured. MCP over streamable HTTP is at `/mcp` "
    "(on loopback) and `/mcp/{session}`. For research and development; not a medical device."
)


def build_app(service: Service, *, build: Build = build_mcp_server) -> ASGIApp:
    """The whole HTTP face of a service. Raises UserError off loopback without a control token.

    `build` makes the MCP server of a session.
    """
    settings = service.settings
    if not settings.on_loopback and settings.token is None:
        raise UserError(
            f"--host {settings.host} is reachable from other machines, and there is no control token",
            mend="set WARDROUND_TOKEN or --token-file, or bind 127.0.0.1",
        )
    lookup = service.sessions.get_or_create if settings.on_loopback else service.sessions.get
    gate = McpGate(service.sessions, lookup, max_body_bytes=settings.max_body_bytes, build=build)
    metrics = Metrics(service.sessions)
    guard = TokenGuard(settings.token)
    app = FastAPI(
        title="wardround",
        version=version("wardround"),
        description=_ABOUT,
        lifespan=lambda _: _lifespan(service, gate),
        redoc_url=None,
        telemetry=_NO_SPANS,
    )
    app.include_router(build_control_router(service, guard))
    _add_health(app, service, metrics, guard)
    _add_chart(app, service, guard)
    home = DEFAULT_NAME if settings.on_loopback else None
    limited = RequestBodyLimitMiddleware(app, settings.max_body_bytes)
    return Guard(McpPaths(gate, home, limited), HostPolicy.of(settings), metrics.request)


def build_agent_app(service: Service, *, build: Build = build_mcp_server) -> ASGIApp:
    """The listener of a run's agents: the sessions that the run made, each at `/mcp/{session}`."""
    sessions, limit = service.sessions, service.settings.max_body_bytes
    gate = McpGate(sessions, sessions.get, max_body_bytes=limit, build=build)
    app = FastAPI(
        docs_url=None, redoc_url=None, openapi_url=None, lifespan=lambda _: gate.run(), telemetry=_NO_SPANS
    )
    rest = RequestBodyLimitMiddleware(app, limit)
    return Guard(McpPaths(gate, None, rest), HostPolicy.of(service.settings))


@asynccontextmanager
async def _lifespan(service: Service, gate: McpGate) -> AsyncIterator[None]:
    async with gate.run(), anyio.create_task_group() as tasks:
        tasks.start_soon(_sweep, service)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()


async def _sweep(service: Service) -> None:
    """End idle sessions, whether or not anyone asks for them again."""
    while True:
        await anyio.sleep(_SWEEP_SECONDS)
        service.sessions.expire()


def _add_health(app: FastAPI, service: Service, metrics: Metrics, guard: TokenGuard) -> None:
    ready = _Readiness(service)

    @app.get("/healthz", tags=["health"], summary="Whether the process is alive")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["health"], summary="Whether the chart can be read and the journal written")
    async def readyz() -> JSONResponse:
        faults = await ready.faults()
        body = {
            "status": "unready" if faults else "ready",
            "faults": faults,
            "writes": service.settings.writes,
            "synthetic": service.backend.synthetic,
        }
        return JSONResponse(body, status_code=503 if faults else 200)

    @app.get("/metrics", tags=["health"], summary="Counters for Prometheus", dependencies=[Depends(guard)])
    async def prometheus() -> Response:
        return Response(metrics.exposition(), media_type=metrics.content_type)


class _Readiness:
    """Looks at chart and journal, at most once in a while however often it is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._looked: float | None = None
        self._faults: list[str] = []

    async def faults(self) -> list[str]:
        """What keeps the service from working; [] when nothing does."""
        now = time.monotonic()
        if self._looked is None or now - self._looked > _READY_SECONDS:
            self._faults = await self._look()
            self._looked = now
        return self._faults

    async def _look(self) -> list[str]:
        found: list[str] = []
        try:
            with anyio.fail_after(_READY_SECONDS):
                await self._service.backend.search("Patient", [("_count", "1")])
        except (ChartError, TimeoutError):
            found.append("the chart can't be read")
        if not self._service.journal.is_writable():
            found.append("the journal can't be written")
        return found


def _add_chart(app: FastAPI, service: Service, guard: TokenGuard) -> None:
    """Serve the embedded chart; a remote server has its own address."""
    from .backends.embedded import EmbeddedBackend

    if isinstance(service.backend, EmbeddedBackend):
        from .chart.api import build_fhir_router

        router = build_fhir_router(service.backend)
        app.include_router(router, prefix="/fhir", dependencies=[Depends(guard)])
