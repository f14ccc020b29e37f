"""The embedded chart as a backend: a SQLite file, searched in this process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

from ..chart.capability import capability_statement
from ..chart.outcome import SearchFault
from ..chart.request import CURSOR, parse_request
from ..chart.search import ChartSearch
from ..chart.store import Chart
from .base import ChartInfo, CreatedResource, Resource

BASE_URL = "http://127.0.0.1:8421/fhir"
PAGE_SIZE = 20


def _iso(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


class EmbeddedBackend:
    """A chart file as a `Backend`. Answers inline: a search takes less time than a change of thread."""

    read_only = True

    def __init__(self, chart: Chart, *, base_url: str = BASE_URL, page_size: int = PAGE_SIZE) -> None:
        self.chart = chart
        self.page_size = page_size
        self._search = ChartSearch(chart, base_url.rstrip("/"))

    @classmethod
    def open(
        cls, path: Path | str, *, base_url: str = BASE_URL, page_size: int = PAGE_SIZE
    ) -> EmbeddedBackend:
        """Open a chart file; UserError where there is none or it is not a chart."""
        return cls(Chart(path), base_url=base_url, page_size=page_size)

    @property
    def base_url(self) -> str:
        """The FHIR base that links in results start with."""
        return self._search.base_url

    @base_url.setter
    def base_url(self, url: str) -> None:
        self._search.base_url = url.rstrip("/")

    @property
    def synthetic(self) -> bool:
        """Whether the chart file says that no real person is in it."""
        return bool(self.chart.meta.get("synthetic"))

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        """First page of a search; SearchFault (a ChartError with status 400 or 404) where it is refused."""
        return self.search_now(resource_type, params)

    async def next_page(self, url: str) -> SearchPage:
        """The page of a next link that this chart gave; any other url is refused."""
        return self.follow(url)

    def follow(self, url: str) -> SearchPage:
        """The same as `next_page`, for callers that are not asynchronous."""
        refusal = SearchFault("this is not a next link of this chart: take it as the last page gave it")
        try:
            parts = urlsplit(url)
            params = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True, errors="strict")
        except ValueError:
            raise refusal from None
        base = urlsplit(self.base_url)
        here = (parts.scheme, parts.netloc) in ((base.scheme, base.netloc), ("", ""))
        below = parts.path.startswith(f"{base.path}/") and not parts.fragment
        if not here or not below or not any(name == CURSOR for name, _ in params):
            raise refusal
        return self.search_now(parts.path[len(base.path) + 1 :], params)

    def search_now(
        self, resource_type: str, params: Sequence[tuple[str, str]], *, lenient: bool = False
    ) -> SearchPage:
        """The same as `search`, for callers that are not asynchronous; cursors are taken too."""
        request = parse_request(
            resource_type, params, base_url=self.base_url, lenient=lenient, page_size=self.page_size
        )
        return self._search.run(request)

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """The bytes of one resource; None where there is none."""
        return self.read_now(resource_type, resource_id)

    def read_now(self, resource_type: str, resource_id: str) -> bytes | None:
        """The same as `read`, for callers that are not asynchronous."""
        return self.chart.read(resource_type, resource_id)

    async def capabilities(self) -> Resource:
        """The CapabilityStatement."""
        return capability_statement(self.base_url, self.chart)

    async def create(self, resource: Resource, *, idempotency_key: str) -> CreatedResource:
        """Always refused: the embedded chart is read-only."""
        raise ChartError("the embedded chart is read-only: nothing can be created in it", status=405)

    async def info(self) -> ChartInfo:
        """Counts, patients, time span, size and content checksum."""
        meta, counts = self.chart.meta, self.chart.counts
        return ChartInfo(
            counts=counts,
            patients=counts.get("Patient", 0),
            first=_iso(meta.get("first")),
            last=_iso(meta.get("last")),
            size=self.chart.path.stat().st_size,
            checksum=self.chart.checksum,
            name=str(meta.get("name") or self.chart.path.name),
            synthetic=self.synthetic,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        faults = self.chart.meta.get("load_faults")
        if not faults:
            return ()
        return (f"{faults} lines or entries could not be loaded; first: {self.chart.meta['first_fault']}",)

    async def aclose(self) -> None:
        """Close the file."""
        self.chart.close()
