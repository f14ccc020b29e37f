"""The compact form of search results: every clinical element, said once where all entries share it.

Left out are meta, the narrative, fullUrl, search and links. An entry is `shared` merged with the
entry's own members: objects member by member, lists of objects item by item. Numbers keep their digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

Json = dict[str, Any]

_LEFT_OUT = frozenset({"meta", "text"})


class Digits(NamedTuple):
    """A number as the chart wrote it: 7.10 stays 7.10."""

    text: str


def _whole(text: str) -> int | Digits:
    return int(text) if len(text) <= 18 else Digits(text)


EXACT = json.JSONDecoder(parse_float=Digits, parse_int=_whole)
"""Keeps every number that a float or 64 bits could change as `Digits`."""


def read_exactly(text: str) -> Any:
    """Parse JSON so that `write_exactly` gives every number with the same digits."""
    return EXACT.decode(text)


def write_exactly(value: object) -> bytes:
    """Compact JSON of what `read_exactly` read."""
    return orjson.dumps(value, default=_fragment)


def _fragment(value: object) -> orjson.Fragment:
    if isinstance(value, Digits):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is not JSON")


def clinical(entry: Json) -> Json:
    """An entry's resource without what no clinician reads; a resource without an id keeps its fullUrl."""
    resource: Json = entry["resource"]
    kept = {name: value for name, value in resource.items() if name not in _LEFT_OUT}
    if "id" not in kept and "fullUrl" in entry:
        kept["fullUrl"] = entry["fullUrl"]
    return kept


def factored(resources: Sequence[Json]) -> tuple[Json, list[Json]]:
    """What all resources share, and each one's own rest. Fewer than two share nothing."""
    if len(resources) < 2:
        return {}, list(resources)
    return _factored(resources)


def merged(shared: Json, own: Json) -> Json:
    """The resource that `factored` took apart."""
    whole = dict(shared)
    for name, value in own.items():
        whole[name] = _merged_value(whole[name], value) if name in whole else value
    return whole


def _merged_value(shared: Any, own: Any) -> Any:
    if isinstance(own, dict):
        return merged(shared, own)
    return [merged(part, rest) for part, rest in zip(shared, own, strict=True)]


def _factored(objects: Sequence[Json]) -> tuple[Json, list[Json]]:
    """Take objects apart member by member: what is the same in all, and what each has beside it."""
    shared: Json = {}
    own: list[Json] = [dict(item) for item in objects]
    for name, value in objects[0].items():
        if not all(name in item for item in objects):
            continue
        column = [item[name] for item in objects]
        common, rests = _factored_column(value, column)
        if common is None:
            continue
        shared[name] = common
        for item, rest in zip(own, rests, strict=True):
            if _is_nothing(rest):
                del item[name]
            else:
                item[name] = rest
    return shared, own


def _factored_column(value: Any, column: list[Any]) -> tuple[Any, list[Any]]:
    """The same for one member's values; None where they share nothing."""
    if _all_same(value, column):
        return value, [None] * len(column)
    if all(isinstance(item, dict) for item in column):
        common, rests = _factored(column)
        return common or None, rests
    if all(map(_is_list_of_objects, column)) and len({len(item) for item in column}) == 1:
        parts = [_factored(items) for items in zip(*column, strict=True)]
        if any(common for common, _ in parts):
            split = zip(*(rests for _, rests in parts), strict=True)
            return [common for common, _ in parts], [list(rests) for rests in split]
    return None, []


def _all_same(value: Any, column: list[Any]) -> bool:
    """Equal as JSON: true is not 1, though Python says so."""
    text = _text(value)
    return all(item == value and _text(item) == text for item in column)


def _text(value: Any) -> bytes:
    return orjson.dumps(value, default=_fragment, option=orjson.OPT_SORT_KEYS)


def _is_nothing(rest: Any) -> bool:
    """Whether a member is wholly among what is shared."""
    return rest is None or rest == {} or (isinstance(rest, list) and not any(rest))


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
