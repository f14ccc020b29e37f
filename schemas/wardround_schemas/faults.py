"""Faults as a model reads them: short, bounded, with the path, what is expected and an example.

What was sent is hostile: it is quoted only in part and never decides how long a fault is.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence

from .model import Fault, Function, Schema

MAX_EXPLANATION = 2000
MAX_FAULTS = 50
_MAX_PATH = 160
_MAX_TEXT = 240
_MAX_QUOTE = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")

_KINDS = {
    "string": "a string",
    "object": "an object",
    "array": "a list",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def shortened(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters; what can't be shown is shown as ?."""
    line = " ".join(text[: limit * 4].split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= limit else line[: limit - 3] + "..."


def quoted(value: object, limit: int = _MAX_QUOTE) -> str:
    """A value as short JSON, for a message."""
    if isinstance(value, str):
        text = value if len(value) <= limit else value[: limit - 3] + "..."
        shown = json.dumps(text, ensure_ascii=False)
        return "".join(c if c.isprintable() else "?" for c in shown)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not -(10**18) < value < 10**18:
        return "a huge number"
    return shortened(json.dumps(value, ensure_ascii=False, default=str), limit)


def json_path(parts: Iterable[str | int]) -> str:
    """`$.code.coding[0].system`; a key that is no plain word is quoted: `$['a b']`."""
    steps = ["$"]
    for part in parts:
        if isinstance(part, int):
            steps.append(f"[{part}]")
        elif _PLAIN_KEY.fullmatch(part):
            steps.append(f".{part}")
        else:
            key = shortened(part, 40).replace("\\", "\\\\").replace("'", "\\'")
            steps.append(f"['{key}']")
    path = "".join(steps)
    return path if len(path) <= _MAX_PATH else path[: _MAX_PATH - 3] + "..."


def make_fault(
    parts: Iterable[str | int], message: str, *, expected: str = "", example: object = None
) -> Fault:
    """A fault with every text bounded. `example` is a value, shown as JSON."""
    text = "" if example is None else json.dumps(example, ensure_ascii=False)
    return Fault(
        path=json_path(parts),
        message=shortened(message, _MAX_TEXT),
        expected=shortened(expected, _MAX_TEXT),
        example=text if len(text) <= _MAX_TEXT else "",
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, None where none is."""
    names = list(known)
    lowered = {other.lower(): other for other in names}
    found = difflib.get_close_matches(name[:100].lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def kind_of(schema: Schema) -> str:
    """What a schema asks for, in words."""
    if "const" in schema:
        return f"exactly {quoted(schema['const'])}"
    if "enum" in schema:
        return "one of " + ", ".join(str(choice) for choice in schema["enum"])
    if "anyOf" in schema:
        kinds = list(dict.fromkeys(kind_of(form) for form in schema["anyOf"]))
        return " or ".join(kinds)
    kind = _KINDS.get(str(schema.get("type")), "a value")
    if kind == "an integer" and "minimum" in schema:
        return f"an integer from {schema['minimum']} to {schema['maximum']}"
    return kind


def expectation(schema: Schema) -> str:
    """What a schema asks for, with the first sentence of its description."""
    kind = kind_of(schema)
    first: Schema = schema["anyOf"][0] if "anyOf" in schema else {}
    text = str(schema.get("description") or first.get("description", ""))
    description = re.split(r"(?<=[.!]) ", text, maxsplit=1)[0]
    return f"{kind}: {description}" if description else kind


def example_of(schema: Schema) -> object:
    """A right value for a schema, None where the function file gives none."""
    examples = schema.get("examples")
    if examples:
        return examples[0]
    return schema.get("const")


def explain(function: Function, faults: Sequence[Fault]) -> str:
    """All faults of a call for the model that made it, with a whole right call where there is room.

    At most 2,000 characters; faults that find no place are counted.
    """
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    lines = [f"{function.tool_name} was refused and nothing was done: {count}."]
    room = MAX_EXPLANATION - len(lines[0]) - len("\n... and 99999 more.")
    for number, fault in enumerate(faults, start=1):
        line = f"{number}. {fault.path}: {fault.message}{'' if fault.message.endswith('?') else '.'}"
        if fault.expected:
            line += f" Expected {fault.expected.rstrip('.')}."
        if fault.example:
            line += f" Example: {fault.example}"
        if len(line) + 1 > room:
            lines.append(f"... and {len(faults) - number + 1} more.")
            break
        room -= len(line) + 1
        lines.append(line)
    else:
        whole = "A right call: " + json.dumps(function.example, ensure_ascii=False)
        if len(whole) + 1 <= room:
            lines.append(whole)
    return "\n".join(lines)
