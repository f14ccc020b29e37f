"""The functions in the form that each consumer takes: MCP, the providers' APIs, the original benchmark.

Sources: the MCP schema (2025-11-25, 2026-07-28), OpenAI's guide to strict function schemas, Anthropic's
tool definitions, Gemini's `Schema` type, and the shape of MedAgentBench's `funcs_v1.json`. `lint` holds
the rules that they impose.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from .loading import load_functions
from .model import Function, Names, Profile, Schema

Format = Literal["mcp", "anthropic", "openai", "openai-strict", "gemini", "medagentbench"]
FORMATS: tuple[Format, ...] = get_args(Format)
Api = Literal["responses", "chat"]

_TYPES_ONLY = ("type", "description", "properties", "items", "required")
_ORIGINAL_ORDER = (
    *("condition.search", "lab.search", "vital.search", "vital.create", "medicationrequest.search"),
    *("medicationrequest.create", "procedure.search", "procedure.create", "patient.search"),
)


def export(
    format: Format,  # noqa: A002 - the option's name
    profile: Profile = "medagentbench",
    *,
    names: Names = "underscore",
    api: Api = "responses",
) -> Any:
    """The nine functions as a JSON value that the consumer takes as it is.

    mcp: the result of tools/list; anthropic, openai, openai-strict and gemini: the request's `tools`;
    medagentbench: the list of nine that the original gives to its agents. `api` chooses OpenAI's
    Responses or Chat Completions, and says nothing to the others; medagentbench has the original's types
    whatever the profile.
    """
    functions = load_functions("medagentbench" if format == "medagentbench" else profile)
    if format == "mcp":
        return {"tools": [mcp_tool(f, names) for f in functions]}
    if format == "medagentbench":
        by_name = {f.name: f for f in functions}
        return [original_function(by_name[name]) for name in _ORIGINAL_ORDER]
    if format == "gemini":
        return [{"functionDeclarations": [gemini_declaration(f, names) for f in functions]}]
    if format == "anthropic":
        return [anthropic_tool(f, names) for f in functions]
    return [openai_tool(f, names, api=api, strict=format == "openai-strict") for f in functions]


def mcp_tool(function: Function, names: Names = "underscore") -> Schema:
    """A function as MCP's tools/list gives it.

    Without an output schema: a tool that has one must send each result twice over, as text and as
    structured content.
    """
    return {
        "name": function.listed_name(names),
        "title": function.title,
        "description": function.description,
        "inputSchema": copy.deepcopy(function.input_schema),
        "annotations": dict(function.annotations),
    }


def anthropic_tool(function: Function, names: Names = "underscore") -> Schema:
    """A function as Anthropic's Messages API takes it."""
    return {
        "name": function.listed_name(names),
        "description": function.description,
        "input_schema": copy.deepcopy(function.input_schema),
    }


def openai_tool(
    function: Function, names: Names = "underscore", *, api: Api = "responses", strict: bool = False
) -> Schema:
    """A function as OpenAI's Responses or Chat Completions API takes it."""
    parameters = strict_schema(function.input_schema) if strict else copy.deepcopy(function.input_schema)
    body = {
        "name": function.listed_name(names),
        "description": function.description,
        "parameters": parameters,
        "strict": strict,
    }
    return {"type": "function", **body} if api == "responses" else {"type": "function", "function": body}


def gemini_declaration(function: Function, names: Names = "underscore") -> Schema:
    """A function as one of Gemini's function declarations."""
    return {
        "name": function.listed_name(names),
        "description": function.description,
        "parameters": gemini_schema(function.input_schema),
    }


def original_function(function: Function) -> Schema:
    """A function as the original names and types it, with our descriptions and none of our additions."""
    wording = function.as_original
    schema = function.input_schema
    properties = {name: sub for name, sub in schema["properties"].items() if not _is_addition(name)}
    parameters = {name: _types_only(sub) for name, sub in properties.items()}
    for name, description in wording["parameters"].items():
        parameters[name]["description"] = description
    return {
        "name": f"{function.method} {{api_base}}{function.path}",
        "description": wording["description"],
        "parameters": {
            "type": "object",
            "properties": parameters,
            "required": list(schema.get("required", [])),
        },
    }


def _is_addition(name: str) -> bool:
    """Whether a parameter is ours: the original has no paging and no sorting."""
    return name.startswith("_") or name == "page"


def _types_only(schema: Schema) -> Schema:
    """A schema with types and descriptions alone; of several forms the first."""
    first = schema["anyOf"][0] if "anyOf" in schema else schema
    kept = {key: value for key, value in first.items() if key in _TYPES_ONLY and key != "required"}
    return _mapped(kept, _types_only)


def strict_schema(schema: Schema) -> Schema:
    """A schema for OpenAI's strict mode: objects closed, every property required, options nullable.

    Patterns and bounds are left to our own validation: not every server of that API takes them.
    """
    closed = {key: value for key, value in schema.items() if key in (*_TYPES_ONLY, "enum", "anyOf")}
    if "const" in schema:
        closed["enum"] = [schema["const"]]
    closed = _mapped(closed, strict_schema)
    if closed.get("type") == "object":
        needed = schema.get("required", ())
        properties = closed.get("properties", {})
        closed["properties"] = {
            name: sub if name in needed else _nullable(sub) for name, sub in properties.items()
        }
        closed["required"] = list(properties)
        closed["additionalProperties"] = False
    return closed


def _nullable(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def gemini_schema(schema: Schema) -> Schema:
    """A schema as Gemini's `Schema` type: types in capitals, no pattern, no closed objects, no const."""
    kept = {key: value for key, value in schema.items() if key in (*_TYPES_ONLY, "enum", "anyOf")}
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    if "type" in kept:
        kept["type"] = kept["type"].upper()
    return _mapped(kept, gemini_schema)


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """A copy of a schema with `change` applied to the schemas inside it."""
    copied = dict(schema)
    if "properties" in copied:
        copied["properties"] = {name: change(sub) for name, sub in copied["properties"].items()}
    if "items" in copied:
        copied["items"] = change(copied["items"])
    if "anyOf" in copied:
        copied["anyOf"] = [change(sub) for sub in copied["anyOf"]]
    for key in ("enum", "required"):
        if key in copied:
            copied[key] = list(copied[key])
    return copied


def tool_schemas(
    format: Format,  # noqa: A002 - the option's name
    document: Any,
) -> Sequence[tuple[str, str, Schema]]:
    """Name, description and parameters of each function in an export, wherever the format puts them."""
    if format == "mcp":
        return [(t["name"], t["description"], t["inputSchema"]) for t in document["tools"]]
    if format == "anthropic":
        return [(t["name"], t["description"], t["input_schema"]) for t in document]
    if format == "gemini":
        declared = [d for tool in document for d in tool["functionDeclarations"]]
        return [(d["name"], d["description"], d["parameters"]) for d in declared]
    bodies = [t.get("function", t) for t in document]
    return [(b["name"], b["description"], b["parameters"]) for b in bodies]
