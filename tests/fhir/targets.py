"""What the conformance suite runs against: the chart in this process, over HTTP, and other servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl

import httpx
import orjson

from tests.fhir.suite.chart import PREFIX
from wardround_schemas.errors import ChartError
from wardround_server.backends.embedded import EmbeddedBackend


@dataclass(slots=True)
class Found:
    """What a target answered, all pages together: HTTP status, ids in order, included ids, first total."""

    status: int
    ids: list[str] = field(default_factory=list)
    included: list[str] = field(default_factory=list)
    total: int | None = None

    def take(self, bundle: dict[str, Any]) -> str | None:
        """Add a page; returns its next link."""
        if self.total is None:
            self.total = bundle.get("total")
        for entry in bundle.get("entry", ()):
            resource = entry["resource"]
            if not str(resource.get("id", "")).startswith(PREFIX):
                continue  # another test's, or an OperationOutcome
            mode = entry.get("search", {}).get("mode", "match")
            if mode == "match":
                self.ids.append(resource["id"])
            elif mode == "include":
                self.included.append(resource["id"])
        links: Sequence[dict[str, str]] = bundle.get("link", ())
        return next((link["url"] for link in links if link["relation"] == "next"), None)


class Target(Protocol):
    """A FHIR server or something that answers like one."""

    base: str

    async def search(self, resource_type: str, query: str, *, lenient: bool) -> Found: ...


class InProcess:
    """The embedded chart, called directly."""

    def __init__(self, backend: EmbeddedBackend) -> None:
        self._backend = backend
        self.base = backend.base_url

    async def search(self, resource_type: str, query: str, *, lenient: bool) -> Found:
        found = Found(200)
        try:
            params = parse_qsl(query, keep_blank_values=True)
            page = self._backend.search_now(resource_type, params, lenient=lenient)
            link = found.take(orjson.loads(page.body))
            while link is not None:
                link = found.take(orjson.loads((await self._backend.next_page(link)).body))
        except ChartError as error:
            return Found(error.status or 500)
        return found


class OverHttp:
    """A FHIR server, asked with plain HTTP requests exactly as the suite writes them."""

    def __init__(self, base: str, client: httpx.AsyncClient) -> None:
        self.base = base
        self._client = client

    async def search(self, resource_type: str, query: str, *, lenient: bool) -> Found:
        found = Found(200)
        headers = {
            "Accept": "application/fhir+json",
            "Prefer": f"handling={'lenient' if lenient else 'strict'}",
        }
        link: str | None = f"{self.base}/{resource_type}?{query}"
        for _ in range(100):
            if link is None:
                return found
            answer = await self._client.get(link, headers=headers)
            if answer.status_code != 200:
                return Found(answer.status_code)
            link = found.take(answer.json())
        raise AssertionError(f"the pages of {resource_type}?{query} have no end")
