"""What every consumer of a function schema refuses, as rules that an export must pass.

One bad schema can sink a client's whole tool list, so the common rules are the strictest of all
consumers: no references, no composition but a lone `anyOf` below the root, plain names, portable
patterns. Each format adds its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .formats import Format, tool_schemas
from .model import Schema

MAX_DESCRIPTION = 1024
"""Characters of a tool's description that OpenAI's API takes."""
MAX_NESTING = 10
"""Levels of objects and lists that OpenAI's strict mode takes."""

_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOTTED_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_ORIGINAL_NAME = re.compile(r"(GET|POST) \{api_base\}/[A-Z][A-Za-z]+")
_UNPORTABLE_PATTERN = re.compile(r"\(\?|\\[0-9a-zA-Z]|\*\?|\+\?|\{\d*,\d*\}\?")
_JSON_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean"})
_COMMON = frozenset({"type", "description", "properties", "required", "items", "anyOf"})
_BOUNDS = frozenset({"minItems", "maxItems", "minimum", "maximum", "pattern"})
_KEYWORDS: dict[Format, frozenset[str]] = {
    "mcp": _COMMON | _BOUNDS | {"enum", "const", "additionalProperties"},
    "anthropic": _COMMON | _BOUNDS | {"enum", "const", "additionalProperties"},
    "openai": _COMMON | _BOUNDS | {"enum", "const", "additionalProperties"},
    "openai-strict": _COMMON | {"enum", "additionalProperties"},
    "gemini": _COMMON | {"enum"},
    "medagentbench": _COMMON - {"anyOf"},
}


def lint(
    format: Format,  # noqa: A002 - the option's name
    document: Any,
    *,
    dotted: bool = False,
) -> list[str]:
    """What is wrong with an export, a line each: tool, place, rule. [] where every consumer takes it.

    `dotted` allows dots in tool names, which several providers refuse.
    """
    tools = tool_schemas(format, document)
    found: list[str] = []
    for name, description, schema in tools:
        found += [f"{name}: {wrong}" for wrong in _tool_faults(format, name, description, dotted=dotted)]
        found += [f"{name} {path}: {wrong}" for path, wrong in _root_faults(format, schema)]
    if format != "medagentbench":
        twice = [name for name, times in Counter(name for name, _, _ in tools).items() if times > 1]
        found += [f"{name}: listed twice" for name in twice]
    if format == "mcp":
        found += [f"{tool['name']}: {wrong}" for tool in document["tools"] for wrong in _mcp_faults(tool)]
    return found


def _tool_faults(format: Format, name: str, description: str, *, dotted: bool) -> Iterator[str]:  # noqa: A002
    pattern = _DOTTED_NAME if dotted else _TOOL_NAME
    if format == "medagentbench":
        pattern = _ORIGINAL_NAME
    if not pattern.fullmatch(name):
        yield "a name that a provider refuses"
    if not description.strip():
        yield "no description"
    if len(description) > MAX_DESCRIPTION:
        yield f"a description of more than {MAX_DESCRIPTION} characters"


def _mcp_faults(tool: Schema) -> Iterator[str]:
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    missing = [hint for hint in hints if not isinstance(tool["annotations"].get(hint), bool)]
    if missing:
        yield f"annotations lack {', '.join(missing)}"
    if not tool.get("title"):
        yield "no title"


def _root_faults(format: Format, schema: Schema) -> Iterator[tuple[str, str]]:  # noqa: A002
    if _plain_type(schema.get("type")) != "object":
        yield "$", "the root is not an object"
    if "properties" not in schema:
        yield "$", "the root has no properties"
    yield from _node_faults(format, schema, "$", 1)


def _plain_type(kind: object) -> str:
    """The JSON type behind a `type`, nullable or in capitals."""
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    return str(kind).lower()


def _node_faults(format: Format, node: Schema, path: str, depth: int) -> Iterator[tuple[str, str]]:  # noqa: A002
    for keyword in node.keys() - _KEYWORDS[format]:
        yield path, f"{keyword} is refused by some consumer of {format}"
    if depth > MAX_NESTING:
        yield path, f"nested more than {MAX_NESTING} levels deep"
    if "anyOf" in node:
        yield from _any_of_faults(format, node, path, depth)
        return
    yield from ((path, wrong) for wrong in _type_faults(format, node))
    yield from ((path, wrong) for wrong in _value_faults(node))
    for name, sub in node.get("properties", {}).items():
        if not _PROPERTY_NAME.fullmatch(name):
            yield path, f"property name {name!r} is refused by some provider"
        yield from _node_faults(format, sub, f"{path}.{name}", depth + 1)
    if "items" in node:
        yield from _node_faults(format, node["items"], f"{path}[]", depth + 1)


def _any_of_faults(format: Format, node: Schema, path: str, depth: int) -> Iterator[tuple[str, str]]:  # noqa: A002
    if path == "$":
        yield path, "anyOf at the root"
    if len(node) > 1:
        yield path, "anyOf with other keywords beside it"
    for number, form in enumerate(node["anyOf"]):
        if form != {"type": "null"} or format != "openai-strict":
            yield from _node_faults(format, form, f"{path}|{number}", depth)


def _type_faults(format: Format, node: Schema) -> Iterator[str]:  # noqa: A002
    kind = node.get("type")
    plain = _plain_type(kind)
    if plain not in _JSON_TYPES:
        yield f"type is {kind!r}"
    if isinstance(kind, list) and (format != "openai-strict" or sorted(kind) != sorted([plain, "null"])):
        yield "a list of types"
    if format == "gemini" and kind != plain.upper():
        yield "a type that is not in capitals"
    if plain == "array" and not isinstance(node.get("items"), dict):
        yield "a list without items"
    if plain == "object":
        yield from _object_faults(format, node)


def _object_faults(format: Format, node: Schema) -> Iterator[str]:  # noqa: A002
    properties = node.get("properties")
    if not properties:
        yield "an object without properties"
        return
    required = node.get("required", [])
    unknown = set(required) - properties.keys()
    if unknown:
        yield f"requires what is no property: {', '.join(sorted(unknown))}"
    if format != "medagentbench" and "required" in node and not required:
        yield "an empty required"
    if format == "openai-strict":
        if node.get("additionalProperties") is not False:
            yield "an object that is not closed"
        if set(required) != properties.keys():
            yield "a property that is not required"


def _value_faults(node: Schema) -> Iterator[str]:
    if "enum" in node and not node["enum"]:
        yield "an empty enum"
    if "enum" in node and _plain_type(node.get("type")) != "string":
        yield "an enum of other than strings"
    pattern = node.get("pattern")
    if pattern is not None:
        if not (pattern.startswith("^") and pattern.endswith("$")):
            yield "a pattern that is not anchored at both ends"
        if _UNPORTABLE_PATTERN.search(pattern):
            yield "a pattern that is not portable"
