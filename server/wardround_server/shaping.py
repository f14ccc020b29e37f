"""Putting as many entries of a page into a result as its bound allows, in either style.

Entries are read from the page one by one and no further than they are shown. Sizes are bytes of UTF-8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from .bundletext import BundleText, Entry
from .compact import EXACT, Json, clinical, factored, write_exactly

_NOTICE_ROOM = 900
"""Bytes kept free for what a cut result says of itself."""
_NAMED_OMISSIONS = 3
_FIRST_BATCH = 64

Shaped = tuple[str, str | None, int | None]
"""A result's text, its cursor, and where the page goes on (None: it is whole)."""


@dataclass
class Shaper(ABC):
    """One result in the making: entries from `start` on, `following` the page's own next link."""

    bundle: BundleText
    start: int | None
    following: str | None
    resume: str | None
    max_bytes: int
    notices: list[str]
    omitted: list[tuple[int, str]] = field(default_factory=list, init=False)

    @abstractmethod
    def render(self, shown: Sequence[Any], notices: Sequence[str], cursor: str | None) -> str:
        """The result with these entries."""

    @abstractmethod
    def shape(self) -> Shaped:
        """The result with as many entries as fit."""

    def room(self) -> int:
        """Bytes that entries may take beside the frame; with it there is room for what a cut is to say."""
        cursor = max(self.resume or "", self.following or "", key=len)
        return self.max_bytes - _size(self.render([], [*self.notices, "x" * _NOTICE_ROOM], cursor))

    def whole(self, shown: Sequence[Any]) -> Shaped:
        """The result where nothing is left of the page."""
        said = [*self.notices, *self._omission_notice(None)]
        return self.render(shown, said, self.following), self.following, None

    def cut(self, shown: Sequence[Any], rest: int) -> Shaped:
        """The result where the page goes on at `rest`."""
        way = "the next cursor continues after them" if self.resume else "narrow the search or lower _count"
        said = (
            f"Cut to stay within {self.max_bytes} bytes: {len(shown)} results of this page are here; {way}."
        )
        notices = [*self.notices, *self._omission_notice(rest), said]
        return self.render(shown, notices, self.resume), self.resume, rest

    def omit(self, entry: Entry) -> None:
        """Note that an entry is left out."""
        self.omitted.append((entry.start, _name(entry.value["resource"])))

    def _omission_notice(self, rest: int | None) -> list[str]:
        """What is said of resources that alone are too large, of those before the cut."""
        names = [name for start, name in self.omitted if rest is None or start < rest]
        if not names:
            return []
        listed = ", ".join(names[:_NAMED_OMISSIONS])
        beyond = len(names) - _NAMED_OMISSIONS
        more = f" and {beyond} more" if beyond > 0 else ""
        return [f"Left out, as too large for the limit of {self.max_bytes} bytes: {listed}{more}."]


@dataclass
class FhirShaper(Shaper):
    """The Bundle with some of its entries, spliced as the server wrote them."""

    def render(self, shown: Sequence[str], notices: Sequence[str], cursor: str | None) -> str:
        """The Bundle; what is to be said stands in an entry of mode outcome, as R4 has it."""
        links = [link for link in self.bundle.links if link.get("relation") != "next"]
        if cursor is not None:
            links.append({"relation": "next", "url": cursor})
        entries = list(shown)
        if notices:
            entries.insert(0, orjson.dumps(_outcome_entry(notices)).decode())
        return self.bundle.join(links, entries)

    def shape(self) -> Shaped:
        """Entries until the bound is reached."""
        room = self.room()
        shown: list[tuple[Entry, str, int]] = []
        used = 0
        for entry in self.bundle.entries(self.start):
            raw = self.bundle.text[entry.start : entry.end]
            size = _size(raw) + 1
            if size > room:
                self.omit(entry)
                continue
            shown.append((entry, raw, size))
            used += size
            if used > room + _NOTICE_ROOM:
                break
        else:
            result = self.whole([raw for _, raw, _ in shown])
            if _size(result[0]) <= self.max_bytes:
                return result
        return self._cut_back(shown, used, room)

    def _cut_back(self, shown: list[tuple[Entry, str, int]], used: int, room: int) -> Shaped:
        """Give back entries from the end until the result has room to say that it was cut."""
        rest: int | None = None
        while used > room:
            entry, _, size = shown.pop()
            used -= size
            rest = entry.start
        raws = [raw for _, raw, _ in shown]
        return self.whole(raws) if rest is None else self.cut(raws, rest)


@dataclass
class CompactShaper(Shaper):
    """Total, what all share, and each entry's own."""

    total: int | None

    def render(self, shown: Sequence[Json], notices: Sequence[str], cursor: str | None) -> str:
        """The compact form of these resources."""
        shared, entries = factored(shown)
        result: Json = {"total": self.total, "returned": len(entries)}
        if cursor is not None:
            result["next"] = cursor
        if notices:
            result["notice"] = list(notices)
        if shared:
            result["shared"] = shared
        result["entries"] = entries
        return write_exactly(result).decode()

    def shape(self) -> Shaped:
        """Batches of entries, each as large as all before, until they no longer fit."""
        room = self.room()
        entries = self.bundle.entries(self.start, EXACT)
        shown: list[tuple[Entry, Json]] = []
        resources: list[Json] = []
        size, batch, ended = 0, _FIRST_BATCH, False
        while size <= room and not ended:
            read = list(islice(entries, batch))
            shown += self._kept(read, room)
            resources = [resource for _, resource in shown]
            size = len(write_exactly(factored(resources)))
            ended = len(read) < batch
            batch = max(len(shown), _FIRST_BATCH)
        if ended:
            result = self.whole(resources)
            if _size(result[0]) <= self.max_bytes:
                return result
        count = _prefix(resources, room)
        if count == len(shown):
            return self.whole(resources)
        return self.cut(resources[:count], shown[count][0].start)

    def _kept(self, read: Sequence[Entry], room: int) -> list[tuple[Entry, Json]]:
        """Matches that would fit alone; the others are noted as left out."""
        kept: list[tuple[Entry, Json]] = []
        for entry in read:
            resource = clinical(entry.value)
            if resource.get("resourceType") == "OperationOutcome":
                continue
            if len(write_exactly(factored([resource]))) > room:
                self.omit(entry)
            else:
                kept.append((entry, resource))
        return kept


def _prefix(resources: Sequence[Json], room: int) -> int:
    """How many resources, from the first on, certainly fit: fewer share more, so they take no more."""
    shared, own = factored(resources)
    used = len(write_exactly((shared, ())))
    for count, rest in enumerate(own):
        used += len(write_exactly(rest)) + (count > 0)
        if used > room:
            # The first fits alone, where nothing is shared.
            return max(count, 1)
    return len(own)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _name(resource: Json) -> str:
    kind, ident = str(resource.get("resourceType", "resource")), str(resource.get("id", "without id"))
    return f"{kind[:64]}/{ident[:64]}".encode("ascii", "replace").decode()


def _outcome_entry(notices: Sequence[str]) -> Json:
    issues = [{"severity": "warning", "code": "informational", "diagnostics": notice} for notice in notices]
    return {
        "resource": {"resourceType": "OperationOutcome", "issue": issues},
        "search": {"mode": "outcome"},
    }
