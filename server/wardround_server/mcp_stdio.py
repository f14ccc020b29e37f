"""MCP over stdio: one session, for the client that started the process."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from .logs import set_up_logs
from .mcp import build_mcp_server
from .service import open_service
from .settings import ServerSettings


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
            await server.run(read, write, server.create_initialization_options())
