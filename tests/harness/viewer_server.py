"""A viewer that really listens, for tests that need one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from wardround_harness.viewer.api import build_viewer_app
from wardround_harness.viewer.serve import listen


@contextmanager
def running_viewer(folder: Path) -> Iterator[int]:
    """Serve a folder of runs on a free loopback port while the block runs; gives the port."""
    sock = listen(0)
    config = uvicorn.Config(build_viewer_app(folder), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        # The socket listens already: a request waits until the server takes it.
        yield sock.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        sock.close()
