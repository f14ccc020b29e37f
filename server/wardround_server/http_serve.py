"""Running the HTTP face: bind first, open the chart, serve until a signal, close in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace

import uvicorn

from wardround_schemas.errors import UserError

from .http import build_app
from .logs import FIELDS, set_up_logs
from .service import open_service
from .settings import ServerSettings

logger = logging.getLogger(__name__)

_GRACE_SECONDS = 5
_BACKLOG = 2048


def serve_http(settings: ServerSettings) -> int:
    """Serve until SIGINT or SIGTERM; returns 0. Raises UserError for what keeps it from starting."""
    set_up_logs(details=settings.log_details)
    if not settings.on_loopback and settings.token is None:
        raise UserError(
            f"--host {settings.host} is reachable from other machines, and there is no control token",
            mend="set WARDROUND_TOKEN or --token-file, or bind 127.0.0.1",
        )
    listener = bind(settings.host, settings.port)
    try:
        return asyncio.run(_serve(settings, listener))
    finally:
        listener.close()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises UserError, in one line, for a busy port or an address that is not ours."""
    if not 0 <= port <= 65535:
        raise UserError(f"--port {port} is no port", mend="give 0 to 65535; 0 is any free one")
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise UserError(f"--host {host} --port {port}: no such address", mend="use 127.0.0.1") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            mend = "stop the program that has it, or use --port 0 for a free one"
            raise UserError(f"port {port} on {host} is in use", mend=mend) from error
        raise UserError(
            f"can't listen on {host} port {port}: {error.strerror}", mend="try --port 0"
        ) from error
    return listener


async def _serve(settings: ServerSettings, listener: socket.socket) -> int:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    base = f"http://{shown}:{port}"
    settings = replace(settings, port=port)
    async with await open_service(settings, base_url=f"{base}/fhir") as service:
        app = build_app(service)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        server = uvicorn.Server(config)
        with _signals(server):
            _say_where(base, settings)
            # uvicorn's own handlers raise the signal again once it has stopped, past our closing.
            server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
            await server.serve(sockets=[listener])
    return 0


def _say_where(base: str, settings: ServerSettings) -> None:
    fields = {
        "mcp": f"{base}/mcp" if settings.on_loopback else f"{base}/mcp/{{session}}",
        "docs": f"{base}/docs",
        "writes": settings.writes,
        "journal": str(settings.journal),
    }
    logger.info("serving", extra={FIELDS: fields})


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    """End the server at the first SIGINT or SIGTERM, at once at the second."""

    def stop(*_: object) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
