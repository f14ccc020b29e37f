"""Each rule of the lint finds what it is there to find."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from wardround_schemas.formats import FORMATS, Format, export, tool_schemas
from wardround_schemas.lint import lint


def broken(form: Format, path: list[str | int], change: Any) -> list[str]:
    """The lint's findings after one change in the first tool's (patient search) parameters."""
    document = copy.deepcopy(export(form))
    holder: Any = tool_schemas(form, document)[0][2]
    for step in path[:-1]:
        holder = holder[step]
    if change is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = change
    return lint(form, document)


PLAIN: dict[str, Any] = {"type": "string", "description": "A name."}


@pytest.mark.parametrize(
    ("path", "change", "says"),
    [
        (["properties", "name"], {"$ref": "#/x"}, "$ref"),
        (["oneOf"], [PLAIN], "oneOf"),
        (["allOf"], [PLAIN], "allOf"),
        (["anyOf"], [PLAIN], "anyOf at the root"),
        (["$defs"], {}, "$defs"),
        (["type"], "array", "not an object"),
        (["properties"], None, "no properties"),
        (["properties", "a b"], PLAIN, "property name"),
        (["properties", "x" * 65], PLAIN, "property name"),
        (["properties", "name"], {"description": "A name."}, "type is None"),
        (["properties", "name"], {"type": ["string", "null"]}, "a list of types"),
        (["properties", "name"], {"type": ["string", "integer"]}, "a list of types"),
        (["properties", "name"], {"type": "array"}, "a list without items"),
        (["properties", "name"], {"type": "object"}, "an object without properties"),
        (["properties", "name"], {"type": "string", "format": "date-time"}, "format"),
        (["properties", "name"], {"type": "string", "default": "x"}, "default"),
        (["properties", "name"], {"type": "string", "examples": ["x"]}, "examples"),
        (["properties", "name"], {"type": "string", "pattern": "x"}, "not anchored"),
        (["properties", "name"], {"type": "string", "pattern": "^(?=x)x$"}, "not portable"),
        (["properties", "name"], {"type": "string", "pattern": r"^\d$"}, "not portable"),
        (["properties", "name"], {"type": "string", "enum": []}, "an empty enum"),
        (["properties", "name"], {"type": "integer", "enum": [1]}, "an enum of other than strings"),
        (["properties", "name"], {"anyOf": [PLAIN], "description": "x"}, "anyOf with other keywords"),
        (["required"], ["nobody"], "requires what is no property"),
        (["required"], [], "an empty required"),
    ],
)
def test_a_schema_that_a_consumer_refuses_is_found(path: list[str | int], change: Any, says: str) -> None:
    for form in ("mcp", "anthropic", "openai"):
        found = broken(form, path, change)
        assert any(says in line and "patient_search" in line for line in found), found


def test_deep_nesting_is_found() -> None:
    deep: dict[str, Any] = PLAIN
    for _ in range(11):
        deep = {"type": "object", "properties": {"a": deep}}
    assert any("levels deep" in line for line in broken("openai", ["properties", "name"], deep))


@pytest.mark.parametrize(
    ("path", "change", "says"),
    [
        (["additionalProperties"], None, "not closed"),
        (["additionalProperties"], True, "not closed"),
        (["required"], ["name"], "not required"),
        (["properties", "name"], {"type": "string", "pattern": "^x$"}, "pattern"),
        (["properties", "_count"], {"type": "integer", "minimum": 1}, "minimum"),
        (["properties", "name"], {"type": ["string", "integer", "null"]}, "a list of types"),
    ],
)
def test_strict_mode_has_rules_of_its_own(path: list[str | int], change: Any, says: str) -> None:
    assert any(says in line for line in broken("openai-strict", path, change))


@pytest.mark.parametrize(
    ("path", "change", "says"),
    [
        (["additionalProperties"], False, "additionalProperties"),
        (["properties", "name"], {"type": "string"}, "not in capitals"),
        (["properties", "name"], {"type": "STRING", "const": "x"}, "const"),
    ],
)
def test_gemini_has_rules_of_its_own(path: list[str | int], change: Any, says: str) -> None:
    assert any(says in line for line in broken("gemini", path, change))


def test_names_descriptions_and_doubles_are_checked() -> None:
    def with_body(**changes: Any) -> list[str]:
        document = export("anthropic")
        document[0] |= changes
        return lint("anthropic", document)

    assert any("a name that a provider refuses" in line for line in with_body(name="patient.search"))
    assert any("a name that a provider refuses" in line for line in with_body(name="x" * 65))
    assert any("no description" in line for line in with_body(description=" "))
    assert any("more than 1024" in line for line in with_body(description="x" * 1025))
    assert any("listed twice" in line for line in with_body(name="lab_search"))


def test_mcp_tools_need_a_title_and_all_four_hints() -> None:
    document = export("mcp")
    del document["tools"][0]["annotations"]["openWorldHint"]
    document["tools"][1]["title"] = ""
    found = lint("mcp", document)
    assert any("openWorldHint" in line for line in found)
    assert any("no title" in line for line in found)


def test_the_original_form_may_list_a_name_twice_but_needs_the_original_shape() -> None:
    document = export("medagentbench")
    assert lint("medagentbench", document) == []
    document[0]["name"] = "condition_search"
    assert any("a name that a provider refuses" in line for line in lint("medagentbench", document))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_known_to_the_lint(form: Format) -> None:
    assert len(tool_schemas(form, export(form))) == 9
