"""docs/functions.md, written from the function files: `python -m wardround_schemas.document PATH`.

With `--check` nothing is written: the exit code is 1 when the page differs from what would be.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from .canonical import canonical_resource
from .decode import MAX_DEPTH, MAX_VALUES, decode, search_query
from .errors import UserError
from .faults import explain, kind_of
from .formats import FORMATS
from .loading import find_function, finish_function, load_functions
from .model import Function, Schema
from .options import run_program

_HEAD = """# The nine functions

<!-- Written by `python -m wardround_schemas.document docs/functions.md`; edit the function files instead. -->

Each function stands in one file, `schemas/wardround_schemas/functions/NAME.json`: its HTTP call, its
description, an example, and its parameters as JSON Schema (draft 2020-12) for both profiles.
`medagentbench` has the field types of the benchmark's own function file, `r4` those of FHIR R4; searches
are the same in both.

Research and development use, not a medical device. The doses in examples are no guidance.
"""

_ACCEPTED = """## What is accepted

A call is validated before anything happens. A refused one comes back as a tool error that lists every fault
with its path, what was expected and a right value, in at most 2,000 characters. Accepted beyond the schema,
because the meaning is certain:

- the arguments as JSON text, or nothing at all where no parameter is needed;
- an object or a list given as a JSON string where the schema has an object or a list;
- null for an absent option, at any depth, and an empty string for an absent option of a search;
- a patient as `S1234567`, `Patient/S1234567`, or an absolute URL under the chart's own base;
- one date in a list; `_count` as a string of digits; `page` without the other parameters;
- in a create call, in either profile, `route` as text or a CodeableConcept, `note` as one Annotation or a
  list of them.

Whatever is not certain is an error, never a guess: an unknown parameter (the nearest known one is named), a
key given twice, a bare id or another server's URL where a reference belongs, a date that the calendar lacks,
two dates without prefixes, a comma in a date, `legal-sex` that contradicts `gender`. A call may hold
{values:,} values and nest {depth} levels deep.

The schema can't say that a day exists: 2023-02-30 passes its pattern and is refused all the same. In profile
`r4` a create call must also be valid FHIR R4 (elements, types, cardinalities, required codes).
"""

_CANONICAL = """## The canonical form

What a create call carries is kept exactly as sent. Beside it stands its canonical R4 form, the only one
that is ever forwarded: route text becomes a CodeableConcept, one note a list, a time of day gets the seconds
and the zone (UTC) that it lacks, an absolute reference under the own base becomes relative, empty elements
are left out unless the function needs them. Everything else stays as it is, right or wrong. A bare id is not
turned into a reference to a patient: R4 servers refuse it, and whose order it is must not be guessed.
"""

_RESULTS = """## Results

`--results fhir` (the default) gives the searchset Bundle as the server gave it, byte for byte. `--results
compact` gives

```json
{
  "total": 31,
  "returned": 2,
  "next": "http://127.0.0.1:8421/fhir/Observation?_cursor=...",
  "shared": {
    "resourceType": "Observation",
    "status": "final",
    "code": { "text": "MG" },
    "subject": { "reference": "Patient/S1234567" },
    "valueQuantity": { "unit": "mg/dL" }
  },
  "entries": [
    { "id": "o1", "effectiveDateTime": "2023-11-13T03:35:00+00:00", "valueQuantity": { "value": 1.80 } },
    { "id": "o2", "effectiveDateTime": "2023-11-12T21:10:00+00:00", "valueQuantity": { "value": 2.1 } }
  ]
}
```

An entry is `shared` merged with the entry's own members: objects member by member, lists of objects item by
item. Left out are meta, narrative, fullUrl, search and links; every other element is there, numbers with the
digits that the chart has. `total` is null where the server gave none. `python benchmarks/compact.py` prints
both sizes in bytes and tokens for each search; a test holds a lab search of 20 entries to 35 % of both.

No match is `total` 0 without entries. A search that failed is an error, never an empty result.

A result is at most `--max-result-bytes` long. A larger one is cut at a resource: it says so (an entry of
mode outcome in a Bundle, `notice` in `compact`), and its next link or `next` continues where it was cut. A
resource that alone is too large is left out and named. A parameter that the server's self link does not name
was not applied: the result says which.
"""

_EXPORTS = """## Exports

