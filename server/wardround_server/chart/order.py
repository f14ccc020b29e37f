"""The order of results for resources that are not in the chart file: the rules of `Compiler.sort_value`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

from .dates import Span
from .extract import Values
from .query import ID_PARAM, SortKey
from .values import Quantity, Reference, Text, Token

Keys = tuple[Any, ...]


def _comparable(value: Any) -> Any:
    if isinstance(value, Span):
        return value.low
    if isinstance(value, Text):
        return value.folded.encode()
    if isinstance(value, Token):
        return value.code.encode() or None
    if isinstance(value, Quantity):
        return value.value
    if isinstance(value, Reference):
        return (value.url or f"{value.type}/{value.id}").encode()
    raise AssertionError(value)


def sort_keys(sort: Sequence[SortKey], resource_id: str, values: Values) -> Keys:
    """What each `_sort` key compares: of several values the one that comes first; None for none."""
    keys: list[Any] = []
    for key in sort:
        if key.param is ID_PARAM:
            keys.append(resource_id.encode())
            continue
        held = [_comparable(value) for value in values.get(key.param.stored_as, ())]
        present = [value for value in held if value is not None]
        pick = max if key.descending else min
        keys.append(pick(present) if present else None)
    return tuple(keys)


def compare(sort: Sequence[SortKey], left: Keys, right: Keys) -> int:
    """Negative where left comes first, 0 where no key tells them apart; missing values come last."""
    for key, one, other in zip(sort, left, right, strict=True):
        if one == other:
            continue
        if one is None or other is None:
            return 1 if one is None else -1
        return (1 if one > other else -1) * (-1 if key.descending else 1)
    return 0


def ordering(sort: Sequence[SortKey]) -> Any:
    """A key for `sorted` over tuples of sort keys."""
    return cmp_to_key(lambda left, right: compare(sort, left, right))
