"""Serving the viewer on loopback until interrupted."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from wardround_schemas.errors import UserError

HOST: Final = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free one. UserError where the port is taken."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen(128)
    except (OSError, OverflowError) as error:
        sock.close()
        raise UserError(f"port {port} can't be used: {error}", mend="choose another with --port") from error
    return sock


def serve(folder: Path, *, port: int, open_browser: bool = False) -> int:
    """Serve the viewer over a folder; returns 0 once it is stopped."""
    import uvicorn

    from .api import build_viewer_app

    app = build_viewer_app(folder)
    runs = app.state.index.runs()
    sock = listen(port)
    url = f"http://{HOST}:{sock.getsockname()[1]}/"
    print(f"{len(runs)} runs in {folder}: {url} (Ctrl+C stops)", flush=True)
    if open_browser:
        import webbrowser

        webbrowser.open(url)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off"))
    try:
        server.run(sockets=[sock])
    except KeyboardInterrupt:
        return 0
    return 0
