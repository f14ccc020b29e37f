"""From what a model sent to arguments that can be used, or faults that say how to mend it.

Accepted beyond the letter of the schema, because the meaning is certain: arguments as JSON text or
nothing at all, an object or list given as a JSON string where the schema has one, null (and, in a
search, an empty string) for an absent option. Whatever is not certain is a fault, never a guess.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .canonical import canonical_resource, validate_r4
from .dates import SEARCH_PREFIXES, date_fault, search_date_fault
from .faults import MAX_FAULTS, example_of, expectation, make_fault, quoted
from .model import Decoded, Fault, Function, Schema
from .validate import schema_faults

MAX_DEPTH = 48
"""Levels of nesting that a call may have."""
MAX_VALUES = 5000
"""Values that a call may hold; the largest clinical resource that the functions make has some fifty."""
_CREATE_DATES = ("effectiveDateTime", "authoredOn", "occurrenceDateTime")
_SEARCH_DATES = ("date", "birthdate")
_PATIENT_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")


class NotJson(ValueError):
    """Text that is not JSON, or JSON whose meaning is not certain."""


def decode(function: Function, arguments: object, *, base_url: str | None = None) -> Decoded:
    """Decode and validate one call.

    `arguments` is an object, JSON text (str or bytes), or None for none. `base_url` is the chart's
    own base, under which absolute references to a patient are understood. Never raises for what a
    model sent: faults come back in the result.
    """
    try:
        sent = _as_object(arguments)
    except NotJson as error:
        example = function.example if function.example else None
        fault = make_fault([], str(error), expected="the arguments as one JSON object", example=example)
        return Decoded({}, (fault,))
    unusable = list(islice(_not_plain(sent), MAX_FAULTS))
    if unusable:
        return Decoded(_recordable(sent), tuple(unusable))
    used = _opened(sent, function.input_schema, drop_empty=function.kind == "search")
    # Opened strings may have brought more than there was.
    faults = list(islice(_not_plain(used), MAX_FAULTS)) or schema_faults(function, used)
    # What we know of the meaning says more than the schema does about the same place.
    telling = {fault.path: fault for fault in _meaning_faults(function, used, base_url)}
    faults = [telling.pop(fault.path, fault) for fault in faults] + list(telling.values())
    if not faults and function.kind == "create" and function.profile == "r4":
        faults = _r4_faults(function, used)
    return Decoded(used, tuple(faults[:MAX_FAULTS]))


# --- text to object ---------------------------------------------------------------------------


def parse_json(text: str | bytes) -> Any:
    """Parse JSON strictly: no NaN, no key twice in one object. Raises NotJson."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise NotJson("nested too deeply") from error
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(f"not JSON: {error}") from error


def _no_constant(name: str) -> Any:
    raise NotJson(f"not JSON: {name} is no JSON number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise NotJson(f"{quoted(twice)} is given twice in one object")
    return found


def _as_object(arguments: object) -> dict[str, Any]:
    for _ in range(3):  # JSON text, and JSON text that was made into a JSON string once more
        if arguments is None:
            return {}
        if isinstance(arguments, (bytes, bytearray)):
            arguments = bytes(arguments)
        elif not isinstance(arguments, str):
            break
        text = arguments.strip()
        # Some streaming clients end empty arguments with an empty string of their own.
        if text in ("", '{}""') or text in (b"", b'{}""'):
            return {}
        arguments = parse_json(arguments)
    if not isinstance(arguments, dict):
        raise NotJson(f"the arguments are {quoted(arguments)}, not an object")
    return arguments


# --- what JSON, and so a record of the call, can hold -------------------------------------------


def _not_plain(value: object) -> Iterator[Fault]:
    """Faults of what is no interchangeable JSON: too deep, not finite, beyond 64 bits, broken Unicode.

    And of what is too much: validation takes time for every value.
    """
    pending: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    seen = 0
    while pending:
        path, item = pending.pop()
        seen += 1
        if seen > MAX_VALUES:
            yield make_fault((), "too large a call", expected=f"at most {MAX_VALUES} values in all")
            return
        if isinstance(item, dict):
            children: Iterable[tuple[str | int, object]] = item.items()
            bad_key = next((k for k in item if not isinstance(k, str) or not _is_unicode(k)), None)
            if bad_key is not None:
                yield make_fault(path, "a key is not text", expected="keys that are valid Unicode text")
                continue
        elif isinstance(item, list):
            children = enumerate(item)
        else:
            why = _not_plain_scalar(item)
            if why is not None:
                yield make_fault(path, why, expected="a plain JSON value")
            continue
        if len(path) >= MAX_DEPTH:
            yield make_fault(path, "nested too deeply", expected=f"at most {MAX_DEPTH} levels")
            return
        pending += [((*path, key), child) for key, child in islice(children, MAX_VALUES + 1)]


def _not_plain_scalar(item: object) -> str | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, str):
        return None if _is_unicode(item) else "not valid Unicode text"
    if isinstance(item, int):
        return None if -(2**63) <= item < 2**64 else "a number beyond 64 bits"
    if isinstance(item, float):
        return None if math.isfinite(item) else "not a finite number"
    return "not a JSON value"


