"""What a session has captured, taking part in its later searches, over any backend.

The backend's pages and the captured resources are merged in the order of the search; without `_sort`
the captured ones come last, as resources created last do. A search that no captured resource answers
goes through untouched.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import orjson

from wardround_schemas.chart import Params, SearchPage, search_all
from wardround_schemas.errors import ChartError

from . import plainjson
from .backends.base import Backend, Resource
from .chart.bundle import assemble
from .chart.extract import Values, extract
from .chart.match import matches
from .chart.order import Keys, compare, ordering, sort_keys
from .chart.outcome import SearchFault
from .chart.params import SEARCHED_TYPES, search_params
from .chart.query import Criterion
from .chart.request import CURSOR, DEFAULT_COUNT, Request, parse_request, query_string
from .chart.search import now_ms
from .chart.shape import dump, parse_exact, shape_entry
from .chart.values import Reference

MAX_SEARCHES = 256
"""How many unfinished searches a session's next links may lead on; the oldest is given up first."""


@dataclass(frozen=True, slots=True)
class _Captured:
    """A captured resource: its bytes and search values."""

    resource_type: str
    id: str
    body: bytes
    values: Values


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry of a backend's page that has not been given out: its JSON and its place in the order."""

    entry: bytes
    keys: Keys


@dataclass(frozen=True, slots=True)
class _State:
    """Where a merged search stands. Never changed, so that a next link can be followed twice.

    `name` numbers the search in its session and `page` the page: the same session gives the same links.
    """

    request: Request
    name: str
    self_link: str
    total: int | None
    held: tuple[_Held, ...] = ()
    rest: tuple[_Captured, ...] = ()
    base_next: str | None = None
    page: int = 1
    others: tuple[bytes, ...] = field(default=())
    """Included resources and outcomes of the backend's page that `held` comes from."""


