"""The search values of one resource: the single reading that both the index and the matcher go by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from .params import stored_params
from .values import Reader, Value, read_boolean, wrong_type

Values = dict[str, list[Any]]
"""Search values by parameter name, without doubles; a parameter without a value is absent.

The values of one parameter are all of the class that belongs to its kind (`values.Value`).
"""


@dataclass(frozen=True, slots=True)
class _Node:
    """A place in a resource: the readers of what stands there with their parameters, and the places below."""

    readers: tuple[tuple[Reader, tuple[str, ...]], ...]
    below: tuple[tuple[str, _Node], ...]


class ResourceFault(ValueError):
    """A resource that can't be indexed: what is wrong, with the path of the element."""


@cache
def _plan(resource_type: str) -> dict[str, _Node]:
    """The places that the parameters of a type look at, by top-level element."""
    sources = [
        (tuple(path.split(".")), reader, param.name)
        for param in stored_params(resource_type)
        for path, reader in param.sources
    ]
    return dict(_node(sources).below)


def _node(sources: list[tuple[tuple[str, ...], Reader, str]]) -> _Node:
    readers: dict[Reader, list[str]] = {}
    below: dict[str, list[tuple[tuple[str, ...], Reader, str]]] = {}
    for path, reader, name in sources:
        if path:
            below.setdefault(path[0], []).append((path[1:], reader, name))
        else:
            readers.setdefault(reader, []).append(name)
    return _Node(
        tuple((reader, tuple(names)) for reader, names in readers.items()),
        tuple((key, _node(inner)) for key, inner in below.items()),
    )


def _walk(value: Any, node: _Node, found: Values) -> None:
    if isinstance(value, list):
        for item in value:
            _walk(item, node, found)
        return
    if value is None:
        return
    for reader, names in node.readers:
        values: list[Any] = []
        reader(value, values)
        for name in names:
            held = found.get(name)
            if held is None:
                found[name] = values.copy()
            else:
                held.extend(values)
    if node.below:
        if not isinstance(value, dict):
            raise wrong_type("an object", value)
        for key, inner in node.below:
            if key in value:
                _walk(value[key], inner, found)


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
        node = plan.get(element)
        if node is None:
            continue
        try:
            _walk(content, node, found)
        except ValueError as error:
            fault = ResourceFault(f"{resource_type}.{element}: {error}")
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
