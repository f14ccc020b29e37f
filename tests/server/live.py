"""A real uvicorn server on a loopback port, in this event loop, for tests over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp

from wardround_server.http_serve import bind


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
