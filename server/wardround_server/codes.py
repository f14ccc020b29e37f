"""Which codes a chart holds, with counts: what an agent or a person needs before asking for labs."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from .backends.base import Backend

_SAMPLE_PAGES = 5
_SAMPLE_COUNT = "200"


class CodeList:
    """The Observation codes of one chart, read once and kept.

    The embedded chart counts every result. A remote server offers no such count, so there the
    newest 1,000 results are looked at, and the list says so.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._read: asyncio.Task[dict[str, Any]] | None = None

    async def to_json(self) -> dict[str, Any]:
        """{"complete": whether all results were counted, "codes": [{code, display, category, count}]}."""
        if self._read is None or (self._read.done() and self._read.exception() is not None):
            self._read = asyncio.ensure_future(self._load())
        return await asyncio.shield(self._read)

    async def find(self, code: str) -> dict[str, Any] | None:
        """The entry of one code, None where the chart has no such code."""
        listed = await self.to_json()
        return next((entry for entry in listed["codes"] if entry["code"] == code), None)

    async def starting_with(self, text: str) -> list[str]:
        """The codes that start with the text, without regard to case; most frequent first."""
        listed = await self.to_json()
        wanted = text.lower()
        return [entry["code"] for entry in listed["codes"] if entry["code"].lower().startswith(wanted)]

    async def _load(self) -> dict[str, Any]:
        from .backends.embedded import EmbeddedBackend

        if isinstance(self._backend, EmbeddedBackend):
            from .chart.codes import observation_codes

            # Half a million results take long enough to be counted off the event loop.
            codes = await asyncio.to_thread(observation_codes, self._backend.chart)
            return {"complete": True, "codes": codes}
        return {"complete": False, "codes": await self._sampled()}

    async def _sampled(self) -> list[dict[str, Any]]:
        counts: Counter[str] = Counter()
        known: dict[str, dict[str, Any]] = {}
        page = await self._backend.search("Observation", [("_sort", "-date"), ("_count", _SAMPLE_COUNT)])
        for _ in range(_SAMPLE_PAGES):
            for resource in page.resources():
                entry = _code_of(resource)
                if entry is not None:
                    counts[entry["code"]] += 1
                    known.setdefault(entry["code"], entry)
            if page.next is None:
                break
            page = await self._backend.next_page(page.next)
        return [{**known[code], "count": count} for code, count in counts.most_common()]


def _code_of(resource: dict[str, Any]) -> dict[str, Any] | None:
    concept = resource.get("code")
    if not isinstance(concept, dict):
        return None
    codings = [c for c in concept.get("coding") or () if isinstance(c, dict) and c.get("code")]
    code = codings[0]["code"] if codings else concept.get("text")
    if not isinstance(code, str):
        return None
    display = codings[0].get("display") if codings else None
    categories = [
        coding.get("code")
        for category in resource.get("category") or ()
        if isinstance(category, dict)
        for coding in category.get("coding") or ()
        if isinstance(coding, dict)
    ]
    return {"code": code, "display": display or concept.get("text"), "category": next(iter(categories), None)}
