"""A searchset Bundle as text: where its members and entries stand, so that they can be spliced unread.

What the server wrote is never written anew: numbers keep their digits, members their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from wardround_schemas.errors import ChartError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class BundleText:
    """A Bundle's top-level members as raw JSON, in order, and its entries as raw JSON.

    `members` leaves out `entry` and `link`; `links` is the raw link list, "[]" where there is none.
    """

    members: tuple[tuple[str, str], ...]
    links: str
    entries: tuple[str, ...]


def split_bundle(text: str) -> BundleText:
    """Take a Bundle apart. Raises ChartError where the text is no searchset Bundle."""
    members: list[tuple[str, str]] = []
    links = "[]"
    entries: tuple[str, ...] = ()
    try:
        for name, start, end in _members(text):
            if name == "entry":
                entries = tuple(_elements(text, start))
            elif name == "link":
                links = text[start:end]
            else:
                members.append((name, text[start:end]))
    except (ValueError, IndexError, RecursionError) as error:
        raise ChartError(f"the search result is not JSON: {error}") from error
    if ("resourceType", '"Bundle"') not in members:
        raise ChartError("the search result is not a Bundle")
    return BundleText(tuple(members), links, entries)


def join_bundle(bundle: BundleText, links: str, entries: list[str]) -> str:
    """A Bundle of the same members with other links and entries; no `entry` where there are none."""
    parts = [f"{json.dumps(name)}:{raw}" for name, raw in bundle.members]
    parts.append(f'"link":{links}')
    if entries:
        parts.append(f'"entry":[{",".join(entries)}]')
    return "{" + ",".join(parts) + "}"


def _members(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of the value of each member of the object that is the whole text."""
    at = _skip(text, _expect(text, _skip(text, 0), "{"))
    while text[at] != "}":
        _expect(text, at, '"')
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _expect(text, _skip(text, at), ":"))
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        at = _next(text, end, "}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("text follows the object")


def _elements(text: str, start: int) -> Iterator[str]:
    """The raw elements of the list that starts here."""
    at = _skip(text, _expect(text, start, "["))
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _next(text, end, "]")


def _next(text: str, at: int, closing: str) -> int:
    """The start of what follows a value: past a comma, or at the closing bracket."""
    at = _skip(text, at)
    return at if text[at] == closing else _skip(text, _expect(text, at, ","))


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space is not None else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"expected {mark} at character {at}")
    return at + 1
