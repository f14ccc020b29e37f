"""The R4 definitions of what the create functions make: elements, types, cardinalities, required codes.

Source: the StructureDefinitions of FHIR R4 (4.0.1) for Observation, MedicationRequest, ServiceRequest
and the data types that they use. They stand in `r4_elements.json`, an element per line:

    "status": "code! active|draft"      a code, needed, one of these
    "note": "Annotation*"               a list of Annotations
    "dose[x]": "Range|SimpleQuantity:Quantity"   doseRange or doseQuantity (checked as SimpleQuantity)
    "medication[x]": "! CodeableConcept|Reference"   one of the two is needed
    "is": "Element"                     has that type's elements too
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import orjson

from .dates import date_fault

RESOURCE_TYPES = ("Observation", "MedicationRequest", "ServiceRequest")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a type: its own type, whether it is a list, and the codes that it may take."""

    type: str
    many: bool = False
    codes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A type's elements by JSON name; `needed` groups of which one must be there; `choices` that exclude
    each other."""

    elements: dict[str, Element]
    needed: tuple[tuple[str, ...], ...]
    choices: tuple[tuple[str, ...], ...]


# Types that an extension may carry and that are not defined here are checked for being an object only.
_OTHER_TYPES = (
    *("Address", "Age", "Attachment", "ContactPoint", "Count", "Distance", "Duration", "HumanName", "Money"),
    *("Signature", "ContactDetail", "Contributor", "DataRequirement", "Expression", "ParameterDefinition"),
    *("RelatedArtifact", "TriggerDefinition", "UsageContext"),
)
_OPEN_TYPES = (
    *("Annotation", "CodeableConcept", "Coding", "Identifier", "Period", "Quantity", "Range", "Ratio"),
    *("Reference", "SampledData", "Timing", "Dosage", "Meta"),
)


@cache
def definitions() -> dict[str, TypeDefinition]:
    """Every complex type by name."""
    raw = orjson.loads(resources.files(__package__).joinpath("r4_elements.json").read_bytes())
    return {name: _definition(name, raw) for name in raw}


def _definition(name: str, raw: dict[str, dict[str, str]]) -> TypeDefinition:
    elements: dict[str, Element] = {}
    needed: list[tuple[str, ...]] = []
    choices: list[tuple[str, ...]] = []
    for key, text in raw[name].items():
        if key == "is":
            base = _definition(text, raw)
            elements |= base.elements
            needed += base.needed
            choices += base.choices
        elif key.endswith("[x]"):
            forms = _choice(key.removesuffix("[x]"), text.removeprefix("! "))
            elements |= forms
            choices.append(tuple(forms))
            if text.startswith("! "):
                needed.append(tuple(forms))
        else:
            kind, _, codes = text.partition(" ")
            elements[key] = Element(
                kind.rstrip("!*"), "*" in kind, frozenset(codes.split("|")) if codes else None
            )
            if kind.endswith("!"):
                needed.append((key,))
    return TypeDefinition(elements, tuple(needed), tuple(choices))


def _choice(stem: str, text: str) -> dict[str, Element]:
    if text == "any":
        kinds = [*PRIMITIVES, *_OPEN_TYPES, *_OTHER_TYPES]
        kinds.remove("xhtml")
        text = "|".join(kinds)
    forms = {}
    for form in text.split("|"):
        checked, _, named = form.partition(":")
        suffix = named or checked
        forms[stem + suffix[0].upper() + suffix[1:]] = Element(checked)
    return forms


# --- primitive types: https://hl7.org/fhir/R4/datatypes.html ---------------------------------------

_MAX_STRING = 1024 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BASE64 = re.compile(r"[0-9a-zA-Z+/]*={0,2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?")

PrimitiveCheck = Callable[[object], str | None]


def _text(pattern: str, wrong: str) -> PrimitiveCheck:
    compiled = re.compile(pattern)

    def check(value: object) -> str | None:
        if not isinstance(value, str):
            return "is not a string"
        if not value:
            return "is an empty string"
        if len(value) > _MAX_STRING:
            return "is longer than 1,048,576 characters"
        if _CONTROL.search(value):
            return "has control characters"
        return None if compiled.fullmatch(value) else wrong

    return check


def _whole(low: int) -> PrimitiveCheck:
    def check(value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "is not a whole number"
        return None if low <= value < 2**31 else f"is not from {low} to 2147483647"

    return check


def _decimal(value: object) -> str | None:
    return None if isinstance(value, (int, float)) and not isinstance(value, bool) else "is not a number"


def _boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else "is not true or false"


def _date(value: object) -> str | None:
    return date_fault(value, "date") if isinstance(value, str) else "is not a string"


def _date_time(value: object) -> str | None:
    return date_fault(value) if isinstance(value, str) else "is not a string"


def _instant(value: object) -> str | None:
    return date_fault(value, "instant") if isinstance(value, str) else "is not a string"


def _base64(value: object) -> str | None:
    if not isinstance(value, str):
        return "is not a string"
    packed = "".join(value.split())
    return None if packed and len(packed) % 4 == 0 and _BASE64.fullmatch(packed) else "is not base64"


_ANY_TEXT = _text(r"[ \r\n\t\S]+", "is not a FHIR string")
_URI = _text(r"\S+", "is not a URI")

PRIMITIVES: dict[str, PrimitiveCheck] = {
    "base64Binary": _base64,
    "boolean": _boolean,
    "canonical": _URI,
    "code": _text(r"\S+(\s\S+)*", "is not a code"),
    "date": _date,
    "dateTime": _date_time,
    "decimal": _decimal,
    "id": _text(r"[A-Za-z0-9.-]{1,64}", "is not an id"),
    "instant": _instant,
    "integer": _whole(-(2**31)),
    "markdown": _ANY_TEXT,
    "oid": _text(r"urn:oid:[0-2](\.(0|[1-9][0-9]*))+", "is not an OID"),
    "positiveInt": _whole(1),
    "string": _ANY_TEXT,
    "time": _text(_TIME.pattern, "is not a time of day"),
    "unsignedInt": _whole(0),
    "uri": _URI,
    "url": _URI,
    "uuid": _text(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "is not a UUID"),
    "xhtml": _text(r"<div[\s>][\s\S]*", "is not an XHTML div"),
}
