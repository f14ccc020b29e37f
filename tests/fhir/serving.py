"""A real HTTP server for the tests: uvicorn on a free port of loopback, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.api import build_fhir_router


def fhir_app(backend: EmbeddedBackend) -> FastAPI:
    """An app with the FHIR face alone."""
    app = FastAPI()
    app.include_router(build_fhir_router(backend), prefix="/fhir")
    return app


@contextmanager
def served(backend: EmbeddedBackend) -> Iterator[str]:
    """Serve a chart; gives the FHIR base URL, which the backend's links then start with."""
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/fhir"
    backend.base_url = base
    config = uvicorn.Config(fhir_app(backend), log_level="error", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield base
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
