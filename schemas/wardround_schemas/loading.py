"""Reading the function files: one JSON file per function, both profiles in it.

A file's `input` holds the schema of each profile, or `both`. Two keywords of these schemas are for
us alone and never shown to an agent: `examples` (a right value, for faults and docs) and `x-also`
(a further form that is accepted at run time, because its meaning is certain).
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import orjson

from .model import Function, Kind, Profile, Schema

FUNCTION_FILES = (
    "patient_search",
    "condition_search",
    "lab_search",
    "vital_search",
    "medicationrequest_search",
    "procedure_search",
    "vital_create",
    "medicationrequest_create",
    "procedure_create",
)
"""The nine, in the order in which they are listed."""

_OURS = frozenset({"examples", "x-also"})


@cache
def load_functions(profile: Profile = "medagentbench") -> tuple[Function, ...]:
    """The nine functions of a profile, in fixed order."""
    return tuple(_load(name, profile) for name in FUNCTION_FILES)


@cache
def finish_function() -> Function:
    """The tenth tool, which hands in the answer and ends a session; the same in both profiles."""
    return _load("finish", "medagentbench")


@cache
def find_function(name: str, profile: Profile = "medagentbench") -> Function | None:
    """The function of this dotted or underscored name, None where there is none."""
    return next((f for f in load_functions(profile) if name in (f.name, f.tool_name)), None)


def _load(name: str, profile: Profile) -> Function:
    text = resources.files(__package__).joinpath("functions", f"{name}.json").read_bytes()
    entry = orjson.loads(text)
    schema = entry["input"].get(profile) or entry["input"]["both"]
    outputs = entry["output"]
    return Function(
        name=entry["name"],
        tool_name=entry["name"].replace(".", "_"),
        kind=_kind(entry["name"]),
        resource_type=entry["resource_type"],
        method=entry["http"]["method"],
        path=entry["http"]["path"],
        title=entry["name"],
        description=entry["description"],
        input_schema=advertised(schema),
        output_schema=next(iter(outputs.values())),
        annotations=entry["annotations"],
        profile=profile,
        accepts=accepted(schema),
        outputs=outputs,
        sent_as=entry["http"]["sent_as"],
        example=entry["example"],
        as_original=entry.get("as_original", {}),
    )


def _kind(name: str) -> Kind:
    if name.endswith(".search"):
        return "search"
    return "create" if name.endswith(".create") else "finish"


def advertised(schema: Schema) -> Schema:
    """The schema as agents are shown it: our own two keywords left out."""
    return _rewritten(schema, lambda node: {k: v for k, v in node.items() if k not in _OURS})


def accepted(schema: Schema) -> Schema:
    """The schema that validates calls: each `x-also` becomes a second form of its node."""
    return _rewritten(schema, _with_also)


def _with_also(node: Schema) -> Schema:
    also = node.get("x-also")
    if also is None:
        return node
    own = {k: v for k, v in node.items() if k not in ("x-also", "description", "examples")}
    forms = [*own["anyOf"], also] if "anyOf" in own else [own, also]
    kept: Schema = {k: v for k, v in node.items() if k in ("description", "examples")}
    return {**kept, "anyOf": forms}


def _rewritten(node: Schema, rewrite: Any) -> Schema:
    """The schema with `rewrite` applied to every node of it, outermost first."""
    node = dict(rewrite(node))
    if "properties" in node:
        node["properties"] = {name: _rewritten(sub, rewrite) for name, sub in node["properties"].items()}
    if isinstance(node.get("items"), dict):
        node["items"] = _rewritten(node["items"], rewrite)
    if "anyOf" in node:
        node["anyOf"] = [_rewritten(sub, rewrite) for sub in node["anyOf"]]
    return node