`wardround schemas export --format F` prints the functions for one consumer; F is one of {formats}.
`openai-strict` closes every object and makes options nullable; `gemini` writes the types of its own schema
language; `medagentbench` is the original's list of nine, its parameters and types exactly, without `_count`,
`_sort`, `page` and list-valued dates. `--api chat` gives OpenAI's Chat Completions form, `--names dotted` the
dotted names for clients that take them.
"""


def page() -> str:
    """The whole page as Markdown."""
    functions = load_functions("medagentbench")
    accepted = _ACCEPTED.format(values=MAX_VALUES, depth=MAX_DEPTH)
    parts = [_HEAD, *_overview(functions), accepted, _faulty_call(), _CANONICAL, _canonical_example()]
    for function in (*functions, finish_function()):
        parts += _section(function)
    parts += [_RESULTS, *_exports()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _overview(functions: tuple[Function, ...]) -> Iterator[str]:
    rows = ["| function | parameters | HTTP | example call | result |", "|---|---|---|---|---|"]
    for function in functions:
        names = ", ".join(_marked(function, name) for name in function.input_schema["properties"])
        call = f"`{_cell(_call(function))}`"
        result = _cell(function.output_schema["description"])
        link = f"[{function.name}](#{function.name.replace('.', '')})"
        rows.append(f"| {link} | {names} | `{_request(function)}` | {call} | {result} |")
    yield "## Overview\n\nParameters in bold are required.\n\n" + "\n".join(rows) + "\n"


def _marked(function: Function, name: str) -> str:
    return f"**{name}**" if name in function.input_schema.get("required", ()) else name


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _call(function: Function) -> str:
    """The example call on one line; what is nested in a create is left to the function's own section."""
    shown = []
    for name, value in function.example.items():
        text = json.dumps(value, ensure_ascii=False)
        if function.kind == "create" and isinstance(value, dict):
            text = "{...}"
        elif function.kind == "create" and isinstance(value, list):
            text = "[...]"
        shown.append(f'"{name}": {text}')
    return f"{function.tool_name}({{{', '.join(shown)}}})"


def _request(function: Function) -> str:
    if function.kind == "create":
        return f"{function.method} {function.path}"
    query = search_query(function, decode(function, function.example).arguments)
    encoded = urlencode(query)
    return _cell(
        f"{function.method} {function.path}?{encoded}" if encoded else f"{function.method} {function.path}"
    )


def _section(function: Function) -> Iterator[str]:
    yield f"## {function.name}\n\nTool `{function.tool_name}`. {function.description}\n"
    yield "\n".join(_parameter_rows(function)) + "\n"
    if function.kind == "create":
        other = find_function(function.name, "r4")
        differing = _differing(function, other) if other is not None else []
        if differing:
            yield "Profile `r4` types differently: " + "; ".join(differing) + ".\n"
    yield f"Example:\n\n```json\n{json.dumps(function.example, indent=2, ensure_ascii=False)}\n```\n"
    if function.kind == "search":
        yield f"Sent as `{_request(function)}`.\n"
    hints = ", ".join(f"{name} {str(value).lower()}" for name, value in function.annotations.items())
    yield f"Result: {function.output_schema['description']} Hints: {hints}.\n"
    if "compact" in function.outputs:
        yield f"With `--results compact`: {function.outputs['compact']['description']}\n"


def _parameter_rows(function: Function) -> Iterator[str]:
    yield "| parameter | type | meaning |"
    yield "|---|---|---|"
    for name, schema in function.input_schema["properties"].items():
        meaning = " ".join(str(form["description"]) for form in schema.get("anyOf", [schema]))
        sent_as = function.sent_as.get(name)
        if sent_as:
            meaning += f" Sent as `{sent_as}`."
        yield f"| {_marked(function, name)} | {_cell(kind_of(schema))} | {_cell(meaning)} |"


def _differing(function: Function, other: Function) -> list[str]:
    ours, theirs = _leaves(function.input_schema), _leaves(other.input_schema)
    found = [f"`{path}` is {kind}" for path, kind in theirs.items() if path in ours and ours[path] != kind]
    added = [path for path in theirs if path not in ours]
    if added:
        found.append("it adds " + ", ".join(f"`{path}`" for path in added))
    return found


def _leaves(schema: Schema, path: str = "") -> dict[str, str]:
    """What each place of a schema asks for, in words, by path."""
    found: dict[str, str] = {}
    for name, sub in schema.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        found[where] = kind_of(sub)
        found |= _leaves(sub, where)
    if "items" in schema:
        found |= _leaves(schema["items"], f"{path}[]")
    return found


def _faulty_call() -> str:
    function = find_function("lab.search")
    if function is None:
        raise LookupError("lab.search")
    call = {"patient": "S1234567", "test": "MG", "date": "ge2023-11-12,le2023-11-13"}
    answer = explain(function, decode(function, call).faults)
    return f"For example `lab_search({json.dumps(call)})`:\n\n```text\n{answer}\n```\n"


def _canonical_example() -> str:
    sent = {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"system": "http://loinc.org", "code": "718-7"}]},
        "authoredOn": "2023-11-13T10:15",
        "status": "active",
        "intent": "order",
        "priority": "stat",
        "subject": {"reference": "Patient/S1234567"},
        "note": {"text": "Fasting sample."},
    }
    formed = canonical_resource("ServiceRequest", sent)
    changed = {name: value for name, value in formed.items() if sent.get(name) != value}
    given = {name: sent[name] for name in changed}
    return f"`{json.dumps(given)}` becomes `{json.dumps(changed)}`.\n"


def _exports() -> Iterator[str]:
    listed = ", ".join(f"`{name}`" for name in FORMATS)
    yield _EXPORTS.format(formats=listed)


def _run(arguments: list[str]) -> int:
    check = "--check" in arguments
    paths = [argument for argument in arguments if argument != "--check"]
    if len(paths) != 1:
        raise UserError(
            "one path is needed", mend="python -m wardround_schemas.document [--check] docs/functions.md"
        )
    path = Path(paths[0])
    wanted = page()
    if not check:
        path.write_text(wanted, encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"{path} is not what the function files say: run without --check to write it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(run_program(lambda: _run(sys.argv[1:])))
