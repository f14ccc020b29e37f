"""Searches that are not sent: those that a server might answer with everybody's records.

Some servers, HAPI among them, leave out a parameter without a value and overlook a modifier that the
parameter does not have. The answer is then to another question than the one asked.
"""

from __future__ import annotations

from wardround_schemas.chart import Params
from wardround_schemas.errors import ChartError

MODIFIERS: dict[str, frozenset[str]] = {
    "string": frozenset({"exact", "contains", "text"}),
    "token": frozenset({"text", "not", "above", "below", "in", "not-in", "of-type"}),
    "reference": frozenset({"identifier", "above", "below"}),
    "uri": frozenset({"above", "below"}),
    "date": frozenset(),
    "quantity": frozenset(),
}
"""The modifiers of each kind of parameter beside `missing` (FHIR R4, 3.1.1.5.4); a reference takes types."""
ANY_MODIFIER = frozenset().union(*MODIFIERS.values())


def check_question(resource_type: str, params: Params) -> None:
    """Raise ChartError with status 400 for a filter without a value or with a modifier that it can't have.

    A `_count` that is no count is refused too: HAPI answers a negative one with pages without end.

    What kind of parameter it is, is known for the types that the embedded chart searches; for others, any
    modifier of R4's passes. What else shapes the result (`_sort`, ...) is the server's affair.
    """
    from ..chart.params import SEARCHED_TYPES, search_params

    known = search_params(resource_type) if resource_type in SEARCHED_TYPES else {}
    for name, value in params:
        head = name.partition(".")[0]
        label, _, modifier = head.partition(":")
        if name == "_count" and not (value.isascii() and value.isdigit()):
            raise ChartError("_count takes a whole number of at least 0", status=400)
        if label.startswith("_") and label not in ("_id", "_lastUpdated", "_tag", "_profile", "_security"):
            continue
        if not value.strip(" ,|"):
            raise ChartError(f"parameter {label} has no value: leave it out or give one", status=400)
        if not modifier or "." in name:
            continue
        if modifier == "missing":
            if value not in ("true", "false"):
                raise ChartError(f"{label}:missing takes true or false", status=400)
            continue
        kind = known[label].kind if label in known else None
        typed = modifier[:1].isupper() and kind in ("reference", None)
        if not typed and modifier not in (ANY_MODIFIER if kind is None else MODIFIERS[kind]):
            raise ChartError(f"modifier :{modifier[:40]} is not one that {label} has", status=400)
