"""Reading JSON that a model wrote: bounded, and never an exception.

The graders follow Python's own `json`, as the original does: NaN and Infinity are read, of repeated
keys the last one counts. What Python's reader would give up on (very deep nesting, integers of
thousands of digits) is met here once for everyone.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

MAX_INT_DIGITS: Final = 1000
"""Where a text has an integer that Python won't convert, those longer than this are read as floats."""
MAX_DEPTH: Final = 200
"""Lists and objects nested deeper than this are cut off in records; no rule looks so deep."""


class NotJSON(ValueError):
    """The text can't be read as JSON; the message says why."""


def read_json(text: str) -> Any:
    """Parse a JSON text as Python does; raises NotJSON, and nothing else, whatever the text."""
    try:
        return _loads(text)
    except RecursionError:
        raise NotJSON("nested too deeply") from None
    except ValueError as error:
        raise NotJSON(str(error)[:200]) from None


def read_record(text: str) -> Any:
    """Parse a line of a record file; what is nested deeper than MAX_DEPTH in it becomes null.

    An attempt holds resources that a model wrote: one that is nested without end must cost its
    author a verdict, not everybody else the file. Raises NotJSON.
    """
    try:
        return _loads(text)
    except RecursionError:
        return read_json(_cut_deep(text))
    except ValueError as error:
        raise NotJSON(str(error)[:200]) from None


def too_deep(value: object, limit: int = 64) -> bool:
    """Whether lists and objects are nested deeper than `limit`; itself without recursion."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def shorten(value: Any, *, depth: int = 6, items: int = 12, characters: int = 200) -> Any:
    """A copy for reports, bounded in depth, in items a level and in characters a string.

    Numbers that JSON cannot say (NaN, infinities) become text.
    """
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}... ({len(value)} characters)"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return f"{float(value):.6g}" if abs(value) < 10**300 else "a number of over 300 digits"
    if isinstance(value, (dict, list)) and depth == 0:
        return "..."
    if isinstance(value, dict):
        pairs = list(value.items())
        kept: dict[str, Any] = {
            str(shorten(str(key), characters=60)): shorten(
                item, depth=depth - 1, items=items, characters=characters
            )
            for key, item in pairs[:items]
        }
        if len(pairs) > items:
            kept["..."] = f"{len(pairs) - items} more"
        return kept
    if isinstance(value, list):
        shown = [shorten(item, depth=depth - 1, items=items, characters=characters) for item in value[:items]]
        if len(value) > items:
            shown.append(f"... {len(value) - items} more")
        return shown
    return value


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python converts: read it as a float instead
        return json.loads(text, parse_int=_whole_number)


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_INT_DIGITS else float(digits)


def _cut_deep(text: str) -> str:
    """The text with every list or object below MAX_DEPTH replaced by null, strings left alone."""
    out: list[str] = []
    depth = start = at = 0
    while at < len(text):
        character = text[at]
        if character == '"':
            at = _string_end(text, at)
            continue
        if character in "[{":
            if depth == MAX_DEPTH:
                out.append(text[start:at])
                out.append("null")
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = at + 1
        at += 1
    if depth <= MAX_DEPTH:
        out.append(text[start:])
    return "".join(out)


def _string_end(text: str, at: int) -> int:
    """The place after the string that begins at `at` (the text's end where it is not closed)."""
    at += 1
    while at < len(text):
        quote = text.find('"', at)
        if quote < 0:
            return len(text)
        slash = text.find("\\", at, quote)
        if slash < 0:
            return quote + 1
        at = slash + 2
    return len(text)
