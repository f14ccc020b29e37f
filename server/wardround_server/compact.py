"""The compact form of search results: every clinical element, said once where all entries share it.

Left out are meta, the narrative, fullUrl, search and links. An entry is `shared` merged with the
entry's own members: objects member by member, lists of objects item by item. Numbers keep their digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

_LEFT_OUT = frozenset({"meta", "text"})


@dataclass(frozen=True, slots=True)
class Digits:
    """A number as the chart wrote it: 7.10 stays 7.10."""

    text: str


def read_exactly(text: str) -> Any:
    """Parse JSON with every number that a float or 64 bits could change kept as `Digits`."""
    return json.loads(text, parse_float=Digits, parse_int=_whole)


def _whole(text: str) -> int | Digits:
    return int(text) if len(text) <= 18 else Digits(text)


def write_exactly(value: object) -> bytes:
    """Compact JSON of what `read_exactly` read."""
    return orjson.dumps(value, default=_fragment, option=orjson.OPT_PASSTHROUGH_DATACLASS)


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
    shared = _common(resources)
    return shared, [_rest(resource, shared) for resource in resources]


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


def _common(objects: Sequence[Json]) -> Json:
    """The members that all objects have with the same value; objects, and lists of them, part by part."""
    first, others = objects[0], objects[1:]
    shared: Json = {}
    for name, value in first.items():
        if not all(name in other for other in others):
            continue
        values = [value, *(other[name] for other in others)]
        if all(_same(value, other) for other in values[1:]):
            shared[name] = value
        else:
            part = _common_part(values)
            if part is not None:
                shared[name] = part
    return shared


def _common_part(values: Sequence[Any]) -> Json | list[Json] | None:
    """What differing values share all the same: members of objects, or of objects in lists as long."""
    if all(isinstance(value, dict) for value in values):
        return _common(values) or None
    if all(map(_is_list_of_objects, values)) and len({len(value) for value in values}) == 1:
        parts = [_common(items) for items in zip(*values, strict=True)]
        return parts if any(parts) else None
    return None


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _rest(resource: Json, shared: Json) -> Json:
    own: Json = {}
    for name, value in resource.items():
        if name not in shared:
            own[name] = value
        elif not _same(value, shared[name]):
            own[name] = _rest_part(value, shared[name])
    return own


def _rest_part(value: Any, shared: Any) -> Any:
    if isinstance(value, dict):
        return _rest(value, shared)
    return [_rest(item, part) for item, part in zip(value, shared, strict=True)]


def _same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1, though Python says so."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
