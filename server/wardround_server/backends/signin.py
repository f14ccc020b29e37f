"""Who we are to the server: the Authorization header of each request, renewed when it is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import httpx
import orjson

from wardround_schemas.errors import ChartError, UserError

from .auth import RemoteAuth
from .exchange import Answer, Exchange, RemoteLimits
from .smart import SmartTokens, load_signing_key
from .transport import DEFAULT_PORTS, SEARCH_FORM, Origin, SameOriginTransport, open_transport

READ_SCOPE = "system/*.read"
LARGEST_ANSWER = 256 * 1024
WRITE_SCOPE = "system/*.read system/*.write"

Discover = Callable[[], Awaitable[Answer]]
"""Reads the FHIR server's `.well-known/smart-configuration`, without signing in."""


class SignIn:
    """The Authorization header, by the way that `auth` chose. Files are read when it is made.

    `token_transport` stands in for the network to the token endpoint in tests. Raises UserError.
    """

    def __init__(
        self,
        auth: RemoteAuth,
        limits: RemoteLimits,
        *,
        discover: Discover,
        writes: bool = False,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        token_transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._auth = auth
        self._limits = limits
        self._discover = discover
        self._pause = pause
        self._token_transport = token_transport
        self._smart: SmartTokens | None = None
        self._last_token = auth.bearer_token()
        auth.basic_header()
        if auth.client_id is not None and auth.key_file is not None:
            if auth.token_url is not None:
                check_token_url(auth.token_url)
            self._smart = SmartTokens(
                client_id=auth.client_id,
                key=load_signing_key(auth.key_file, auth.key_id),
                scope=auth.scope or (WRITE_SCOPE if writes else READ_SCOPE),
                token_url=self._token_url,
                send=self._post_token_request,
            )

    def redact(self, text: str) -> str:
        """`text` without any secret that is sent to the server."""
        return self._auth.redact(text, self._last_token, self._smart.current if self._smart else None)

    async def header(self) -> str | None:
        """The header to send now, or None where no way of signing in was chosen. Raises ChartError."""
        if self._smart is not None:
            return f"Bearer {await self._smart.token()}"
        token = self._read_token()
        return f"Bearer {token}" if token is not None else self._auth.basic_header()

    async def renew(self, refused: str | None) -> str | None:
        """A header other than the one that the server answered 401 to, or None if there is none to be had."""
        if self._smart is not None and refused is not None:
            return f"Bearer {await self._smart.token(refused=refused.removeprefix('Bearer '))}"
        fresh = await self.header()
        return fresh if fresh != refused else None

    def _read_token(self) -> str | None:
        try:
            self._last_token = self._auth.bearer_token()
        except UserError as error:
            raise ChartError(f"signing in to the FHIR server: {error}") from None
        return self._last_token

    async def _token_url(self) -> str:
        if self._auth.token_url is not None:
            return self._auth.token_url
        answer = await self._discover()
        try:
            value: Any = orjson.loads(answer.body) if answer.status == 200 else None
        except orjson.JSONDecodeError:
            value = None
        url = value.get("token_endpoint") if isinstance(value, dict) else None
        if not isinstance(url, str):
            raise ChartError(
                "the server's .well-known/smart-configuration names no token endpoint; give --fhir-token-url",
                status=answer.status,
            )
        try:
            check_token_url(url)
        except UserError as error:
            raise ChartError(f"the server's .well-known/smart-configuration: {error}") from None
        return url

    async def _post_token_request(self, url: str, form: Callable[[], dict[str, str]]) -> Answer:
        """Asked over a connection of its own: certificate and headers of the FHIR server are not sent."""
        target = httpx.URL(url)
        inner = self._token_transport or open_transport(
            target,
            RemoteAuth(ca_file=self._auth.ca_file).ssl_context(encrypted=target.scheme == "https"),
            httpx.Limits(max_connections=1),
        )
        async with httpx.AsyncClient(
            transport=SameOriginTransport(inner, target), timeout=self._limits.timeout(), trust_env=False
        ) as client:

            async def build() -> httpx.Request:
                return client.build_request(
                    "POST",
                    target,
                    data=form(),
                    headers={"Accept": "application/json", "Content-Type": SEARCH_FORM},
                )

            limits = replace(self._limits, largest_answer=LARGEST_ANSWER)
            exchange = Exchange(client, limits, self.redact, self._pause)
            return await exchange.read(build, "signing in at the token endpoint")


def check_token_url(raw: str) -> None:
    """Refuse a token endpoint that a signed assertion must not go to. Raises UserError."""
    mend = "give an https URL"
    try:
        url = httpx.URL(raw)
    except httpx.InvalidURL:
        raise UserError("the token endpoint is not a URL that can be read", mend=mend) from None
    if url.scheme not in DEFAULT_PORTS or not url.host or url.userinfo:
        raise UserError("the token endpoint is not an https URL", mend=mend)
    if url.scheme == "http" and not Origin.of(url).loopback:
        raise UserError(f"the token endpoint at {Origin.of(url)} is not encrypted", mend=mend)
