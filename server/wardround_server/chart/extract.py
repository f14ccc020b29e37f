"""The search values of one resource: the single reading that both the index and the matcher go by."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .params import stored_params
from .values import Reader, Value, read_boolean

Values = dict[str, list[Any]]
"""Search values by parameter name, without doubles; a parameter without a value is absent.

The values of one parameter are all of the class that belongs to its kind (`values.Value`).
"""
Plan = dict[str, tuple[tuple[str, tuple[str, ...], Reader], ...]]


class ResourceFault(ValueError):
    """A resource that can't be indexed: what is wrong, with the path of the element."""


@cache
def _plan(resource_type: str) -> Plan:
    """For each top-level element: the parameters that look at it, the rest of the path, the reader."""
    plan: dict[str, list[tuple[str, tuple[str, ...], Reader]]] = {}
    for param in stored_params(resource_type):
        for path, reader in param.sources:
            first, *rest = path.split(".")
            plan.setdefault(first, []).append((param.name, tuple(rest), reader))
    return {element: tuple(steps) for element, steps in plan.items()}


def _walk(value: Any, rest: tuple[str, ...], reader: Reader, out: list[Any]) -> None:
    if isinstance(value, list):
        for item in value:
            _walk(item, rest, reader, out)
    elif value is None:
        return
    elif not rest:
        reader(value, out)
    elif isinstance(value, dict):
        _walk(value.get(rest[0]), rest[1:], reader, out)
    else:
        raise ValueError(f"an object belongs here, not {type(value).__name__}")


def extract(
    resource_type: str, resource: dict[str, Any], on_fault: Callable[[ResourceFault], None] | None = None
) -> Values:
    """The search values of a resource of one of the searched types.

    Raises ResourceFault for an element that can't be read; where `on_fault` is given it is called
    instead, and the element left out.
    """
    plan = _plan(resource_type)
    found: Values = {}
    for element, content in resource.items():
        for name, rest, reader in plan.get(element, ()):
            values = found.get(name)
            if values is None:
                values = found[name] = []
            try:
                _walk(content, rest, reader, values)
            except ValueError as error:
                path = ".".join((resource_type, element, *rest))
                fault = ResourceFault(f"{path}: {error}")
                if on_fault is None:
                    raise fault from None
                on_fault(fault)
    if resource_type == "Patient":
        _add_deceased(resource, found)
    return {
        name: values if len(values) == 1 else list(dict.fromkeys(values))
        for name, values in found.items()
        if values
    }


def _add_deceased(patient: dict[str, Any], found: Values) -> None:
    """`deceased`: true where a date or the flag says so, false for everyone else (R4's expression)."""
    values: list[Value] = []
    if patient.get("deceasedDateTime") is not None:
        read_boolean(True, values)
    else:
        flag = patient.get("deceasedBoolean")
        read_boolean(flag if isinstance(flag, bool) else False, values)
    found["deceased"] = values
