"""Whether one resource answers a search, judged on its search values alone.

The same rules as those that `sql` compiles, for resources that are not in the chart file: the ones that a
session has captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import dates
from .extract import Values
from .query import Criterion, QuantityQuery, ReferenceQuery, TokenQuery
from .values import Quantity, Reference, Token, normalize

ChainResolver = Callable[[Criterion], frozenset[str]]
"""The ids of the resources of `criterion.target` that answer `criterion.chained`."""


def token_matches(query: TokenQuery, token: Token) -> bool:
    """`code`, `system|code`, `|code` or `system|` against one coding; case counts."""
    if query.system is not None and query.system != token.system:
        return False
    return bool(token.code) if query.code is None else query.code == token.code


def reference_matches(query: ReferenceQuery, reference: Reference) -> bool:
    """A target by url or by id; a reference's type counts where the search names one."""
    if query.types and reference.type not in query.types:
        return False
    return reference.url == query.url if query.url else reference.id == query.id


def quantity_matches(query: QuantityQuery, quantity: Quantity) -> bool:
    """A number within the range that the search value's precision spans, in the unit asked for."""
    if query.system is not None and quantity.system != query.system:
        return False
    if query.code is not None and query.code not in (quantity.code, quantity.unit):
        return False
    value = quantity.value
    inside = query.low <= value < query.high
    match query.prefix:
        case "eq" | "ap":
            return inside
        case "ne":
            return not inside
        case "gt" | "sa":
            return value > query.value
        case "lt" | "eb":
            return value < query.value
        case "ge":
            return value >= query.value
        case "le":
            return value <= query.value


def text_matches(folded: str, text: str) -> bool:
    """`:text`: a display or a concept's text begins with the words asked for (`values.read_coding`)."""
    return any(normalize(line).startswith(folded) for line in text.split("\n"))


def _identifier_matches(query: TokenQuery, reference: Reference) -> bool:
    return reference.identifier is not None and token_matches(query, Token(*reference.identifier))


def _one(op: str, query: Any, value: Any, now: int) -> bool:
    match op:
        case "token" | "not":
            return token_matches(query, value)
        case "uri":
            return bool(value.code == query)
        case "text":
            return text_matches(query, value.text)
        case "date":
            return dates.matches(query, value, now)
        case "string":
            return bool(value.folded.startswith(query))
        case "contains":
            return query in value.folded
        case "exact":
            return bool(value.exact == query)
        case "reference":
            return reference_matches(query, value)
        case "identifier":
            return _identifier_matches(query, value)
        case "quantity":
            return quantity_matches(query, value)
    raise AssertionError(op)


def present(criterion: Criterion, values: Values) -> bool:
    """Whether the parameter has a value, within its targets where it shares another's values."""
    found = values.get(criterion.param.stored_as)
    if not found:
        return False
    if criterion.param.alias:
        return any(isinstance(ref, Reference) and ref.type in criterion.param.targets for ref in found)
    return True


def matches(
    criterion: Criterion, resource_id: str, values: Values, now: int, resolve: ChainResolver | None = None
) -> bool:
    """Whether a resource answers one criterion. `now` in ms is what `ap` measures from."""
    if criterion.op == "id":
        return resource_id in criterion.alternatives
    if criterion.op == "missing":
        return present(criterion, values) is not criterion.missing
    found = values.get(criterion.param.stored_as, ())
    if criterion.op == "chain":
        if resolve is None:
            raise ValueError("a chained parameter needs a resolver")
        ids = resolve(criterion)
        return any(ref.type == criterion.target and ref.id in ids for ref in found)
    answer = any(_one(criterion.op, query, value, now) for query in criterion.alternatives for value in found)
    return not answer if criterion.op == "not" else answer
