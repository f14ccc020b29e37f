"""The compact form of search results: every clinical element, said once where all entries share it.

Left out are meta, the narrative, fullUrl, search and links. An entry is `shared` merged with the
entry's own members, objects member by member; lists are never split. Numbers keep their digits.
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
        before = whole.get(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        whole[name] = merged(before, value) if both and before is not None else value
    return whole


def _common(objects: Sequence[Json]) -> Json:
    """The members that all objects have with the same value, objects member by member."""
    first, others = objects[0], objects[1:]
    shared: Json = {}
    for name, value in first.items():
        if not all(name in other for other in others):
            continue
        if all(_same(value, other[name]) for other in others):
            shared[name] = value
        elif isinstance(value, dict) and all(isinstance(other[name], dict) for other in others):
            inner = _common([value, *(other[name] for other in others)])
            if inner:
                shared[name] = inner
    return shared


def _rest(resource: Json, shared: Json) -> Json:
    own: Json = {}
    for name, value in resource.items():
        if name not in shared:
            own[name] = value
        elif not _same(value, shared[name]):
            own[name] = _rest(value, shared[name])
    return own


def _same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1, though Python says so."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
