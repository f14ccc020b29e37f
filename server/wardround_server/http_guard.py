"""What every HTTP request passes first: its id, the checks of Host and Origin, the log and the counters.

A page in a browser can reach a server on loopback in two ways: by asking it straight (its Origin
gives it away) or by a name of its own that it points at 127.0.0.1 (the Host gives it away).
"""

from __future__ import annotations

import hmac
import logging
import re
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .logs import FIELDS, request_id
from .settings import ServerSettings

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_AREAS = frozenset({"mcp", "fhir", "sessions", "healthz", "readyz", "metrics", "docs", "openapi.json"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})

Observe = Callable[[str, str, int, float], None]
"""Told of each request: area, method, status, seconds."""


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Under which names this server may be addressed.

    `names` are lower-case and without port. `any_address` lets every literal IP address pass: it
    can't have been made by rebinding a name.
    """

    names: frozenset[str]
    any_address: bool

    @classmethod
    def of(cls, settings: ServerSettings) -> HostPolicy:
        """The bound address and loopback names; the machine's own names where all addresses are bound."""
        names = {"localhost", "127.0.0.1", "::1", settings.host.strip("[]").lower()}
        names.update(name.lower() for name in settings.allow_hosts)
        wildcard = settings.host.strip("[]") in {"0.0.0.0", "::", ""}  # noqa: S104 - compared, not bound
        if wildcard:
            names.update({socket.gethostname().lower(), socket.getfqdn().lower()})
        return cls(frozenset(names), wildcard)

    def allows_host(self, host: str | None) -> bool:
        """Whether a Host header names this server. A request without one does not."""
        return host is not None and self._allows(_name_of(f"//{host}"))

    def allows_origin(self, origin: str | None) -> bool:
        """Whether a request with this Origin may be served; programs send none."""
        if origin is None:
            return True
        if not origin.startswith(("http://", "https://")):
            return False
        return self._allows(_name_of(origin))

    def _allows(self, name: str | None) -> bool:
        if name is None:
            return False
        return name in self.names or (self.any_address and _is_address(name))


def _name_of(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is none raises
    except ValueError:
        return None
    bare = parts.username is None and parts.path in ("", "/") and not parts.query and not parts.fragment
    return parts.hostname if bare else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """The outermost ASGI application: checks, then serves, then logs and counts."""

    def __init__(self, app: ASGIApp, policy: HostPolicy, observe: Observe | None = None) -> None:
        self._app = app
        self._policy = policy
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds of connection pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        ident = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        token = request_id.set(ident)
        started = time.perf_counter()
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = ident
            await send(message)

        try:
            refusal = self._refusal(headers)
            await (refusal or self._app)(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - started)
            request_id.reset(token)

    def _refusal(self, headers: Headers) -> ASGIApp | None:
        if not self._policy.allows_host(headers.get("host")):
            text = "this server is not addressed by that Host; --allow-host adds a name"
            return JSONResponse({"error": text}, status_code=421)
        if not self._policy.allows_origin(headers.get("origin")):
            return JSONResponse({"error": "requests from that Origin are not served"}, status_code=403)
        return None

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path: str = scope["path"]
        area = path.split("/", 2)[1] if path.startswith("/") else ""
        # The rest of a path may name a patient or a session: neither is for a log.
        area = area if area in _AREAS else "other"
        if self._observe is not None:
            self._observe(area, scope["method"], status, seconds)
        if path not in _QUIET:
            fields = {
                "method": scope["method"],
                "area": area,
                "status": status,
                "ms": round(seconds * 1000, 2),
            }
            logger.info("request", extra={FIELDS: fields})


def bearer_of(headers: Headers) -> str | None:
    """The bearer token of a request, None where it carries none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def is_token(given: str | None, wanted: str) -> bool:
    """Whether a token is the right one; takes the same time however much of it is right."""
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
