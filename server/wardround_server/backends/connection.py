"""The line to one FHIR server: guarded, signed in, patient with reads and careful with writes."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

import anyio
import httpx

from wardround_schemas.errors import ChartError

from .auth import RemoteAuth
from .exchange import (
    MOST_REDIRECTS,
    NOT_SENT,
    REDIRECTS,
    RETRIED,
    Answer,
    Exchange,
    RemoteLimits,
    UncertainWriteError,
    is_untrusted,
    retry_after,
)
from .searchset import error_text
from .signin import SignIn
from .transport import (
    SEARCH_FORM,
    ReadOnlyTransport,
    SameOriginTransport,
    check_secrecy,
    open_transport,
    parse_base_url,
    resolve_link,
)

FHIR_JSON = "application/fhir+json"
ACCEPT = f"{FHIR_JSON}, application/json;q=0.9"


class FhirConnection:
    """Requests to one service base URL and no other place; see `RemoteBackend` for the arguments."""

    def __init__(
        self,
        base_url: str,
        *,
        auth: RemoteAuth,
        limits: RemoteLimits,
        allow_writes: bool,
        transport: httpx.AsyncBaseTransport | None = None,
        token_transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.base = parse_base_url(base_url)
        self.base_url = str(self.base).rstrip("/")
        check_secrecy(self.base, auth)
        self._headers = {"Accept": ACCEPT, **auth.headers}
        self._sign_in = SignIn(
            auth,
            limits,
            discover=self._discover,
            writes=allow_writes,
            pause=pause,
            token_transport=token_transport,
        )
        pool = httpx.Limits(max_connections=limits.connections, max_keepalive_connections=limits.connections)
        tls = auth.ssl_context(encrypted=self.base.scheme == "https")
        wire = transport or open_transport(self.base, tls, pool)
        guarded: httpx.AsyncBaseTransport = SameOriginTransport(wire, self.base)
        if not allow_writes:
            guarded = ReadOnlyTransport(guarded, self.base)
        # trust_env off: httpx would mount the environment's proxies beside the guards, not below them.
        self._client = httpx.AsyncClient(
            transport=guarded, timeout=limits.timeout(), follow_redirects=False, trust_env=False
        )
        self._exchange = Exchange(self._client, limits, self._sign_in.redact, pause, chance)

    @contextmanager
    def clean_errors(self) -> Iterator[None]:
        """Take secrets out of every ChartError that passes: a server may send back what it was sent."""
        try:
            yield
        except ChartError as error:
            text = self._sign_in.redact(str(error))
            if text == str(error):
                raise
            raise type(error)(text, status=error.status, retryable=error.retryable) from None

    async def get(self, url: str | httpx.URL, what: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to a GET, after retries, one renewal of the sign-in and redirects within this origin."""
        return await self._read("GET", httpx.URL(url), what, headers or {}, None)

    async def post_search(self, url: str, query: str, what: str, headers: Mapping[str, str]) -> Answer:
        """The answer to a search by POST, treated as the read that it is."""
        form = {**headers, "Content-Type": SEARCH_FORM}
        return await self._read("POST", httpx.URL(url), what, form, query.encode("ascii"))

    async def post_resource(
        self, url: str, body: bytes, what: str, headers: Mapping[str, str], *, repeatable: bool
    ) -> Answer:
        """The answer to a create, sent again only where that can't store it twice.

        `repeatable` says that the server itself recognises a second sending. Without it, only a connection
        that never came about is tried again. Raises UncertainWriteError when the request went out and what
        became of it is not known.
        """
        sent = {**headers, "Content-Type": FHIR_JSON}
        authorization = await self._sign_in.header()
        renewed = uncertain = False
        number = 1
        while True:
            try:
                answer = await self._exchange.once(
                    self._request("POST", httpx.URL(url), sent, body, authorization), what
                )
            except httpx.TransportError as error:
                uncertain = uncertain or not isinstance(error, NOT_SENT)
                failure = self._exchange.describe(error)
                status, wanted = None, None
                again = (repeatable or not uncertain) and not is_untrusted(error)
            else:
                if answer.status == 401 and not renewed:
                    renewed, fresh = True, await self._sign_in.renew(authorization)
                    if fresh is not None:
                        authorization = fresh
                        continue
                if answer.status < 500 and answer.status != 429:
                    return answer
                status, again = answer.status, repeatable and answer.status in RETRIED
                uncertain = uncertain or status != 429
                failure = f"the server answered {status}: {error_text(answer)}"
                wanted = retry_after(answer.headers, self._exchange.wall_clock())
            again = again and (wanted or 0.0) <= self._exchange.limits.longest_retry_after
            if not again or number >= self._exchange.limits.tries:
                raise _failed_write(what, failure, status, uncertain=uncertain, number=number)
            await self._exchange.pause(self._exchange.pause_before(number) if wanted is None else wanted)
            number += 1

    def expect_ok(self, answer: Answer, what: str) -> None:
        """Raise ChartError, in the server's words, for an answer other than 200."""
        if answer.status == 200:
            return
        hint = {401: "sign-in was not accepted: ", 403: "access was refused: "}.get(answer.status, "")
        raise ChartError(
            f"{what}: the server answered {answer.status}: {hint}{error_text(answer)}",
            status=answer.status,
            retryable=answer.status >= 500 or answer.status in (408, 425),
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _read(
        self, method: str, url: httpx.URL, what: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._signed_read(method, url, what, headers, body)
            if answer.status not in REDIRECTS:
                return answer
            location = answer.headers.get("location", "")
            url = resolve_link(self.base, location, what="redirect", against=url)
            if method == "POST" and answer.status not in (307, 308):
                raise ChartError(
                    f"{what}: the server answered a search by POST with a {answer.status} redirect"
                )
        raise ChartError(f"{what}: the server's redirects go round in a circle", status=answer.status)

    async def _signed_read(
        self, method: str, url: httpx.URL, what: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        authorization = await self._sign_in.header()

        async def build() -> httpx.Request:
            return self._request(method, url, headers, body, authorization)

        answer = await self._exchange.read(build, what)
        if answer.status == 401:
            fresh = await self._sign_in.renew(authorization)
            if fresh is not None:
                authorization = fresh
                answer = await self._exchange.read(build, what)
        return answer

    async def _discover(self) -> Answer:
        url = httpx.URL(f"{self.base_url}/.well-known/smart-configuration")
        headers = {**self._headers, "Accept": "application/json"}

        async def build() -> httpx.Request:
            return self._client.build_request("GET", url, headers=headers)

        return await self._exchange.read(build, "SMART configuration")

    def _request(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        body: bytes | None,
        authorization: str | None,
    ) -> httpx.Request:
        sent = {**self._headers, **headers} | ({"Authorization": authorization} if authorization else {})
        return self._client.build_request(method, url, headers=sent, content=body)


def _failed_write(what: str, failure: str, status: int | None, *, uncertain: bool, number: int) -> ChartError:
    tried = "" if number == 1 else f" (tried {number} times)"
    if uncertain:
        return UncertainWriteError(
            f"{what}: {failure}{tried}; it is not known whether the server stored the resource", status=status
        )
    return ChartError(f"{what}: {failure}{tried}; nothing was stored", status=status, retryable=True)
