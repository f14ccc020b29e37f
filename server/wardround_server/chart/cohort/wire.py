"""Pieces of FHIR JSON from which records are put together as text.

Three quarters of a million resources are written by joining prepared pieces: no dict is built and
serialised for each. Every piece is made by a JSON encoder, so what is joined is JSON.
"""

from __future__ import annotations

import json
from typing import Any, Final

OWN: Final = "http://wardround.example/fhir/"
"""Prefix of the chart's own code systems; `.example` is reserved, so it can be nobody's host."""

LAB_SYSTEM: Final = OWN + "lab-code"
FLOWSHEET_SYSTEM: Final = OWN + "flowsheet"
MRN_SYSTEM: Final = OWN + "mrn"
SYNTHETIC_SYSTEM: Final = OWN + "origin"
LOINC: Final = "http://loinc.org"
UCUM: Final = "http://unitsofmeasure.org"
ICD10CM: Final = "http://hl7.org/fhir/sid/icd-10-cm"
CPT: Final = "http://www.ama-assn.org/go/cpt"
NDC: Final = "http://hl7.org/fhir/sid/ndc"
TERMINOLOGY: Final = "http://terminology.hl7.org/CodeSystem/"


def to_json(value: Any) -> str:
    """Compact JSON; letters beyond ASCII stay as they are (the chart is UTF-8)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def coding(system: str, code: str, display: str) -> dict[str, str]:
    """A FHIR Coding."""
    return {"system": system, "code": code, "display": display}


def concept(*codings: dict[str, str], text: str) -> dict[str, Any]:
    """A FHIR CodeableConcept."""
    return {"coding": list(codings), "text": text}


def decimal(value: int, decimals: int) -> str:
    """A whole number of the last decimal's units as a JSON number: (18, 1) is 1.8, (140, 0) is 140."""
    if decimals == 0:
        return str(value)
    whole, rest = divmod(value, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}"


def number(value: int, decimals: int) -> float | int:
    """The same as a Python number, for the pieces that a JSON encoder writes."""
    return value if decimals == 0 else float(decimal(value, decimals))


def head(resource_type: str, id_prefix: str) -> str:
    """The beginning of a resource, up to the serial number of its id."""
    return f'{{"resourceType":"{resource_type}","id":"{id_prefix}'


def quantity(value: int, decimals: int, unit: str) -> dict[str, Any]:
    """A FHIR Quantity in a UCUM unit."""
    return {"value": number(value, decimals), "unit": unit, "system": UCUM, "code": unit}
