"""Reads of one session: searches of the functions, and the text protocol's GETs."""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError
from wardround_schemas.function import Function, search_query

from . import plainjson
from .backends.base import Backend
from .call import CallResult
from .results import shape_result
from .settings import ResultForm
from .textpath import ChartPath, chart_path

if TYPE_CHECKING:
    from .overlay import OverlayReader

MAX_LINKS = 1024
MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Most bytes of pages of which a session still owes the rest."""

_FAULTY_QUERY = frozenset({400, 422})
"""Statuses by which a chart refuses what was asked, without having failed itself."""
_FAULTY_URL = _FAULTY_QUERY | {404, 405, 410}
"""The same where the agent wrote the URL or the cursor."""


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """How results are shaped: their form and the most bytes that one may have."""

    form: ResultForm = "fhir"
    max_bytes: int = 200_000


@dataclass(frozen=True, slots=True)
class _Rest:
    """The rest of a page that was too large for one result: what follows the first `skip` entries."""

    page: SearchPage
    applied: Params
    skip: int


class Reader:
    """Searches the chart for one session and remembers which next links it gave out."""

    def __init__(self, backend: Backend, options: ResultOptions, overlay: OverlayReader | None) -> None:
        """`overlay` is the chart with the session's captures; None where searches see the chart alone."""
        self._backend = backend
        self._chart = overlay if overlay is not None else backend
        self._options = options
        self._links: deque[str] = deque(maxlen=MAX_LINKS)
        self._rests: OrderedDict[str, _Rest] = OrderedDict()
        self._cursor_stem = f"{backend.base_url}?_rest={secrets.token_urlsafe(12)}"
        self._cursors = 0

    async def search(self, function: Function, arguments: dict[str, Any]) -> CallResult:
        """One page of a function's search, or the page that `page` names."""
        cursor = arguments.get("page")
        if cursor is not None:
            return await self._page(str(cursor))
        params = search_query(function, arguments)
        return await self._answered(lambda: self._search(function.resource_type, params), _FAULTY_QUERY)

    async def get(self, url: str) -> CallResult:
        """The text protocol's GET. A URL that is not under the chart's base is refused, never fetched."""
        if self._given(url.strip()) is not None or url.strip() in self._rests:
            return await self._page(url.strip())
        place = chart_path(url, self._backend.base_url)
        if isinstance(place, str):
            return _refused(f"Invalid GET: {place}.")
        return await self._at(place)

    # --- inside -------------------------------------------------------------------------------

    async def _at(self, place: ChartPath) -> CallResult:
        resource_type = place.search_type
        if resource_type is not None:
            return await self._answered(lambda: self._search(resource_type, place.params), _FAULTY_URL)
        if place.path == "metadata":
            statement = await self._backend.capabilities()
            return CallResult(ok=True, text=plainjson.dumps(statement).decode(), is_search=True)
        target = place.read_target
        if target is None:
            return _refused(
                f"Invalid GET: /{place.path[:100]} is neither a search (Patient?...) nor a resource."
            )
        return await self._answered(lambda: self._read(*target), _FAULTY_URL)

    async def _page(self, cursor: str) -> CallResult:
        link = self._given(cursor)
        if link is None:
            rest = self._rests.get(cursor)
            if rest is not None:
                return self._shaped(rest.page, rest.applied, rest.skip)
            return _refused(
                "$.page: this is no next link of this session's results. Give the url as it was given."
            )
        return await self._answered(lambda: self._next(link), _FAULTY_URL)

    def _given(self, cursor: str) -> str | None:
        """The link as it was given out, where the cursor is one; an added `_format` is overlooked."""
        if cursor in self._links:
            return cursor
        for suffix in ("&_format=json", "?_format=json"):
            if cursor.endswith(suffix) and cursor.removesuffix(suffix) in self._links:
                return cursor.removesuffix(suffix)
        return None

    async def _answered(self, ask: Callable[[], Awaitable[CallResult]], faulty: frozenset[int]) -> CallResult:
        """Ask the chart; its refusal of what was asked is the agent's to mend, other errors pass through."""
        try:
            return await ask()
        except ChartError as error:
            if error.status not in faulty:
                raise
            return _refused(f"The chart refused the request (HTTP {error.status}): {error}")

    async def _search(self, resource_type: str, params: Sequence[tuple[str, str]]) -> CallResult:
        return self._shaped(await self._chart.search(resource_type, params), params)

    async def _next(self, link: str) -> CallResult:
        return self._shaped(await self._chart.next_page(link))

    async def _read(self, resource_type: str, ident: str) -> CallResult:
        body = await self._chart.read(resource_type, ident)
        if body is None:
            return _refused(f"The chart has no {resource_type}/{ident} (HTTP 404).")
        return CallResult(ok=True, text=body.decode("utf-8", "replace"), is_search=True)

    def _shaped(self, page: SearchPage, applied: Params = (), skip: int = 0) -> CallResult:
        self._cursors += 1
        resume = f"{self._cursor_stem}.{self._cursors}"
        shaped = shape_result(
            page,
            style=self._options.form,
            max_bytes=self._options.max_bytes,
            applied=applied,
            skip=skip,
            resume=resume,
        )
        if shaped.rest is not None:
            self._keep(resume, _Rest(page, applied, shaped.rest))
        elif shaped.next is not None and shaped.next not in self._links:
            self._links.append(shaped.next)
        return CallResult(ok=True, text=shaped.text, is_search=True, next=shaped.next)

    def _keep(self, cursor: str, rest: _Rest) -> None:
        """Remember the rest of a page; the oldest goes when too much is held."""
        self._rests[cursor] = rest
        held = sum({id(kept.page): len(kept.page.body) for kept in self._rests.values()}.values())
        while held > MAX_KEPT_BYTES and len(self._rests) > 1:
            self._rests.popitem(last=False)
            held = sum({id(kept.page): len(kept.page.body) for kept in self._rests.values()}.values())


def _refused(text: str) -> CallResult:
    return CallResult(ok=False, text=text, is_search=True)
