"""Properties of decoding that no list of cases covers."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.schemas.strategies import ANY_JSON, calls
from wardround_schemas.function import (
    MAX_EXPLANATION,
    PROFILES,
    Function,
    decode,
    explain,
    load_functions,
    search_query,
)

BOUNDED = settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
EVERY = [function for profile in PROFILES for function in load_functions(profile)]
ADVERTISED = [function for function in EVERY if function.profile == "medagentbench"]
SEARCHES = [function for function in ADVERTISED if function.kind == "search"]


def _ids(function: Function) -> str:
    return f"{function.name}-{function.profile}"


@pytest.mark.parametrize("function", ADVERTISED, ids=_ids)
def test_whatever_the_shown_schema_allows_is_accepted(function: Function) -> None:
    shown = Draft202012Validator(function.input_schema)

    @seed(1)
    @BOUNDED
    @given(calls(function))
    def check(call: dict[str, Any]) -> None:
        shown.validate(call)
        assert decode(function, call).faults == ()

    check()


@pytest.mark.parametrize("function", SEARCHES, ids=_ids)
def test_every_value_of_a_valid_search_becomes_a_parameter_unchanged(function: Function) -> None:
    @seed(2)
    @BOUNDED
    @given(calls(function))
    def check(call: dict[str, Any]) -> None:
        query = search_query(function, decode(function, call).arguments)
        expected: set[tuple[str, str]] = set()
        for name, value in call.items():
            for item in value if isinstance(value, list) else [value]:
                if name not in ("patient", "_sort"):
                    expected.add((function.sent_as.get(name, name), str(item)))
        assert {pair for pair in query if pair[0] not in ("patient", "_sort")} == expected
        assert dict(query).get("patient") == (
            call["patient"].rpartition("/")[2] if "patient" in call else None
        )

    check()


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_one_fault_is_explained_at_its_own_path(function: Function) -> None:
    schema = function.input_schema
    places = list(_places(schema, function.example))

    @seed(3)
    @BOUNDED
    @given(st.sampled_from(places), st.sampled_from(["drop", "type", "unknown"]))
    def check(place: tuple[tuple[str | int, ...], bool], how: str) -> None:
        path, needed = place
        call = copy.deepcopy(function.example)
        holder: Any = call
        for step in path[:-1]:
            holder = holder[step]
        expected = _shown(path)
        if how == "drop" and needed:
            del holder[path[-1]]
        elif how == "unknown":
            call["zzz"] = 1
            expected = "$.zzz"
        else:
            # A value of a type that no parameter takes in any form.
            holder[path[-1]] = True
        faults = decode(function, call).faults
        assert [fault.path for fault in faults] == [expected]
        assert faults[0].message
        assert faults[0].expected
        assert expected in explain(function, faults)

    check()


def _places(
    schema: dict[str, Any], value: Any, path: tuple[str | int, ...] = ()
) -> list[tuple[tuple[str | int, ...], bool]]:
    """Every place of an example that its schema describes: path, and whether it is required."""
    found: list[tuple[tuple[str | int, ...], bool]] = []
    for name, sub in schema.get("properties", {}).items():
        if isinstance(value, dict) and name in value:
            found.append(((*path, name), name in schema.get("required", ())))
            found += _places(sub, value[name], (*path, name))
    if "items" in schema and isinstance(value, list):
        for index, item in enumerate(value):
            found += _places(schema["items"], item, (*path, index))
    return found


def _shown(path: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_nothing_that_a_model_sends_raises_or_makes_a_long_or_unrecordable_answer(function: Function) -> None:
    names = st.sampled_from([*function.input_schema["properties"], "other"])
    mangled = st.dictionaries(names, ANY_JSON, max_size=6).map(lambda more: {**function.example, **more})

    @seed(4)
    @BOUNDED
    @given(st.one_of(ANY_JSON, mangled, st.text(max_size=80), mangled.map(_as_text)))
    def check(sent: object) -> None:
        decoded = decode(function, sent, base_url="http://127.0.0.1/fhir")
        json.dumps(decoded.arguments, allow_nan=False, ensure_ascii=False).encode()
        assert len(explain(function, decoded.faults)) <= MAX_EXPLANATION
        if not decoded.faults and function.kind == "search":
            assert all(isinstance(value, str) for _, value in search_query(function, decoded.arguments))

    check()


def _as_text(call: dict[str, Any]) -> str:
    return json.dumps(call)


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_decoding_what_was_decoded_changes_nothing(function: Function) -> None:
    names = st.sampled_from(list(function.input_schema["properties"]))
    mangled = st.dictionaries(names, ANY_JSON, max_size=3).map(lambda more: {**function.example, **more})

    @seed(5)
    @BOUNDED
    @given(mangled)
    def check(sent: dict[str, Any]) -> None:
        once = decode(function, sent)
        if not once.faults:
            assert decode(function, once.arguments) == once

    check()
