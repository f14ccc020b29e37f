"""The canonical R4 form of what a create call carries, and whether a resource is valid R4.

The form changes only what has one meaning: a route given as text becomes a CodeableConcept, a single
note a list, a time without a zone UTC, an absolute reference under the own base a relative one;
elements that hold nothing are left out, but for those that the function needs: an order of nothing is
not to pass for a valid one. Everything else is kept, right or wrong. What was sent is never altered:
the form is a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from .dates import completed_instant
from .faults import MAX_FAULTS, make_fault, quoted
from .loading import load_functions
from .model import Fault
from .r4 import PRIMITIVES, RESOURCE_TYPES, Element, TypeDefinition, definitions

MAX_DEPTH = 48
_Path = tuple[str | int, ...]
_REFERENCE = re.compile(
    r"#\S*|[A-Z][A-Za-z]+/[A-Za-z0-9.-]{1,64}(/_history/[A-Za-z0-9.-]{1,64})?|[a-z][a-z0-9+.-]*:\S+"
)


def canonical_resource(
    resource_type: str, resource: dict[str, Any], *, base_url: str | None = None
) -> dict[str, Any]:
    """The resource in its canonical R4 form, as a new object.

    `base_url` is the chart's own base: absolute references under it become relative. A missing
    resourceType is set; a wrong one is kept for `validate_r4` to find.
    """
    base = base_url.rstrip("/") + "/" if base_url else None
    formed = _formed(resource, resource_type if resource_type in definitions() else None, base, 0)
    needed = _needed(resource_type)
    formed |= {name: value for name, value in resource.items() if name in needed and _is_void(value)}
    return formed if "resourceType" in formed else {"resourceType": resource_type, **formed}


@cache
def _needed(resource_type: str) -> frozenset[str]:
    """The elements that the function which makes this type needs."""
    creates = (f for f in load_functions() if f.kind == "create" and f.resource_type == resource_type)
    return frozenset(name for function in creates for name in function.input_schema["required"])


def _formed(value: Any, kind: str | None, base: str | None, depth: int) -> Any:
    """A value of FHIR type `kind` (None: unknown) in canonical form."""
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, dict):
        definition = definitions().get(kind or "")
        formed = {name: _formed_element(name, item, definition, base, depth) for name, item in value.items()}
        return {name: item for name, item in formed.items() if not _is_void(item)}
    if isinstance(value, list):
        return [_formed(item, kind, base, depth + 1) for item in value]
    if isinstance(value, str) and kind in ("dateTime", "instant"):
        return completed_instant(value)
    return value


def _formed_element(
    name: str, value: Any, definition: TypeDefinition | None, base: str | None, depth: int
) -> Any:
    element = definition.elements.get(name) if definition is not None else None
    if element is None:
        return _formed(value, None, base, depth + 1)
    if name == "route" and isinstance(value, str):
        value = {"text": value}
    if element.type == "Annotation" and element.many and isinstance(value, dict):
        value = [value]
    if name == "reference" and base and isinstance(value, str) and value.startswith(base):
        return value[len(base) :]
    return _formed(value, element.type, base, depth + 1)


def _is_void(value: object) -> bool:
    """FHIR has no empty elements: https://hl7.org/fhir/R4/json.html."""
    return value is None or value in ({}, [], "")


# --- validity --------------------------------------------------------------------------------------


def validate_r4(resource_type: str, resource: object) -> list[Fault]:
    """What R4 finds wrong with a resource of this type, [] where it is valid; at most MAX_FAULTS.

    Checked: elements, types, cardinalities, required codes, real dates, references that name a type,
    and the invariants ele-1, ext-1, qty-3 and obs-6. Terminology beyond required codes, and whether
    a reference points at something, are the server's to know.
    """
    if resource_type not in RESOURCE_TYPES:
        known = ", ".join(RESOURCE_TYPES)
        return [
            make_fault(
                ["resourceType"], f"{quoted(resource_type)} can't be created", expected=f"one of {known}"
            )
        ]
    if not isinstance(resource, dict):
        return [
            make_fault(
                [], f"{quoted(resource)} is not a resource", expected=f"a {resource_type} as an object"
            )
        ]
    return list(islice(_resource_faults(resource_type, resource), MAX_FAULTS))


def _resource_faults(resource_type: str, resource: dict[str, Any]) -> Iterator[Fault]:
    named = resource.get("resourceType")
    if named != resource_type:
        message = "missing" if named is None else f"{quoted(named)} is another type"
        yield make_fault(
            ["resourceType"], message, expected=f'exactly "{resource_type}"', example=resource_type
        )
    body = {name: value for name, value in resource.items() if name != "resourceType"}
    yield from _complex_faults(resource_type, body, ())
    if resource_type == "Observation":
        yield from _observation_faults(body)


