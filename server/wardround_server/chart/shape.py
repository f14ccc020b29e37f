"""Resources cut down as `_elements` and `_summary` ask, marked as such.

Numbers keep the digits they were written with: `1.50` stays `1.50`.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from .request import Request

SUBSETTED = {
    "system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue",
    "code": "SUBSETTED",
    "display": "Resource encoded in summary mode",
}
_ALWAYS = frozenset({"resourceType", "id", "meta"})
_MANDATORY: dict[str, frozenset[str]] = {
    "Patient": frozenset(),
    "Condition": frozenset({"subject"}),
    "Observation": frozenset({"status", "code"}),
    "MedicationRequest": frozenset(
        {"status", "intent", "medicationCodeableConcept", "medicationReference", "subject"}
    ),
    "Procedure": frozenset({"status", "subject"}),
    "ServiceRequest": frozenset({"status", "intent", "subject"}),
}
"""Elements that FHIR R4 requires of each type: a subset must stay a valid resource."""
_NOT_IN_SUMMARY: dict[str, frozenset[str]] = {
    "Patient": frozenset(
        {
            "maritalStatus",
            "multipleBirthBoolean",
            "multipleBirthInteger",
            "photo",
            "contact",
            "communication",
            "generalPractitioner",
        }
    ),
    "Condition": frozenset(
        {
            "severity",
            "abatementDateTime",
            "abatementAge",
            "abatementPeriod",
            "abatementRange",
            "abatementString",
            "stage",
            "note",
            "category",
        }
    ),
    "Observation": frozenset(
        {
            "category",
            "dataAbsentReason",
            "interpretation",
            "note",
            "bodySite",
            "method",
            "specimen",
            "device",
            "referenceRange",
        }
    ),
    "MedicationRequest": frozenset(
        {
            "statusReason",
            "category",
            "supportingInformation",
            "performer",
            "reasonCode",
            "reasonReference",
            "courseOfTherapyType",
            "insurance",
            "note",
            "dosageInstruction",
            "dispenseRequest",
            "substitution",
            "priorPrescription",
            "detectedIssue",
            "eventHistory",
            "encounter",
        }
    ),
    "Procedure": frozenset(
        {
            "report",
            "complication",
            "complicationDetail",
            "followUp",
            "note",
            "focalDevice",
            "usedReference",
            "usedCode",
        }
    ),
    "ServiceRequest": frozenset(
        {"locationReference", "insurance", "supportingInfo", "note", "relevantHistory"}
    ),
}
"""Top-level elements that the R4 definitions do not mark as part of the summary (the sigma flag)."""


def parse_exact(body: bytes) -> Any:
    """JSON whose numbers are kept as written, to be given out again by `dump`; ValueError for other text."""
    return json.loads(body, parse_float=orjson.Fragment, parse_int=_whole_number, parse_constant=_no_constant)


def _whole_number(digits: str) -> Any:
    """An int where orjson can write it (64 bits), the digits else."""
    return int(digits) if len(digits) < 19 else orjson.Fragment(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def dump(value: Any, *, pretty: bool = False) -> bytes:
    """JSON bytes of what `parse_exact` gave."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else 0)


def keeps(request: Request, element: str) -> bool:
    """Whether a top-level element is part of the answer."""
    if element in _ALWAYS:
        return True
    kind = request.resource_type
    name = element.removeprefix("_")
    if request.elements:
        return name in request.elements or name in _MANDATORY[kind]
    match request.summary:
        case "data":
            return name != "text"
        case "text":
            return name == "text" or name in _MANDATORY[kind]
        case _:
            hidden = name in _NOT_IN_SUMMARY[kind] or name in (
                "text",
                "contained",
                "extension",
                "modifierExtension",
            )
            return not hidden or name in _MANDATORY[kind]


def shape_entry(request: Request, body: bytes) -> bytes:
    """The resource with only the elements asked for, tagged SUBSETTED as R4 requires."""
    resource = parse_exact(body)
    cut = {element: value for element, value in resource.items() if keeps(request, element)}
    meta = dict(cut.get("meta") or {})
    meta["tag"] = [*(meta.get("tag") or ()), SUBSETTED]
    head = {key: cut.pop(key) for key in ("resourceType", "id") if key in cut}
    return dump({**head, **cut, "meta": meta})
