"""Validation of a call against its function's schema, with faults in place of a library's errors.

The validator of each function is built once and kept. `jsonschema` is imported at the first call,
since it costs start-up time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from .faults import MAX_FAULTS, example_of, expectation, kind_of, make_fault, nearest, quoted
from .loading import finish_function, load_functions
from .model import Fault, Function, Profile, Schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_SIZE_KEYWORDS = frozenset({"minItems", "maxItems"})


def schema_faults(function: Function, arguments: dict[str, Any]) -> list[Fault]:
    """What is wrong with decoded arguments by the function's `accepts` schema, at most MAX_FAULTS.

    One fault a place: the first says enough. Whoever gives `page` needs no other parameter.
    """
    found: dict[str, Fault] = {}
    errors = _validator(function.name, function.profile).iter_errors(arguments)
    needed = (e for e in errors if not (e.validator == "required" and "page" in arguments and not e.path))
    for fault in chain.from_iterable(_faults(error, function) for error in needed):
        found.setdefault(fault.path, fault)
        if len(found) >= MAX_FAULTS:
            break
    return list(found.values())


@cache
def _validator(name: str, profile: Profile) -> Validator:
    from jsonschema import Draft202012Validator, validators

    known = (*load_functions(profile), finish_function())
    function = next(f for f in known if f.name == name)
    extend: Callable[..., type[Validator]] = validators.extend
    return extend(Draft202012Validator, {"pattern": _pattern})(function.accepts)


def _pattern(validator: Any, pattern: str, instance: object, schema: Schema) -> Iterator[ValidationError]:
    """`pattern` as JSON Schema means it: in Python `$` would let a trailing line break through."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not re.fullmatch(pattern, instance):
        yield ValidationError("does not match")


def _faults(error: ValidationError, function: Function) -> Iterator[Fault]:
    """The faults that one error of the library stands for."""
    path = list(error.absolute_path)
    schema: Schema = error.schema if isinstance(error.schema, dict) else {}
    given = error.instance if isinstance(error.instance, dict) else {}
    if error.validator == "required":
        yield from _missing(given, path, schema)
    elif error.validator == "additionalProperties":
        yield from _unknown(given, path, schema, function)
    elif error.validator == "anyOf":
        yield from _best_form(error, path, schema, function)
    else:
        yield _plain(error, path, schema)


def _missing(given: dict[str, Any], path: list[str | int], schema: Schema) -> Iterator[Fault]:
    for name in schema["required"]:
        if name not in given:
            wanted = schema["properties"].get(name, {})
            yield make_fault(
                [*path, name], "missing", expected=expectation(wanted), example=example_of(wanted)
            )


def _unknown(
    given: dict[str, Any], path: list[str | int], schema: Schema, function: Function
) -> Iterator[Fault]:
    known = schema["properties"]
    for name in given:
        if name in known:
            continue
        near = nearest(name, known)
        message = f"{function.name} has no such parameter"
        if near is not None:
            message += f"; did you mean {near}?"
        yield make_fault([*path, name], message, expected="one of " + ", ".join(known))


def _best_form(
    error: ValidationError, path: list[str | int], schema: Schema, function: Function
) -> Iterator[Fault]:
    """Faults of the form that the value comes nearest to: the first of its type, sizes aside."""
    forms: dict[int, list[ValidationError]] = {}
    for inner in error.context or ():
        forms.setdefault(int(inner.schema_path[0]), []).append(inner)
    wanted = make_fault(
        path,
        f"{quoted(error.instance)} is of the wrong type",
        expected=expectation(schema),
        example=example_of(schema),
    )
    of_type = [tried for _, tried in sorted(forms.items()) if not any(map(_is_type_error, tried))]
    if not of_type:
        yield wanted
        return
    best = min(of_type, key=lambda tried: any(inner.validator in _SIZE_KEYWORDS for inner in tried))
    for inner in best:
        for fault in _faults(inner, function):
            # The forms themselves carry no description: the property that they are forms of does.
            yield fault if fault.example else replace(fault, expected=wanted.expected, example=wanted.example)


def _is_type_error(inner: ValidationError) -> bool:
    """Whether a form was passed over because the value as a whole is of another type."""
    return inner.validator == "type" and not inner.relative_path


def _plain(error: ValidationError, path: list[str | int], schema: Schema) -> Fault:
    value = quoted(error.instance)
    messages = {
        "type": f"{value} is not {kind_of(schema)}",
        "const": f"{value} is not the one value allowed here",
        "enum": f"{value} is not among the values allowed here",
        "pattern": f"{value} is not of the right form",
        "minItems": f"{value} is too short a list",
        "maxItems": f"{value} is too long a list",
        "minimum": f"{value} is too small",
        "maximum": f"{value} is too large",
    }
    message = messages.get(str(error.validator), f"{value} is not allowed here")
    return make_fault(path, message, expected=expectation(schema), example=example_of(schema))
