"""The JSON Schema of what the API answers: the source of the front end's types.

python -m wardround_harness.viewer.schema > harness/viewer_ui/src/api.schema.json
"""

from __future__ import annotations

import sys
from typing import Any

import orjson
from pydantic.json_schema import models_json_schema

from . import models


def api_schema() -> dict[str, Any]:
    """One schema with every model of the API among its definitions."""
    found = [
        value
        for value in vars(models).values()
        if isinstance(value, type) and issubclass(value, models.Model) and value is not models.Model
    ]
    _, schema = models_json_schema([(model, "serialization") for model in found])
    plain = {name: _plain(definition) | {"title": name} for name, definition in schema["$defs"].items()}
    return {"title": "ViewerApi", "$defs": plain}


def _plain(schema: Any) -> Any:
    """The schema without its fields' titles, tuples in the form that the generator of types reads."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: {name: _plain(inner) for name, inner in value.items()} if key == "properties" else _plain(value)
        for key, value in schema.items()
        if key != "title"
    }
    if "prefixItems" in kept:
        kept["items"] = kept.pop("prefixItems")
    return kept


if __name__ == "__main__":
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    sys.stdout.buffer.write(orjson.dumps(api_schema(), option=options))
