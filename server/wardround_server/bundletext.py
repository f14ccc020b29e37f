"""A searchset Bundle as text: where its members and entries stand, so that they can be spliced unread.

What the server wrote is never written anew: numbers keep their digits, members their order. Entries
are read one by one, so that a page of which little is shown is not read to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wardround_schemas.chart import SearchPage
from wardround_schemas.errors import ChartError

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = json.JSONDecoder()
_FAULTY = (ValueError, IndexError, RecursionError)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its place in the text and its value as the decoder made it."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class BundleText:
    """A Bundle's text, its members before the entries as raw JSON, its links, and where its first entry is.

    Members after the entries are not read, but for total and links, which the page has.
    """

    text: str
    members: tuple[tuple[str, str], ...]
    links: tuple[dict[str, Any], ...]
    first: int | None

    def entries(self, start: int | None = None, decoder: json.JSONDecoder = _PLAIN) -> Iterator[Entry]:
        """The entries from the one at `start` on (default: all), decoded one by one.

        Raises ChartError at what is no entry with a resource.
        """
        at = self.first if start is None else start
        while at is not None:
            try:
                value, end = decoder.raw_decode(self.text, at)
                following = self._following(end)
            except _FAULTY as error:
                raise ChartError(f"the search result can't be read: {error}") from error
            if not isinstance(value, dict) or not isinstance(value.get("resource"), dict):
                raise ChartError("the search result has an entry without a resource")
            yield Entry(at, end, value)
            at = following

    def _following(self, end: int) -> int | None:
        """Where the entry after the one that ends here starts, None after the last."""
        at = _skip(self.text, end)
        return None if self.text[at] == "]" else _skip(self.text, _expect(self.text, at, ","))

    def join(self, links: Sequence[dict[str, Any]], entries: Sequence[str]) -> str:
        """A Bundle of the same members with other links and raw entries; no `entry` where there are none."""
        parts = [f"{json.dumps(name)}:{raw}" for name, raw in self.members]
        parts.append(f'"link":{json.dumps(links, ensure_ascii=False, separators=(",", ":"))}')
        if entries:
            parts.append(f'"entry":[{",".join(entries)}]')
        return "{" + ",".join(parts) + "}"


def open_bundle(page: SearchPage) -> BundleText:
    """A page's searchset Bundle as text. Raises ChartError where it is none."""
    try:
        text = page.body.decode()
        members, first = _members(text)
        head = dict(members)
        links = json.loads(head.get("link", "null")) or _page_links(page)
    except _FAULTY as error:
        raise ChartError(f"the search result is not JSON: {error}") from error
    if head.get("resourceType") != '"Bundle"':
        raise ChartError("the search result is not a Bundle")
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        raise ChartError("the search result's links are no list of links")
    kept = [(name, raw) for name, raw in members if name != "link"]
    if "total" not in head and page.total is not None:
        kept.append(("total", str(page.total)))
    return BundleText(text, tuple(kept), tuple(links), first)


def _page_links(page: SearchPage) -> list[dict[str, str]]:
    named = (("self", page.self_link), ("next", page.next))
    return [{"relation": relation, "url": url} for relation, url in named if url is not None]


def _members(text: str) -> tuple[list[tuple[str, str]], int | None]:
    """The raw members of the object that is the text, and where its first entry stands.

    Reading ends at the entries, unless the resource's type is still to come.
    """
    members: list[tuple[str, str]] = []
    first: int | None = None
    at = _skip(text, _expect(text, _skip(text, 0), "{"))
    while text[at] != "}":
        name, at = _PLAIN.raw_decode(text, at)
        start = _skip(text, _expect(text, _skip(text, at), ":"))
        if name == "entry":
            first = _skip(text, _expect(text, start, "["))
            first = None if text[first] == "]" else first
            if any(known == "resourceType" for known, _ in members):
                break
        _, end = _PLAIN.raw_decode(text, start)
        if name != "entry":
            members.append((name, text[start:end]))
        at = _skip(text, end)
        if text[at] != "}":
            at = _skip(text, _expect(text, at, ","))
    return members, first


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space is not None else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"expected {mark} at character {at}")
    return at + 1
