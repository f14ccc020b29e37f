"""Random valid calls, drawn from the schemas that agents are shown."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from wardround_schemas.dates import date_fault, search_date_fault
from wardround_schemas.function import Function

Schema = dict[str, Any]

AWKWARD = [
    "a+b",
    "a&b=c",
    "a|b",
    "a,b",
    "a b",
    "%2B",
    "Åsa Łódź",
    "名前",
    '"q"',
    "a/b?c#d",
    "50%",
    "\\,",
    "\t",
    "'",
]
TEXT = st.one_of(
    st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that a schema of the shown subset accepts."""
    if "anyOf" in schema:
        return st.one_of([values(form) for form in schema["anyOf"]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema["type"]
    if kind == "string":
        return _strings(schema)
    if kind == "integer":
        return st.integers(schema.get("minimum", -100), schema.get("maximum", 100))
    if kind == "number":
        return st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False))
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems", schema.get("minItems", 0) + 2)
        return st.lists(values(schema["items"]), min_size=low, max_size=high)
    return objects(schema)


def _strings(schema: Schema) -> st.SearchStrategy[str]:
    pattern = schema.get("pattern")
    if pattern is None:
        return TEXT
    texts: st.SearchStrategy[str] = st.from_regex(re.compile(pattern), fullmatch=True)
    # What no pattern can say: that the day exists.
    return texts.filter(_exists) if "[1-9][0-9]{3}" in pattern else texts


def _exists(text: str) -> bool:
    return search_date_fault(text) is None or date_fault(text, lenient=True) is None


def objects(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with all required members and any of the others."""
    needed = schema.get("required", ())
    properties = schema["properties"]
    return st.fixed_dictionaries(
        {name: values(properties[name]) for name in properties if name in needed},
        optional={name: values(properties[name]) for name in properties if name not in needed},
    )


def calls(function: Function) -> st.SearchStrategy[dict[str, Any]]:
    """Valid calls of a function; `page` is left out, since it stands for the rest."""
    schema = dict(function.input_schema)
    schema["properties"] = {n: s for n, s in schema["properties"].items() if n != "page"}
    return objects(schema).filter(lambda call: not {"gender", "legal-sex"} <= call.keys())


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
"""Whatever a model may send, NaN, huge numbers and lone surrogates included."""
