"""What may leave for a FHIR server, and where to: origins, links, and the guards that every request passes.

The guards sit below the HTTP client, so that no caller, redirect or link can go round them.
"""

from __future__ import annotations

import re
import ssl
import urllib.request
from dataclasses import dataclass

import httpx

from wardround_schemas.errors import ChartError, UserError

from .auth import RemoteAuth

DEFAULT_PORTS = {"http": 80, "https": 443}
SEARCH_FORM = "application/x-www-form-urlencoded"
_UNSAFE_IN_LINK = re.compile(r"[\x00-\x20\x7f\\]")
_CLIMBS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)|%2f|%5c", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL (RFC 6454), the port always filled in."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx.URL) -> Origin:
        return cls(url.scheme, url.host.lower().rstrip("."), url.port or DEFAULT_PORTS.get(url.scheme, 0))

    def __str__(self) -> str:
        port = "" if DEFAULT_PORTS.get(self.scheme) == self.port else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{port}"

    @property
    def loopback(self) -> bool:
        return self.host in {"localhost", "::1"} or bool(re.match(r"127(\.\d{1,3}){3}\Z", self.host))


def parse_base_url(raw: str) -> httpx.URL:
    """The service base URL that an operator gave, without a trailing slash. Raises UserError."""
    mend = "give the FHIR base URL, like https://fhir.example.org/r4"
    try:
        url = httpx.URL(raw.strip())
    except httpx.InvalidURL:
        raise UserError("--fhir is not a URL that can be read", mend=mend) from None
    if url.scheme not in DEFAULT_PORTS or not url.host or not 0 < Origin.of(url).port < 65536:
        raise UserError(f"--fhir {raw!r} is not an http or https URL", mend=mend)
    if url.userinfo:
        # Not repeated here: it may hold a password.
        raise UserError(
            "--fhir holds a user name or password",
            mend="set WARDROUND_FHIR_USERNAME and WARDROUND_FHIR_PASSWORD instead",
        )
    if url.query or url.fragment:
        raise UserError("--fhir has a query or a fragment", mend=mend)
    return url.copy_with(path=url.path.rstrip("/") or "/")


def check_secrecy(base: httpx.URL, auth: RemoteAuth) -> None:
    """Refuse to send credentials in the clear to another machine. Raises UserError."""
    origin = Origin.of(base)
    if auth.sends_secrets and origin.scheme == "http" and not origin.loopback and not auth.allow_plain_http:
        raise UserError(
            f"credentials would go to {origin} unencrypted",
            mend="use https, or set WARDROUND_FHIR_ALLOW_PLAIN_HTTP=1 for a network that you trust",
        )


def resolve_link(
    base: httpx.URL, link: str, *, what: str = "next link", against: httpx.URL | None = None
) -> httpx.URL:
    """Where a link of the server's leads: absolute, or relative to the service base (FHIR R4, Bundle.link).

    A redirect is relative to the request that it answers instead: `against`.

    A server behind a proxy that ends TLS often writes `http:` links to its own name: those are taken as
    `https:`, since the name is the same and the request gets no less protected. Raises ChartError when
    the link leads to another origin or can't be read with certainty.
    """
    if _UNSAFE_IN_LINK.search(link) or not link:
        raise ChartError(f"the server's {what} can't be read as a URL")
    try:
        if against is not None:
            url = against.join(link)
        elif link.startswith("?"):
            url = base.copy_with(query=link[1:].encode())
        else:
            folder = base.copy_with(path=base.path.rstrip("/") + "/")
            url = folder.join(link)
    except httpx.InvalidURL:
        raise ChartError(f"the server's {what} can't be read as a URL") from None
    url = url.copy_with(fragment=None)
    if url.userinfo:
        raise ChartError(f"the server's {what} holds a user name; it was not followed")
    home, there = Origin.of(base), Origin.of(url)
    if there != home and (there.scheme, there.port, home.scheme, home.port) == ("http", 80, "https", 443):
        url = url.copy_with(scheme="https", port=None)
        there = Origin.of(url)
    if there != home:
        raise ChartError(f"the server's {what} leads to another host, {there}; it was not followed")
    return url


def is_below(base: httpx.URL, url: httpx.URL) -> bool:
    """Whether a URL of the same origin lies at or below the service base, whoever decodes its path."""
    raw = url.raw_path.split(b"?")[0].decode("ascii", "replace")
    root = base.raw_path.decode("ascii").rstrip("/")
    return (raw == root or raw.startswith(root + "/")) and not _CLIMBS.search(raw[len(root) :])


class WriteRefusedError(ChartError):
    """A request that could change the chart was stopped before it left. Always a fault of the program's."""


class SameOriginTransport(httpx.AsyncBaseTransport):
    """Lets requests through to one origin only, whatever they were built from."""

    def __init__(self, inner: httpx.AsyncBaseTransport, base: httpx.URL) -> None:
        self._inner = inner
        self._home = Origin.of(base)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if Origin.of(request.url) != self._home:
            raise ChartError(f"a request to another host, {Origin.of(request.url)}, was stopped")
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class ReadOnlyTransport(httpx.AsyncBaseTransport):
    """Lets through what can't change a chart: GET, HEAD and a search by POST (FHIR R4, 3.1.1.4.1).

    In the write modes off, capture and overlay every request to the FHIR server passes it. Anything else
    raises WriteRefusedError and nothing is sent.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, base: httpx.URL) -> None:
        self._inner = inner
        self._search = re.compile(re.escape(base.path.rstrip("/")) + r"/[A-Z][A-Za-z]*/_search\Z")

    def allows(self, request: httpx.Request) -> bool:
        """Whether a request only reads."""
        if request.method in {"GET", "HEAD"}:
            # An operation may write whatever its method (R4 only says it should not), and none is ours.
            return "$" not in request.url.path
        form = request.headers.get("content-type", "").split(";")[0].strip().lower() == SEARCH_FORM
        return request.method == "POST" and form and bool(self._search.match(request.url.path))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self.allows(request):
            raise WriteRefusedError(f"a {request.method} request was stopped: this connection only reads")
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def open_transport(
    base: httpx.URL, context: ssl.SSLContext, limits: httpx.Limits
) -> httpx.AsyncHTTPTransport:
    """Sockets to one server: HTTP/2 where TLS offers it, HTTP/1.1 otherwise, through the proxy in force."""
    return httpx.AsyncHTTPTransport(
        verify=context, http1=True, http2=True, limits=limits, proxy=proxy_for(base), retries=0
    )


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy that the environment or the system names for a URL; NO_PROXY and loopback go direct."""
    if Origin.of(url).loopback or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