def _recordable(value: object, depth: int = 0) -> Any:
    """The nearest plain JSON to what was sent, so that even a call that can't be used is on record."""
    if isinstance(value, (dict, list)) and depth >= MAX_DEPTH:
        return "..."
    if isinstance(value, dict):
        return {_recordable_text(str(k)): _recordable(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_recordable(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _recordable_text(value)
    return value if _not_plain_scalar(value) is None else quoted(value)


def _recordable_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


# --- what is certain is mended ------------------------------------------------------------------


def _opened(value: Any, schema: Schema, *, drop_empty: bool = False) -> Any:
    """A copy with JSON strings opened where the schema has an object or list, and absent options dropped."""
    forms: list[Schema] = schema.get("anyOf") or [schema]
    if isinstance(value, str):
        value = _opened_string(value, {str(form.get("type")) for form in forms})
    if isinstance(value, dict):
        form = next((f for f in forms if f.get("type") == "object"), {})
        needed, properties = form.get("required", ()), form.get("properties", {})
        return {
            name: _opened(item, properties.get(name, {}))
            for name, item in value.items()
            if name in needed or not (item is None or (drop_empty and item == ""))
        }
    if isinstance(value, list):
        form = next((f for f in forms if f.get("type") == "array"), {})
        # A single object where a list was expected, and the reverse, are looked into all the same.
        inner = form.get("items") or next((f for f in forms if f.get("type") == "object"), {})
        return [_opened(item, inner) for item in value]
    return value


def _opened_string(text: str, kinds: set[str]) -> Any:
    if text.lstrip()[:1] not in ("{", "[") or not kinds & {"object", "array"}:
        return text
    try:
        inner = parse_json(text)
    except NotJson:
        return text
    fits = ("object" in kinds and isinstance(inner, dict)) or ("array" in kinds and isinstance(inner, list))
    return inner if fits and next(_not_plain(inner), None) is None else text


# --- what a schema can't say --------------------------------------------------------------------


def _meaning_faults(function: Function, used: dict[str, Any], base_url: str | None) -> Iterator[Fault]:
    if function.kind == "search":
        yield from _search_faults(function, used, base_url)
    elif function.kind == "create":
        yield from _create_faults(function, used, base_url)


def _search_faults(function: Function, used: dict[str, Any], base_url: str | None) -> Iterator[Fault]:
    properties = function.accepts["properties"]
    for name in _SEARCH_DATES:
        if name in properties:
            yield from _search_date_faults(name, used.get(name), properties[name])
    patient = used.get("patient")
    if isinstance(patient, str) and "://" in patient and _own_patient(patient, base_url) is None:
        why = "is not a patient of this server; give the id alone"
        yield _value_fault(["patient"], patient, why, properties.get("patient", {}))
    sexes = {used[name] for name in ("gender", "legal-sex") if isinstance(used.get(name), str)}
    if len(sexes) > 1:
        message = "contradicts gender; give one of the two"
        yield _value_fault(["legal-sex"], used["legal-sex"], message, properties.get("legal-sex", {}))


def _search_date_faults(name: str, value: object, schema: Schema) -> Iterator[Fault]:
    if isinstance(value, str):
        why = "one date only" if name == "birthdate" and "," in value else _search_date_fault(value)
        if why is not None:
            yield _value_fault([name], value, why, schema, pair="," in value)
    elif isinstance(value, list):
        for index, text in enumerate(value[:2]):
            if isinstance(text, str):
                why = _search_date_fault(text, paired=len(value) > 1)
                if why is not None:
                    yield _value_fault([name, index], text, why, schema, pair=True)


def _search_date_fault(text: str, *, paired: bool = False) -> str | None:
    """Why a search can't use this date; what a model tried to say decides the mend."""
    if "," in text:
        return "a comma means or; both ends of a range are a list of two"
    if "%" in text:
        return "to be written plainly, not percent-encoded"
    why = search_date_fault(text)
    if why is None and paired and not text.startswith(SEARCH_PREFIXES):
        return "each end of a range needs a prefix, such as ge or lt"
    return why


def _create_faults(function: Function, used: dict[str, Any], base_url: str | None) -> Iterator[Fault]:
    properties = function.accepts["properties"]
    for name in _CREATE_DATES:
        text = used.get(name)
        if name in properties and isinstance(text, str):
            why = date_fault(text, lenient=function.profile == "medagentbench")
            if why is not None:
                yield _value_fault([name], text, why, properties[name])
    subject = used.get("subject")
    reference = subject.get("reference") if isinstance(subject, dict) else None
    if isinstance(reference, str) and "://" in reference and _own_patient(reference, base_url) is None:
        why = "is not a patient of this server"
        schema = properties["subject"]["properties"]["reference"]
        yield _value_fault(["subject", "reference"], reference, why, schema)


def _value_fault(
    path: Iterable[str | int], value: object, why: str, schema: Schema, *, pair: bool = False
) -> Fault:
    message = (
        f"{quoted(value)}: {why}" if not why.startswith(("is ", "contradicts ")) else f"{quoted(value)} {why}"
    )
    example = schema["examples"][-1] if pair else example_of(schema)
    return make_fault(path, message, expected=expectation(schema), example=example)


def _own_patient(url: str, base_url: str | None) -> str | None:
    """The id in an absolute reference to a patient of this chart, None for any other."""
    if base_url is None:
        return None
    base = base_url.rstrip("/") + "/Patient/"
    ident = url[len(base) :] if url.startswith(base) else ""
    return ident if _PATIENT_ID.fullmatch(ident) else None


def _r4_faults(function: Function, used: dict[str, Any]) -> list[Fault]:
    """What R4 itself finds wrong, with paths into what was sent."""
    canonical = canonical_resource(function.resource_type, used)
    faults = validate_r4(function.resource_type, canonical)
    if not isinstance(used.get("note"), dict):
        return faults
    return [Fault(f.path.replace("$.note[0]", "$.note", 1), f.message, f.expected, f.example) for f in faults]


# --- arguments to FHIR parameters -----------------------------------------------------------------


def search_query(function: Function, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """The FHIR search parameters of a valid call, in the order sent, values not yet encoded.

    A patient becomes its bare id, a list of dates one parameter each, `legal-sex` gender and an
    order's `date` authoredon (also in `_sort`). `page` is not among them: it names a page that was
    already searched for.
    """
    query: list[tuple[str, str]] = []
    for name, value in arguments.items():
        if name == "page" or value is None:
            continue
        sent_as = function.sent_as.get(name, name)
        if name == "patient":
            query.append((sent_as, str(value).rpartition("/")[2]))
        elif name == "_sort":
            query.append((sent_as, _renamed_sort(function, str(value))))
        else:
            values = value if isinstance(value, list) else [value]
            query += [(sent_as, str(item)) for item in values]
    return list(dict.fromkeys(query))


def _renamed_sort(function: Function, sort: str) -> str:
    keys = []
    for key in sort.split(","):
        bare = key.removeprefix("-")
        keys.append(key[: len(key) - len(bare)] + function.sent_as.get(bare, bare))
    return ",".join(keys)
