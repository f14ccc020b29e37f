"""Searchset Bundles put together from stored bytes, which are never parsed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson


class Entry(NamedTuple):
    """One entry: the resource's type, id and JSON bytes."""

    resource_type: str
    id: str
    body: bytes


def searchset(
    base_url: str,
    *,
    total: int | None,
    self_url: str,
    next_url: str | None = None,
    matches: Iterable[Entry] = (),
    included: Iterable[Entry] = (),
    outcome: bytes | None = None,
) -> bytes:
    """A searchset Bundle. Without entries there is no `entry` key: FHIR allows no empty lists."""
    base = base_url.encode()
    pieces: list[bytes] = []
    for mode, entries in ((b"match", matches), (b"include", included)):
        tail = b',"search":{"mode":"' + mode + b'"}}'
        for kind, name, body in entries:
            pieces.append(
                b'{"fullUrl":"%b/%b/%b","resource":%b%b' % (base, kind.encode(), name.encode(), body, tail)
            )
    if outcome is not None:
        pieces.append(b'{"resource":' + outcome + b',"search":{"mode":"outcome"}}')
    return assemble(total, self_url, next_url, pieces)


def assemble(total: int | None, self_url: str, next_url: str | None, entries: Sequence[bytes]) -> bytes:
    """A searchset Bundle of entries that are JSON already."""
    links = [b'{"relation":"self","url":' + orjson.dumps(self_url) + b"}"]
    if next_url is not None:
        links.append(b'{"relation":"next","url":' + orjson.dumps(next_url) + b"}")
    head = b'{"resourceType":"Bundle","type":"searchset"'
    if total is not None:
        head += b',"total":%d' % total
    head += b',"link":[' + b",".join(links) + b"]"
    if not entries:
        return head + b"}"
    return head + b',"entry":[' + b",".join(entries) + b"]}"