class OverlayReader:
    """A `ChartReader` over a backend and the resources of one session.

    `page_size` is what a page holds where a search names no `_count`.
    """

    def __init__(self, backend: Backend, *, page_size: int = DEFAULT_COUNT) -> None:
        self._backend = backend
        self._page_size = page_size
        self._captured: list[_Captured] = []
        self._searches = 0
        self._states: OrderedDict[str, _State] = OrderedDict()

    @property
    def base_url(self) -> str:
        """The backend's base."""
        return self._backend.base_url

    def add(self, resource: Resource, resource_id: str) -> None:
        """Let a captured resource take part from now on; one of the same type and id is replaced.

        Elements that aren't what FHIR has in their place can't be searched by; that is no error here.
        """
        resource_type = str(resource.get("resourceType"))
        others = {name: value for name, value in resource.items() if name not in ("resourceType", "id")}
        named = {"resourceType": resource_type, "id": resource_id, **others}
        # What UTF-8 can't hold (half a surrogate pair) is replaced: a page with it would be no JSON to most.
        text = json.dumps(plainjson.storable(named), ensure_ascii=False, separators=(",", ":"))
        body = text.encode("utf-8", "replace")
        values: Values = {}
        if resource_type in SEARCHED_TYPES:
            values = extract(resource_type, orjson.loads(body), on_fault=lambda fault: None)
        self._captured = [
            item for item in self._captured if (item.resource_type, item.id) != (resource_type, resource_id)
        ]
        self._captured.append(_Captured(resource_type, resource_id, body, values))

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        """First page of a search over both."""
        page = await self._backend.search(resource_type, params)
        if not any(item.resource_type == resource_type for item in self._captured):
            return page
        try:
            request = parse_request(resource_type, params, base_url=self.base_url, page_size=self._page_size)
        except SearchFault as error:
            raise ChartError(f"what was captured can't be searched so: {error}", status=400) from error
        if request.cursor is not None:
            return page
        found = [item for item in self._captured if await self._answers(item, request)]
        if not found:
            return page
        return await self._first(request, page, found)

    async def next_page(self, url: str) -> SearchPage:
        """The page of a next link, of a merged search or of the backend's own."""
        state = self._states.get(url)
        if state is None:
            if f"{CURSOR}=~" in url:
                raise SearchFault(
                    "this next link has been given up: search again", status=410, code="expired"
                )
            return await self._backend.next_page(url)
        return await self._advance(state)

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """One resource, a captured one before the backend's."""
        for item in self._captured:
            if (item.resource_type, item.id) == (resource_type, resource_id):
                return item.body
        return await self._backend.read(resource_type, resource_id)

    async def _answers(self, item: _Captured, request: Request) -> bool:
        if item.resource_type != request.resource_type:
            return False
        now = now_ms()
        for criterion in request.criteria:
            ids: frozenset[str] = frozenset()
            if criterion.op == "chain":
                ids = await self._chained(item, criterion, now)
            if not matches(criterion, item.id, item.values, now, lambda _, ids=ids: ids):  # type: ignore[misc]
                return False
        return True

    async def _chained(self, item: _Captured, criterion: Criterion, now: int) -> frozenset[str]:
        """Which of the resources that a captured one refers to answer the chained parameter."""
        held = item.values.get(criterion.param.stored_as, ())
        wanted = {ref.id for ref in held if isinstance(ref, Reference) and ref.type == criterion.target} - {
            ""
        }
        if not wanted or criterion.chained is None:
            return frozenset()
        inner = criterion.chained
        found = {
            other.id
            for other in self._captured
            if other.resource_type == criterion.target
            and other.id in wanted
            and matches(inner, other.id, other.values, now)
        }
        asked = [criterion.asked, ("_id", ",".join(sorted(wanted)))]
        found.update(str(hit.get("id")) for hit in await search_all(self._backend, criterion.target, asked))
        return frozenset(found & wanted)

    async def _first(self, request: Request, page: SearchPage, found: Sequence[_Captured]) -> SearchPage:
        total = None if page.total is None else page.total + len(found)
        link = page.self_link or _link(self.base_url, request)
        if request.count_only:
            bundle = parse_exact(page.body)
            bundle["total"] = total
            return SearchPage(dump(bundle), total, None, link)
        if request.sort:
            by_order = ordering(request.sort)
            found = sorted(found, key=lambda item: by_order(sort_keys(request.sort, item.id, item.values)))
        self._searches += 1
        state = _State(request, str(self._searches), link, total, rest=tuple(found))
        return await self._advance(self._take_in(state, page))

    def _take_in(self, state: _State, page: SearchPage) -> _State:
        """A page of the backend added to what is held."""
        held, others = list(state.held), list(state.others)
        for entry in parse_exact(page.body).get("entry") or ():
            written = dump(entry)
            if (entry.get("search") or {}).get("mode", "match") != "match":
                others.append(written)
                continue
            resource = orjson.loads(written).get("resource") or {}
            values = extract(state.request.resource_type, resource, on_fault=lambda fault: None)
            held.append(_Held(written, sort_keys(state.request.sort, str(resource.get("id")), values)))
        return replace(state, held=tuple(held), base_next=page.next, others=tuple(dict.fromkeys(others)))

    async def _advance(self, state: _State) -> SearchPage:
        """The next page of a merged search."""
        request = state.request
        pieces: list[bytes] = []
        extra: list[_Captured] = []
        others: dict[bytes, None] = dict.fromkeys(state.others)
        while len(pieces) < request.count:
            while not state.held and state.base_next is not None:
                state = self._take_in(state, await self._backend.next_page(state.base_next))
            if state.rest and (not state.held or self._before(request, state.rest[0], state.held[0])):
                extra.append(state.rest[0])
                pieces.append(self._written(request, state.rest[0]))
                state = replace(state, rest=state.rest[1:])
            elif state.held:
                others.update(dict.fromkeys(state.others))
                pieces.append(state.held[0].entry)
                left = state.held[1:]
                state = replace(state, held=left, others=state.others if left else ())
            else:
                break
        others.update(dict.fromkeys(await self._included(request, extra, others)))
        link = None
        if state.held or state.rest or state.base_next is not None:
            link = self._remember(replace(state, page=state.page + 1))
        body = assemble(state.total, state.self_link, link, [*pieces, *others])
        return SearchPage(body, state.total, link, state.self_link)

    def _before(self, request: Request, item: _Captured, held: _Held) -> bool:
        if not request.sort:
            return False
        return compare(request.sort, sort_keys(request.sort, item.id, item.values), held.keys) < 0

    def _written(self, request: Request, item: _Captured) -> bytes:
        body = shape_entry(request, item.body) if request.shaped else item.body
        return _entry(self.base_url, item.resource_type, item.id, body, "match")

    async def _included(
        self, request: Request, items: Sequence[_Captured], others: dict[bytes, None]
    ) -> list[bytes]:
        """What the captured resources of a page refer to, where `_include` asks and it is not there yet."""
        there = {str(orjson.loads(entry).get("fullUrl")) for entry in others}
        found: dict[str, bytes] = {}
        for target in _targets(request, items):
            url = f"{self.base_url}/{target.type}/{target.id}"
            if url in there or url in found:
                continue
            body = await self.read(target.type, target.id)
            if body is not None:
                found[url] = _entry(self.base_url, target.type, target.id, body, "include")
        return list(found.values())

    def _remember(self, state: _State) -> str:
        url = _link(self.base_url, state.request)
        link = f"{url}{'&' if '?' in url else '?'}{CURSOR}=~{state.name}.{state.page}"
        self._states[link] = state
        while len(self._states) > MAX_SEARCHES:
            self._states.popitem(last=False)
        return link


def _targets(request: Request, items: Sequence[_Captured]) -> Iterator[Reference]:
    """The references of captured resources that the request's `_include`s ask for."""
    params = search_params(request.resource_type)
    for include in request.includes:
        everything = [name for name, param in params.items() if param.kind == "reference" and not param.alias]
        names = everything if include.param == "*" else [params[include.param].stored_as]
        for item in items:
            for ref in (ref for name in names for ref in item.values.get(name, ())):
                if isinstance(ref, Reference) and ref.id and include.target in ("", ref.type):
                    yield ref


def _link(base_url: str, request: Request) -> str:
    query = query_string(request.params)
    return f"{base_url}/{request.resource_type}{'?' if query else ''}{query}"


def _entry(base_url: str, resource_type: str, resource_id: str, body: bytes, mode: str) -> bytes:
    url = orjson.dumps(f"{base_url}/{resource_type}/{resource_id}")
    return b'{"fullUrl":%b,"resource":%b,"search":{"mode":"%b"}}' % (url, body, mode.encode())
