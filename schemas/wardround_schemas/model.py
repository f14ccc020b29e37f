"""The types of the nine functions: a function, a fault in a call, a decoded call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Profile = Literal["medagentbench", "r4"]
Names = Literal["underscore", "dotted"]
Kind = Literal["search", "create", "finish"]
Schema = dict[str, Any]

PROFILES: tuple[Profile, ...] = ("medagentbench", "r4")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a call or a resource.

    `path` is a JSON path from the arguments' root (`$.dosageInstruction[0].route`), `message` says
    what is wrong, `expected` what would be right and `example` a right value as JSON ("" where none
    helps). All four are bounded in length, whatever was sent.
    """

    path: str
    message: str
    expected: str
    example: str


@dataclass(frozen=True)
class Function:
    """One of the nine functions, or `finish`, in one profile.

    `input_schema` is what agents are shown (JSON Schema draft 2020-12); `accepts` is the same with
    everything else that a call may carry because its meaning is certain, and validates calls.
    `output_schema` describes a result (`outputs` holds it by result style: fhir and compact for a
    search, text for the others). `sent_as` maps parameters to the FHIR parameter they are sent as.
    `example` is a whole valid call. `as_original` holds the descriptions that replace ours where the
    functions are given in the original benchmark's form. `annotations` are MCP's tool hints. Shared, so
    not to be altered.
    """

    name: str
    tool_name: str
    kind: Kind
    resource_type: str
    method: str
    path: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: dict[str, bool]
    profile: Profile = "medagentbench"
    accepts: Schema = field(default_factory=dict, repr=False)
    outputs: dict[str, Schema] = field(default_factory=dict, repr=False)
    sent_as: dict[str, str] = field(default_factory=dict)
    example: dict[str, Any] = field(default_factory=dict, repr=False)
    as_original: dict[str, Any] = field(default_factory=dict, repr=False)

    def listed_name(self, names: Names = "underscore") -> str:
        """The name under which the function is listed as a tool."""
        return self.name if names == "dotted" else self.tool_name


@dataclass(frozen=True, slots=True)
class Decoded:
    """A call's arguments as sent, JSON strings opened and nulls dropped, and what is wrong with them.

    With faults the arguments are what could be understood, to be recorded, not carried out.
    """

    arguments: dict[str, Any]
    faults: tuple[Fault, ...] = ()
