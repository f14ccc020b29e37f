"""The file formats, each with its JSON Schema in `records/`: what is written, and what is read back.

A schema's `$id` ends in its version; a record is of the version that its folder's manifest names.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from .faults import json_path, shortened
from .plugins import plugin_categories

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

RecordKind = Literal["task", "attempt", "verdict", "manifest", "run_line", "summary", "capture", "compare"]
RECORD_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)

MAX_LINES = 50


@cache
def record_schema(kind: RecordKind) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one kind of record. Shared, so not to be altered."""
    text = resources.files(__package__).joinpath("records", f"{kind}.json").read_bytes()
    schema: dict[str, Any] = orjson.loads(text)
    return schema


def check_record(kind: RecordKind, value: Any) -> list[str]:
    """What is wrong with a record, `path: message` a line; [] where it is right, at most MAX_LINES.

    A task may be of an installed plugin's category, and of no other package's.
    """
    errors = islice(_validator(kind, plugin_categories()).iter_errors(value), MAX_LINES)
    return [f"{json_path(error.absolute_path)}: {shortened(error.message, 300)}" for error in errors]


@cache
def _validator(kind: RecordKind, others: tuple[str, ...]) -> Validator:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    schemas = {other: record_schema(other) for other in RECORD_KINDS}
    if others:
        definitions = schemas["task"]["$defs"]
        category = definitions["category"] | {"pattern": f"^(task([1-9]|10)|{'|'.join(others)})$"}
        schemas["task"] = schemas["task"] | {"$defs": definitions | {"category": category}}
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema, default_specification=DRAFT202012))
        for schema in schemas.values()
    )
    validator: Validator = Draft202012Validator(schemas[kind], registry=registry)
    return validator
