"""A real HTTP/2 server on loopback, over TLS with ALPN, that can be told to turn requests away."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived, StreamEnded


@dataclass
class Http2Server:
    """Answers with `body`, after ending the first `goaways` connections and refusing `refusals` streams."""

    body: bytes
    refusals: int = 0
    goaways: int = 0
    port: int = 0
    connections: int = 0
    paths: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return f"https://127.0.0.1:{self.port}/fhir"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        line = H2Connection(H2Configuration(client_side=False))
        line.initiate_connection()
        writer.write(line.data_to_send())
        with contextlib.suppress(ConnectionError):
            stays = True
            while stays and (data := await reader.read(65536)):
                for event in line.receive_data(data):
                    if isinstance(event, RequestReceived):
                        names = {bytes(name): bytes(value) for name, value in event.headers}
                        self.paths.append(names[b":path"].decode())
                    elif isinstance(event, StreamEnded):
                        stays = self._answer(line, event.stream_id)
                writer.write(line.data_to_send())
                await writer.drain()
        writer.close()

    def _answer(self, line: H2Connection, stream: int) -> bool:
        """Answer one request; gives whether the connection stays."""
        if self.goaways:
            self.goaways -= 1
            line.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            return False
        if self.refusals:
            self.refusals -= 1
            line.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
        else:
            line.send_headers(stream, [(":status", "200"), ("content-type", "application/fhir+json")])
            line.send_data(stream, self.body, end_stream=True)
        return True


@contextlib.asynccontextmanager
async def http2(server: Http2Server, tls: ssl.SSLContext) -> AsyncIterator[Http2Server]:
    """Serve for one test, on a free port of this machine."""
    tls.set_alpn_protocols(["h2"])
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await listener.wait_closed()
