"""One request and its answer: deadlines, a bounded body, retries of reads, and errors without secrets."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import anyio
import httpx

from wardround_schemas.errors import ChartError

RETRIED = frozenset({429, 502, 503, 504})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Failures before the first byte of the request: the server can't have acted on it."""


@dataclass(frozen=True, slots=True)
class RemoteLimits:
    """How long and how much: seconds, bytes, tries, connections."""

    tries: int = 4
    connect: float = 5.0
    read: float = 30.0
    whole_answer: float = 120.0
    first_pause: float = 0.25
    longest_pause: float = 8.0
    longest_retry_after: float = 60.0
    largest_answer: int = 64 * 1024 * 1024
    connections: int = 64

    def timeout(self) -> httpx.Timeout:
        return httpx.Timeout(self.read, connect=self.connect, pool=self.read)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: the body is decoded (gzip), bounded, and free of a byte order mark."""

    status: int
    headers: httpx.Headers
    body: bytes
    url: httpx.URL

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).split(";")[0].strip().lower()


class UncertainWriteError(ChartError):
    """A create was sent, and whether the server stored it is not known. It must not simply be sent again."""


@dataclass(slots=True)
class Exchange:
    """Sends requests through one client. `pause` and `chance` are what tests replace."""

    client: httpx.AsyncClient
    limits: RemoteLimits
    redact: Callable[[str], str]
    pause: Callable[[float], Awaitable[None]] = anyio.sleep
    chance: Callable[[], float] = random.random
    wall_clock: Callable[[], float] = field(default=time.time)

    async def read(self, build: Callable[[], Awaitable[httpx.Request]], what: str) -> Answer:
        """The answer to a request that may be sent again, which `build` makes anew for each try.

        Tries again after 429, 502, 503, 504 and a failed connection, waiting as long as Retry-After says or
        a jittered, doubling pause. Gives every other answer back as it is. Raises ChartError.
        """
        for number in range(1, self.limits.tries + 1):
            wanted: float | None = None
            status: int | None = None
            try:
                answer = await self.once(await build(), what)
            except httpx.TransportError as error:
                failure = self.describe(error)
                if is_untrusted(error):
                    raise ChartError(f"{what}: {failure}") from None
            else:
                if answer.status not in RETRIED:
                    return answer
                status = answer.status
                failure = f"the server answered {status}"
                wanted = retry_after(answer.headers, self.wall_clock())
            if number == self.limits.tries:
                break
            if wanted is not None and wanted > self.limits.longest_retry_after:
                failure += f" and asks to wait {wanted:.0f} s"
                break
            await self.pause(self.pause_before(number) if wanted is None else wanted)
        tried = "once" if number == 1 else f"{number} times"
        raise ChartError(f"{what}: {failure} (tried {tried})", status=status, retryable=True)

    def pause_before(self, number: int) -> float:
        """Seconds before the next try: doubling, half of it left to chance so that clients spread out."""
        full = min(self.limits.first_pause * 2.0 ** (number - 1), self.limits.longest_pause)
        return full * (0.5 + self.chance() / 2)

    async def once(self, request: httpx.Request, what: str) -> Answer:
        """One try. Raises httpx.TransportError as it comes, ChartError for an answer that can't be taken."""
        try:
            with anyio.fail_after(self.limits.whole_answer):
                return await self._send(request, what)
        except TimeoutError:
            raise httpx.ReadTimeout("the answer took too long as a whole", request=request) from None

    async def _send(self, request: httpx.Request, what: str) -> Answer:
        response = await self.client.send(request, stream=True)
        try:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > self.limits.largest_answer:
                    raise ChartError(
                        f"{what}: the answer is larger than {self.limits.largest_answer} bytes; ask for less",
                        status=response.status_code,
                    )
        except httpx.DecodingError:
            raise ChartError(
                f"{what}: the answer's compression is damaged", status=response.status_code, retryable=True
            ) from None
        finally:
            await response.aclose()
        plain = bytes(body).removeprefix(b"\xef\xbb\xbf")
        return Answer(response.status_code, response.headers, plain, request.url)

    def describe(self, error: httpx.TransportError) -> str:
        """What went wrong on the way, in words that hold no header and no query."""
        if is_untrusted(error):
            return "the server's certificate can't be trusted; name its authority in WARDROUND_FHIR_CA_FILE"
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return f"no connection within {self.limits.connect:g} s"
        if isinstance(error, httpx.TimeoutException):
            return f"no answer in time ({self.redact(str(error)) or f'{self.limits.read:g} s without data'})"
        if isinstance(error, httpx.LocalProtocolError):
            # Its text may repeat a header, token included.
            return "the request could not be sent as HTTP"
        words = {
            httpx.ConnectError: "the server can't be reached",
            httpx.ProxyError: "the proxy refused the connection",
            httpx.RemoteProtocolError: "the connection ended before the answer did, or was not HTTP",
        }
        lead = next((said for kind, said in words.items() if isinstance(error, kind)), "the connection broke")
        detail = self.redact(" ".join(str(error).split()))[:200]
        return f"{lead} ({detail})" if detail else lead


def is_untrusted(error: BaseException) -> bool:
    """Whether a connection failed because the server's certificate did not verify: no retry mends that."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


def retry_after(headers: httpx.Headers, now: float) -> float | None:
    """Seconds that a Retry-After header (RFC 9110, 10.2.3) asks for, or None where it says nothing usable."""
    raw = str(headers.get("retry-after", "")).strip()
    if raw.isascii() and raw.isdigit():
        return float(raw[:9])
    try:
        return max(0.0, parsedate_to_datetime(raw).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
