"""A chart on a FHIR R4 server somewhere else, read and (where the operator allows it) written over HTTP."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import anyio
import httpx

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

from .auth import RemoteAuth
from .base import ChartInfo, CreatedResource
from .connection import FhirConnection
from .creating import create_once, knows_conditional_create
from .exchange import Answer, RemoteLimits
from .questions import check_question
from .searchset import (
    RESOURCE_ID,
    RESOURCE_TYPE,
    Asked,
    error_is_fhir,
    outcome_text,
    read_json,
    read_searchset,
)
from .transport import is_below, resolve_link

LONGEST_QUERY = 4000
"""Bytes of an encoded query; a longer one goes by POST `_search`, since proxies refuse long request lines."""
REMEMBERED_LINKS = 4096
COUNTED_TYPES = ("Patient", "Condition", "Observation", "MedicationRequest", "Procedure", "ServiceRequest")


class RemoteBackend:
    """A `Backend` over httpx. Nothing is sent before the first call; close it with `aclose`.

    `allow_writes` is off unless the operator forwards: without it a transport below the client stops
    everything but reads. `transport`, `token_transport`, `pause` and `chance` replace the network, the
    waiting and the dice in tests; the guards stay above `transport`. Raises UserError for a base URL or an
    auth that can't be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: RemoteAuth | None = None,
        page_size: int = 20,
        allow_writes: bool = False,
        limits: RemoteLimits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        token_transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._line = FhirConnection(
            base_url,
            auth=auth or RemoteAuth(),
            limits=limits or RemoteLimits(),
            allow_writes=allow_writes,
            transport=transport,
            token_transport=token_transport,
            pause=pause,
            chance=chance,
        )
        self._read_only = not allow_writes
        self._page_size = page_size
        self._links: OrderedDict[str, Asked | None] = OrderedDict()
        self._capabilities: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"RemoteBackend({self.base_url!r}, read_only={self.read_only})"

    @property
    def base_url(self) -> str:
        """The service base URL, without a slash at its end."""
        return self._line.base_url

    @property
    def synthetic(self) -> bool:
        """False: a remote server's word is not taken for there being no real person in it."""
        return False

    @property
    def read_only(self) -> bool:
        """Whether `create` is always refused."""
        return self._read_only

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        """First page of a search; see `ChartReader`. Raises ChartError.

        Unknown parameters are to be refused by the server (`Prefer: handling=strict`); what a server might
        overlook instead is refused here (`check_question`). `_format` is left out: we read JSON.
        """
        check_type(resource_type)
        sent = [(name, value) for name, value in params if name != "_format"]
        check_question(resource_type, sent)
        asked = Asked.of(resource_type, sent, self.base_url)
        if not asked.count_only and not any(name == "_count" for name, _ in sent):
            sent.append(("_count", str(self._page_size)))
        what = f"search of {resource_type}"
        query = urlencode(sent, quote_via=quote, safe=":/,")
        url = f"{self.base_url}/{resource_type}"
        strict = {"Prefer": "handling=strict"}
        with self._line.clean_errors():
            if len(query) <= LONGEST_QUERY:
                answer = await self._line.get(f"{url}?{query}" if query else url, what, strict)
            else:
                answer = await self._line.post_search(f"{url}/_search", query, what, strict)
            return self._page(answer, asked, what)

    async def next_page(self, url: str) -> SearchPage:
        """The page that a next link of this server's names. Raises ChartError.

        A link is followed to this origin only, and there only below the base URL, unless this server gave
        the link itself.
        """
        with self._line.clean_errors():
            target = resolve_link(self._line.base, url)
            if str(target) in self._links:
                asked = self._links[str(target)]
            elif is_below(self._line.base, target):
                below = target.path[len(self._line.base.path.rstrip("/")) :]
                params = parse_qsl(target.query.decode("ascii", "replace"), keep_blank_values=True)
                asked = Asked.of_link(below, params, self.base_url)
            else:
                raise ChartError("a next link that this server did not give was not followed")
            what = f"next page of {asked.resource_type}" if asked else "next page"
            return self._page(await self._line.get(target, what), asked, what)

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """The bytes of one resource, or None where the server has none by that id (404, 410)."""
        check_type(resource_type)
        if not RESOURCE_ID.match(resource_id) or set(resource_id) == {"."}:
            raise ChartError(f"read of {resource_type}: that is not a FHIR id")
        what = f"read of {resource_type}"
        with self._line.clean_errors():
            answer = await self._line.get(f"{self.base_url}/{resource_type}/{resource_id}", what)
            if answer.status in (404, 410) and error_is_fhir(answer):
                return None
            self._line.expect_ok(answer, what)
            resource = read_json(answer, what)
            if resource.get("resourceType") == "OperationOutcome":
                raise ChartError(
                    f"{what}: the server answered 200 with: {outcome_text(resource)}", status=200
                )
            if (resource.get("resourceType"), resource.get("id")) != (resource_type, resource_id):
                raise ChartError(
                    f"{what}: the server sent another resource than the one asked for", status=200
                )
            return answer.body

    async def capabilities(self) -> dict[str, Any]:
        """The server's CapabilityStatement, read once. Raises ChartError unless it speaks FHIR R4."""
        if self._capabilities is not None:
            return self._capabilities
        what = "capability statement"
        with self._line.clean_errors():
            answer = await self._line.get(f"{self.base_url}/metadata", what)
            self._line.expect_ok(answer, what)
            statement = read_json(answer, what)
        version = statement.get("fhirVersion")
        if statement.get("resourceType") != "CapabilityStatement":
            raise ChartError(f"{what}: {self.base_url} is not a FHIR server", status=answer.status)
        if not isinstance(version, str) or not version.startswith("4.0"):
            raise ChartError(f"{what}: the server speaks FHIR {version}, not R4 (4.0)", status=answer.status)
        self._capabilities = statement
        return statement

    async def create(self, resource: dict[str, Any], *, idempotency_key: str) -> CreatedResource:
        """Store a new resource and give the server's status, id, location and body.

        Where the server promises conditional create, the resource gets one more identifier, made of the
        key's hash, and If-None-Exist makes it safe to send again: the same key is stored once, and 200
        instead of 201 says that it already was. Elsewhere the hash goes in an Idempotency-Key header, and
        only a connection that never came about is tried again. A refusal is a ChartError with the server's
        status and words; an answer lost after the request went out is an UncertainWriteError.
        """
        if self.read_only:
            raise ChartError("create: this connection only reads; nothing was sent")
        conditional = knows_conditional_create(await self.capabilities(), str(resource.get("resourceType")))
        with self._line.clean_errors():
            return await create_once(self._line, resource, idempotency_key, conditional=conditional)

    async def info(self) -> ChartInfo:
        """Counts by type and the time span of the Observations, asked of the server now.

        A type that the server lacks or hides is named in the notes. Raises ChartError.
        """
        counts: dict[str, int] = {}
        notes: list[str] = ["the time span is that of the Observations"]
        for resource_type in COUNTED_TYPES:
            try:
                page = await self.search(resource_type, [("_summary", "count")])
            except ChartError as error:
                if error.status not in (400, 403, 404, 405, 501):
                    raise
                notes.append(f"{resource_type} is not counted: {error}")
            else:
                counts[resource_type] = page.total or 0
        first = last = None
        if counts.get("Observation"):
            first = await self._outermost("date")
            last = await self._outermost("-date")
        software = (await self.capabilities()).get("software") or {}
        name = " ".join(str(software[k]) for k in ("name", "version") if software.get(k))
        return ChartInfo(
            counts=counts,
            patients=counts.get("Patient", 0),
            first=first,
            last=last,
            size=None,
            checksum=None,
            name=f"{self.base_url} ({name})" if name else self.base_url,
            notes=tuple(notes),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._line.aclose()

    async def _outermost(self, sort: str) -> str | None:
        """The time of the first Observation in a sort order that has one."""
        page = await self.search("Observation", [("_sort", sort), ("_count", "1")])
        for resource in page.resources():
            period = resource.get("effectivePeriod") or {}
            return utc(resource.get("effectiveDateTime") or period.get("start"))
        return None

    def _page(self, answer: Answer, asked: Asked | None, what: str) -> SearchPage:
        self._line.expect_ok(answer, what)
        page, after = read_searchset(answer, asked, self.base_url, what)
        if page.next is not None:
            self._remember(page.next, after)
        return page

    def _remember(self, link: str, after: Asked | None) -> None:
        """Keep what the next page has to agree with. A link that can't be followed is refused on use."""
        try:
            key = str(resolve_link(self._line.base, link))
        except ChartError:
            return
        self._links[key] = after
        self._links.move_to_end(key)
        if len(self._links) > REMEMBERED_LINKS:
            self._links.popitem(last=False)


def check_type(resource_type: str) -> None:
    """Raise ChartError for what is not the name of a resource type: it becomes part of a path."""
    if not RESOURCE_TYPE.match(resource_type):
        raise ChartError("that is not the name of a FHIR resource type", status=404)


def utc(raw: object) -> str | None:
    """A FHIR dateTime with a zone in UTC; one without a time as it stands; None for anything else."""
    if not isinstance(raw, str):
        return None
    try:
        when = datetime.fromisoformat(raw)
    except ValueError:
        return raw
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z") if when.tzinfo else raw
