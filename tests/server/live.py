"""A real uvicorn server on a loopback port, in this event loop, for tests over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import uvicorn
from starlette.types import ASGIApp

from tests.server.fakes import make_service
from wardround_server.http import build_app
from wardround_server.http_serve import bind
from wardround_server.service import Service


class _Server(uvicorn.Server):
    """A server that says when it listens and leaves signals alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = anyio.Event()

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()


@asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application; gives its base URL without a slash at the end."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
    config.timeout_graceful_shutdown = 1
    server = _Server(config)
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        async with anyio.create_task_group() as tasks:

            async def serve() -> None:
                with anyio.CancelScope(shield=True):
                    await server.serve(sockets=[listener])

            tasks.start_soon(serve)
            try:
                with anyio.fail_after(20):
                    await server.listening.wait()
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True


@asynccontextmanager
async def served(folder: Path, **settings: Any) -> AsyncIterator[tuple[Service, str, httpx.AsyncClient]]:
    chart = settings.pop("chart", None)
    async with (
        make_service(folder, chart, **settings) as service,
        running(build_app(service)) as base,
        httpx.AsyncClient(base_url=base) as http,
    ):
        yield service, base, http


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}
