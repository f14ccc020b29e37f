"""The nine functions as the contract lists them."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from wardround_schemas.function import (
    PROFILES,
    Function,
    Profile,
    decode,
    find_function,
    finish_function,
    load_functions,
)
from wardround_schemas.loading import accepted, advertised
from wardround_schemas.validate import _validator

PAGING = {"_count", "_sort", "page"}

CONTRACT = {
    "patient.search": (
        "GET",
        "/Patient",
        {
            *("address", "address-city", "address-postalcode", "address-state", "birthdate", "family"),
            *("gender", "given", "identifier", "legal-sex", "name", "telecom"),
        },
        set(),
    ),
    "condition.search": ("GET", "/Condition", {"category", "patient"}, {"patient"}),
    "lab.search": ("GET", "/Observation", {"code", "date", "patient"}, {"code", "patient"}),
    "vital.search": ("GET", "/Observation", {"category", "date", "patient"}, {"category", "patient"}),
    "medicationrequest.search": ("GET", "/MedicationRequest", {"category", "date", "patient"}, {"patient"}),
    "procedure.search": ("GET", "/Procedure", {"code", "date", "patient"}, {"date", "patient"}),
    "vital.create": (
        "POST",
        "/Observation",
        {"resourceType", "category", "code", "effectiveDateTime", "status", "valueString", "subject"},
        {"resourceType", "category", "code", "effectiveDateTime", "status", "valueString", "subject"},
    ),
    "medicationrequest.create": (
        "POST",
        "/MedicationRequest",
        {
            *("resourceType", "medicationCodeableConcept", "authoredOn", "dosageInstruction", "status"),
            *("intent", "subject"),
        },
        {
            *("resourceType", "medicationCodeableConcept", "authoredOn", "dosageInstruction", "status"),
            *("intent", "subject"),
        },
    ),
    "procedure.create": (
        "POST",
        "/ServiceRequest",
        {
            *("resourceType", "code", "authoredOn", "status", "intent", "priority", "subject", "note"),
            "occurrenceDateTime",
        },
        {"resourceType", "code", "authoredOn", "status", "intent", "priority", "subject"},
    ),
}

EVERY = [function for profile in PROFILES for function in load_functions(profile)]


def _ids(function: Function) -> str:
    return f"{function.name}-{function.profile}"


@pytest.mark.parametrize("profile", PROFILES)
def test_the_nine_functions_have_the_names_calls_and_parameters_of_the_contract(profile: Profile) -> None:
    functions = load_functions(profile)
    assert [f.name for f in functions] == list(CONTRACT)
    for function in functions:
        method, path, parameters, required = CONTRACT[function.name]
        assert (function.method, function.path) == (method, path)
        names = set(function.input_schema["properties"])
        assert names - PAGING == parameters
        assert names >= PAGING if function.kind == "search" else not PAGING & names
        assert set(function.input_schema.get("required", [])) == required


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_a_function_is_titled_by_its_dotted_name_and_says_what_it_returns(function: Function) -> None:
    assert function.title == function.name
    assert function.tool_name == function.name.replace(".", "_")
    assert "Returns" in function.description
    if function.kind == "search":
        assert "No match" in function.description


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_searches_are_read_only_and_creates_are_neither_idempotent_nor_destructive(
    function: Function,
) -> None:
    reads = function.kind == "search"
    assert function.annotations == {
        "readOnlyHint": reads,
        "destructiveHint": False,
        "idempotentHint": reads,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("function", [*EVERY, finish_function()], ids=_ids)
def test_the_schemas_are_draft_2020_12_and_the_example_is_a_valid_call(function: Function) -> None:
    for schema in (function.input_schema, function.accepts, *function.outputs.values()):
        Draft202012Validator.check_schema(schema)
    Draft202012Validator(function.input_schema).validate(function.example)
    assert decode(function, function.example).faults == ()


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_every_parameter_is_described_and_its_example_is_right(function: Function) -> None:
    for name, schema in function.accepts["properties"].items():
        shown = function.input_schema["properties"][name]
        assert all(form.get("description") for form in shown.get("anyOf", [shown])), name
        examples = schema.get("examples") or [schema["const"]]
        for example in examples:
            Draft202012Validator(shown).validate(example)


@pytest.mark.parametrize("function", EVERY, ids=_ids)
def test_what_is_for_us_alone_is_never_shown(function: Function) -> None:
    text = str(function.input_schema)
    assert "x-also" not in text
    assert "'examples'" not in text


def test_the_profiles_type_route_and_note_as_their_sources_do() -> None:
    def shown(profile: Profile, name: str) -> dict[str, object]:
        function = find_function(name, profile)
        assert function is not None
        properties: dict[str, object] = function.input_schema["properties"]
        return properties

    def dig(value: object, *keys: str) -> object:
        for key in keys:
            assert isinstance(value, dict)
            value = value[key]
        return value

    for profile, note in (("medagentbench", "object"), ("r4", "array")):
        assert profile in get_args(Profile)
        orders = shown(profile, "medicationrequest.create")  # type: ignore[arg-type]
        assert dig(orders, "dosageInstruction", "items", "properties", "route", "type") == "object"
        services = shown(profile, "procedure.create")  # type: ignore[arg-type]
        assert dig(services, "note", "type") == note


def test_loading_the_functions_imports_no_validator() -> None:
    """The validating library costs start-up time; it comes with the first call."""
    check = (
        "import sys\n"
        "from wardround_schemas import canonical, chart, formats, function, lint, options, records\n"
        "function.load_functions(); formats.export('mcp'); records.record_schema('task')\n"
        "print(sorted({'jsonschema', 'referencing', 'pydantic', 'mcp'} & sys.modules.keys()))\n"
    )
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_a_validator_is_built_once_for_each_function() -> None:
    function = load_functions()[0]
    decode(function, {})
    before = _validator.cache_info()
    for _ in range(5):
        decode(function, {"family": "Okafor"})
    after = _validator.cache_info()
    assert after.misses == before.misses
    assert after.hits == before.hits + 5


def test_a_function_is_found_by_either_name_and_by_no_other() -> None:
    assert find_function("lab.search") is find_function("lab_search")
    assert find_function("lab.search", "r4") is not find_function("lab.search")
    assert find_function("lab-search") is None
    assert find_function("finish") is None


def test_finish_takes_a_list_of_answers_and_nothing_else() -> None:
    finish = finish_function()
    assert (finish.name, finish.tool_name, finish.kind) == ("finish", "finish", "finish")
    for answers in ([], [1.8], ["S1234567"], [7.4, "2023-11-02"], [None], [[1]]):
        assert decode(finish, {"answers": answers}).arguments == {"answers": answers}
    assert decode(finish, {"answers": "[1.8]"}).arguments == {"answers": [1.8]}
    for wrong in ({}, {"answers": 1.8}, {"answers": "1.8"}, {"answers": None}, {"answers": [], "note": "x"}):
        assert decode(finish, wrong).faults


def test_a_further_form_is_accepted_but_not_shown() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "A.", "examples": [1], "x-also": {"type": "string"}}
        },
    }
    assert advertised(schema)["properties"]["a"] == {"type": "integer", "description": "A."}
    assert accepted(schema)["properties"]["a"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
