"""A real HTTP/1.1 server on loopback whose every answer a test writes, down to the broken ones."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    certificate: str | None = None

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def params(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer. `raw` is written as it is; `hang_up` ends the connection instead of answering; with
    `stall`, nothing comes after the body (or at all, where there is none) until the client goes away.
    """

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str | None = "application/fhir+json"
    length: int | None = None
    raw: bytes | None = None
    hang_up: bool = False
    stall: bool = False

    def bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        length = len(self.body) if self.length is None else self.length
        lines = [f"HTTP/1.1 {self.status} Scripted", f"Content-Length: {length}"]
        if self.content_type is not None:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


def reply_json(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; underscores in header names become hyphens."""
    pairs = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    return Reply(status, orjson.dumps(value), pairs)


def html(status: int = 200) -> Reply:
    return Reply(status, b"<html><body>Please sign in</body></html>", content_type="text/html")


def outcome(status: int, text: str, severity: str = "error", code: str = "processing") -> Reply:
    return reply_json(outcome_body(text, severity, code), status)


def outcome_body(text: str, severity: str = "error", code: str = "processing") -> dict[str, Any]:
    return {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": severity, "code": code, "diagnostics": text}],
    }


Script = Callable[[Seen], Reply]


@dataclass
class ScriptedServer:
    """Answers by `script`, a queue of replies or a function, and keeps what it was asked."""

    script: list[Reply] | Script
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    scheme: str = "http"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def base(self) -> str:
        return f"{self.origin}/fhir"

    def _next(self, request: Seen) -> Reply:
        if callable(self.script):
            return self.script(request)
        if not self.script:
            raise AssertionError(f"the script has no answer left for {request.method} {request.target}")
        return self.script.pop(0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("ssl_object")
        named = peer.getpeercert() if peer is not None else None
        subject = dict(pair[0] for pair in named["subject"]).get("commonName") if named else None
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.rstrip().split("\r\n")
                headers = {
                    name.strip().lower(): text.strip()
                    for name, _, text in (line.partition(":") for line in lines)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, target, _ = first.split(" ")
                request = Seen(method, target, headers, body, subject)
                self.seen.append(request)
                reply = self._next(request)
                if reply.hang_up:
                    break
                if not reply.stall or reply.body:
                    writer.write(reply.bytes())
                    await writer.drain()
                if reply.stall:
                    await reader.read()
                    break
                if reply.raw is not None or reply.length is not None:
                    break
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def scripted(
    script: list[Reply] | Script, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """A server for one test, on a free port of this machine."""
    server = ScriptedServer(script, scheme="https" if tls else "http")
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls, limit=1 << 20)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await listener.wait_closed()
