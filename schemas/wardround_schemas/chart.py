"""The small protocol through which everything reads a chart, and the page of results it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from .errors import ChartError

Resource = dict[str, Any]
Params = Sequence[tuple[str, str]]
"""Search parameters in order, values decoded (a backend encodes each exactly once)."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of a FHIR R4 search.

    `body` is the searchset Bundle as the server gave it, byte for byte; `total` is its total where
    the server sent one; `next` is the url of its next link, as given; `self_link` the url of its
    self link, which names the parameters that the server applied.
    """

    body: bytes
    total: int | None = None
    next: str | None = None
    self_link: str | None = None

    def resources(self) -> list[Resource]:
        """The matching resources of this page: included ones and outcomes are left out."""
        try:
            bundle = orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise ChartError(f"search result is not JSON: {error}") from error
        if not isinstance(bundle, dict):
            raise ChartError("search result is not a Bundle")
        return [
            entry["resource"]
            for entry in bundle.get("entry") or ()
            if (entry.get("search") or {}).get("mode", "match") == "match" and "resource" in entry
        ]


class ChartReader(Protocol):
    """What graders, generators and sessions need of a chart. Every backend has it.

    Both calls raise `ChartError` when the chart can't be read; an empty page means no match.
    """

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        """First page of a search."""
        ...

    async def next_page(self, url: str) -> SearchPage:
        """The page that a next link of this chart names; any other url is refused."""
        ...


async def search_all(chart: ChartReader, resource_type: str, params: Params) -> list[Resource]:
    """Every match of a search, all pages followed.

    Raises ChartError when a page can't be read or the next links go round in a circle.
    """
    page = await chart.search(resource_type, params)
    found = page.resources()
    seen: set[str] = set()
    while page.next is not None:
        if page.next in seen:
            raise ChartError("the server's next links go round in a circle")
        seen.add(page.next)
        page = await chart.next_page(page.next)
        found.extend(page.resources())
    return found
