"""The six exports: what each consumer takes, and that a change is seen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from wardround_schemas.formats import FORMATS, Api, Format, export, strict_schema, tool_schemas
from wardround_schemas.function import PROFILES, Profile, decode, load_functions
from wardround_schemas.lint import lint

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _drop_descriptions(value: Any, *, names: bool = False) -> Any:
    """A schema without its descriptions; property names are not keywords."""
    if isinstance(value, list):
        return [_drop_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _drop_descriptions(item, names=key == "properties")
        for key, item in value.items()
        if names or key != "description"
    }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_export_passes_the_lint(form: Format, profile: Profile) -> None:
    assert lint(form, export(form, profile)) == []
    assert lint(form, export(form, profile, api="chat")) == []
    assert lint(form, export(form, profile, names="dotted"), dotted=True) == []


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("profile", PROFILES)
def test_an_export_is_what_its_snapshot_says(form: Format, profile: Profile) -> None:
    """A change of what agents are shown must be meant: WARDROUND_TEST_SNAPSHOTS=write takes it over."""
    text = json.dumps(export(form, profile), indent=2, ensure_ascii=False) + "\n"
    snapshot = SNAPSHOTS / f"{form}.{profile}.json"
    if os.environ.get("WARDROUND_TEST_SNAPSHOTS") == "write":
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")
    assert snapshot.read_text(encoding="utf-8") == text


def test_no_export_shares_its_parts_with_the_functions() -> None:
    for form in FORMATS:
        document = export(form)
        for _, _, schema in tool_schemas(form, document):
            schema["properties"].clear()
        assert lint(form, export(form)) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_openai_takes_both_exports_in_both_of_its_apis(profile: Profile) -> None:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionToolParam

    kinds: list[tuple[Api, TypeAdapter[Any]]] = [
        ("responses", TypeAdapter(FunctionToolParam)),
        ("chat", TypeAdapter(ChatCompletionFunctionToolParam)),
    ]
    forms: list[tuple[Format, bool]] = [("openai", False), ("openai-strict", True)]
    for form, strict in forms:
        for api, adapter in kinds:
            for tool in export(form, profile, api=api):
                assert adapter.validate_python(tool, strict=True)
                body = tool if api == "responses" else tool["function"]
                assert body["strict"] is strict
            wrong = (
                {"type": "function", "function": {}} if api == "chat" else {"type": "function", "name": "x"}
            )
            with pytest.raises(ValidationError):
                adapter.validate_python(wrong)


@pytest.mark.parametrize("profile", PROFILES)
def test_anthropic_takes_its_export(profile: Profile) -> None:
    from anthropic.types import ToolParam

    adapter = TypeAdapter(ToolParam)
    for tool in export("anthropic", profile):
        assert adapter.validate_python(tool, strict=True)
    with pytest.raises(ValidationError):
        adapter.validate_python({"name": "x"})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("revision", ["2025_11_25", "2026_07_28"])
def test_mcp_takes_the_list_in_both_revisions(profile: Profile, revision: str) -> None:
    import importlib

    wire = importlib.import_module(f"mcp_types._v{revision}")
    listed = export("mcp", profile)
    for tool in listed["tools"]:
        taken = wire.Tool.model_validate(tool)
        back = taken.model_dump(by_alias=True, exclude_none=True, mode="json")
        assert back == tool


@pytest.mark.parametrize("profile", PROFILES)
def test_mcp_lists_no_output_schema_since_results_would_have_to_be_sent_twice(profile: Profile) -> None:
    assert all("outputSchema" not in tool for tool in export("mcp", profile)["tools"])


def test_the_original_form_has_the_original_names_parameters_and_types(medagentbench_dir: Path) -> None:
    original = json.loads((medagentbench_dir / "funcs_v1.json").read_text(encoding="utf-8"))
    ours = export("medagentbench")
    assert [entry["name"] for entry in ours] == [entry["name"] for entry in original]
    for mine, theirs in zip(ours, original, strict=True):
        assert mine.keys() == theirs.keys()
        assert _drop_descriptions(mine["parameters"]) == _drop_descriptions(theirs["parameters"])


def test_the_original_form_borrows_no_sentence_of_the_original(medagentbench_dir: Path) -> None:
    def sentences(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(sentences, value)) if value else set()
        if not isinstance(value, dict):
            return set()
        found: set[str] = set().union(*map(sentences, value.values())) if value else set()
        text = value.get("description")
        if isinstance(text, str):
            # Instructions of a few words (Use "x") can hardly be said otherwise.
            found |= {" ".join(s.split()) for s in text.lower().split(".") if len(s.split()) > 6}
        return found

    original = json.loads((medagentbench_dir / "funcs_v1.json").read_text(encoding="utf-8"))
    for form in FORMATS:
        assert not sentences(export(form)) & sentences(original)


def test_the_original_form_is_the_same_in_both_profiles() -> None:
    assert export("medagentbench", "r4") == export("medagentbench", "medagentbench")


def test_the_original_form_names_none_of_our_additions() -> None:
    text = json.dumps(export("medagentbench"))
    for addition in (
        "_count",
        "_sort",
        '"page"',
        "anyOf",
        "pattern",
        "const",
        "additionalProperties",
        "list of two",
    ):
        assert addition not in text


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_strict_model_sends_is_accepted_once_its_nulls_are_dropped(profile: Profile) -> None:
    def filled(schema: dict[str, Any], value: Any) -> Any:
        """The value as strict mode writes it: every property there, absent ones null."""
        if isinstance(value, dict):
            return {
                name: filled(sub, value[name]) if name in value else None
                for name, sub in schema["properties"].items()
            }
        if isinstance(value, list):
            forms = schema.get("anyOf", [schema])
            items = next(form["items"] for form in forms if "items" in form)
            return [filled(items, item) for item in value]
        return value

    for function in load_functions(profile):
        strict = strict_schema(function.input_schema)
        sent = filled(strict, function.example)
        Draft202012Validator(strict).validate(sent)
        decoded = decode(function, sent)
        assert decoded.faults == ()
        assert decoded.arguments == function.example


def test_gemini_types_are_in_capitals_and_nothing_stands_beside_any_of() -> None:
    text = json.dumps(export("gemini"))
    assert '"type": "string"' not in text
    assert '"const"' not in text
    assert '"enum": ["Observation"]' in text


def test_dotted_names_are_there_for_clients_that_take_them() -> None:
    assert [tool["name"] for tool in export("mcp", names="dotted")["tools"]][2] == "lab.search"
    assert lint("mcp", export("mcp", names="dotted"))