def _complex_faults(kind: str, value: object, path: _Path) -> Iterator[Fault]:
    definition = definitions().get(kind)
    if not isinstance(value, dict):
        yield make_fault(path, f"{quoted(value)} is not an object", expected=f"a {kind}")
        return
    if not value and path:
        yield make_fault(path, "is an empty object", expected=f"a {kind} with content, or none at all")
    if definition is None:  # a type that we do not define: only its shape is known
        return
    if len(path) > MAX_DEPTH:
        yield make_fault(path, "nested too deeply", expected=f"at most {MAX_DEPTH} levels")
        return
    for name, item in value.items():
        yield from _named_faults(name, item, value, definition, (*path, name))
    for group in definition.needed:
        if not any(name in value or f"_{name}" in value for name in group):
            yield make_fault((*path, group[0]), "missing", expected=" or ".join(group))
    for group in definition.choices:
        given = [name for name in group if name in value]
        if len(given) > 1:
            yield make_fault((*path, given[1]), f"excludes {given[0]}", expected="only one of the two")
    yield from _invariant_faults(kind, value, path)


def _named_faults(
    name: str, item: object, siblings: dict[str, Any], definition: TypeDefinition, path: _Path
) -> Iterator[Fault]:
    element = definition.elements.get(name)
    if element is not None:
        yield from _element_faults(element, item, path, bare_nulls=f"_{name}" in siblings)
        return
    primitive = definition.elements.get(name.removeprefix("_"))
    if not name.startswith("_") or primitive is None or primitive.type not in PRIMITIVES:
        yield make_fault(path, "R4 has no such element here", expected="only elements that R4 defines")
        return
    extras = item if primitive.many and isinstance(item, list) else [item]
    for extra in extras:
        if extra is not None or not primitive.many:
            yield from _complex_faults("Element", extra, path)


def _element_faults(element: Element, item: object, path: _Path, *, bare_nulls: bool) -> Iterator[Fault]:
    if not element.many:
        yield from _value_faults(element, item, path)
        return
    if not isinstance(item, list):
        yield make_fault(path, f"{quoted(item)} is not a list", expected=f"a list of {element.type}")
        return
    if not item:
        yield make_fault(path, "is an empty list", expected="a list with content, or none at all")
    for index, member in enumerate(item):
        if not (member is None and bare_nulls):
            yield from _value_faults(element, member, (*path, index))


def _value_faults(element: Element, value: object, path: _Path) -> Iterator[Fault]:
    if element.type == "Contained":
        if not isinstance(value, dict) or not isinstance(value.get("resourceType"), str):
            yield make_fault(path, "is not a resource", expected="a resource with a resourceType")
        return
    check = PRIMITIVES.get(element.type)
    if check is None:
        yield from _complex_faults(element.type, value, path)
        return
    why = check(value)
    if why is not None:
        message = f"{quoted(value)}{'' if why.startswith('is ') else ':'} {why}"
        yield make_fault(path, message, expected=f"a FHIR {element.type}")
    elif element.codes is not None and value not in element.codes:
        codes = sorted(element.codes)
        yield make_fault(
            path, f"{quoted(value)} is not a code that R4 allows here", expected="one of " + ", ".join(codes)
        )


def _invariant_faults(kind: str, value: dict[str, Any], path: _Path) -> Iterator[Fault]:
    if kind == "Reference":
        reference = value.get("reference")
        if isinstance(reference, str) and not _REFERENCE.fullmatch(reference):
            yield make_fault(
                (*path, "reference"),
                f"{quoted(reference)} does not name a resource",
                expected="a type and an id",
                example="Patient/S1234567",
            )
    elif kind in ("Quantity", "SimpleQuantity"):
        if "code" in value and "system" not in value:
            yield make_fault(
                (*path, "system"),
                "missing beside code (qty-3)",
                expected="the system of the unit's code",
                example="http://unitsofmeasure.org",
            )
    elif kind == "Extension":
        valued = any(name.startswith("value") for name in value)
        if valued == ("extension" in value):
            yield make_fault(path, "needs a value or extensions, not both (ext-1)", expected="one of the two")


def _observation_faults(body: dict[str, Any]) -> Iterator[Fault]:
    if "dataAbsentReason" in body and any(name.startswith("value") for name in body):
        yield make_fault(
            ["dataAbsentReason"], "excludes a value (obs-6)", expected="a value or the reason for none"
        )
