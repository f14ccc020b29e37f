"""JSON as it is kept: total over whatever a model can send, and read back unchanged."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

MAX_DEPTH = 100


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8. Lone surrogates are escaped, so that every string can be written."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def loads(text: str | bytes) -> Any:
    """Parse JSON as the standard says: NaN and Infinity are refused. Raises ValueError.

    Text that is nested too deeply for Python is refused with ValueError too.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def storable(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value with what JSON can't hold made text: NaN, infinities, foreign objects, too deep a nesting."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth <= 0:
        return "(nested too deeply to keep)"
    if isinstance(value, dict):
        return {str(name): storable(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item, depth - 1) for item in value]
    return str(value)


def is_exchangeable(value: Any) -> bool:
    """Whether every JSON reader takes the value: no half characters, no integer of over 64 bits, no NaN."""
    try:
        return bool(orjson.loads(orjson.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
