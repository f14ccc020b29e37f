"""Searches of conditions, medication requests, procedures and service requests."""

from __future__ import annotations

from .case import HAPI_DATE_OR, Case, Hapi
from .patients import AND_RULE, MISSING_RULE, OR_RULE, SPAN_RULE, SYSTEM_RULE, TOKEN_RULE

NAMES_TARGET = "reference: Type/id or id"


def _of(resource_type: str, *rows: tuple[str, str | int, str]) -> list[Case]:
    return [Case(resource_type, query, expect, rule) for query, expect, rule in rows]


CONDITIONS = _of(
    "Condition",
    ("patient=cx-p1", "c1 c2 c4", NAMES_TARGET),
    ("patient=Patient/cx-p1&category=problem-list-item", "c1", TOKEN_RULE),
    (
        "category=http://terminology.hl7.org/CodeSystem/condition-category|problem-list-item",
        "c1 c3",
        SYSTEM_RULE,
    ),
    ("clinical-status=active", "c1 c3", TOKEN_RULE),
    ("clinical-status=active,resolved&patient=cx-p1", "c1 c2", OR_RULE),
    ("clinical-status:not=active", "c2 c4", ":not takes those without a value too"),
    ("code=44054006", "c1 c3", TOKEN_RULE),
    ("code=http://snomed.info/sct|44054006&patient=cx-p2", "c3", SYSTEM_RULE),
    ("code:text=type%202", "c1", "token:text"),
    ("code:text=something", "c4", "token:text"),
    ("severity=6736007", "c1", TOKEN_RULE),
    ("body-site=39607008", "c4", TOKEN_RULE),
    ("onset-date=2015", "c1", SPAN_RULE),
    ("onset-date=2023-10-02", "", SPAN_RULE),
    ("onset-date=2023-10", "c2", SPAN_RULE),
    ("onset-date=gt2023-10-02", "c2", SPAN_RULE),
    ("onset-date=lt2023-10-02", "c1 c2 c3", SPAN_RULE),
    ("onset-date=ge2016", "c2 c3", SPAN_RULE),
    ("onset-date:missing=true", "c4", MISSING_RULE),
    ("onset-info=early", "c4", "string: begins with the value"),
    ("recorded-date=2015-06-02", "c1", SPAN_RULE),
    ("abatement-date=2023-10-20", "c2", SPAN_RULE),
    ("asserter=Practitioner/cx-doc", "c2", NAMES_TARGET),
    ("encounter=Encounter/cx-enc", "c2", NAMES_TARGET),
    ("category:missing=true", "c4", MISSING_RULE),
    ("patient.identifier=CX1002", "c3", "chain: the patient's identifier"),
)

MEDICATION_REQUESTS = _of(
    "MedicationRequest",
    ("patient=cx-p1", "m1 m2 m4", NAMES_TARGET),
    ("status=active", "m1 m3", TOKEN_RULE),
    ("intent=order&patient=cx-p1", "m1 m4", TOKEN_RULE),
    ("category=inpatient", "m1", TOKEN_RULE),
    ("category=community,inpatient", "m1 m3", OR_RULE),
    ("authoredon=2023-11-12", "m1", SPAN_RULE),
    ("authoredon=ge2023-11-12&authoredon=le2023-11-13", "m1 m2", AND_RULE),
    ("authoredon=lt2023", "m3", SPAN_RULE),
    ("authoredon:missing=true", "m4", MISSING_RULE),
    ("date=2023-11-12", "m1", "date is when the medication is to be given"),
    ("date=2023-11-20", "m1", "date: one of several timings"),
    ("date=2023-11-13", "", "date is not when it was ordered"),
    ("date=ge2023-11-15", "m1", SPAN_RULE),
    ("date:missing=true&patient=cx-p1", "m2 m4", MISSING_RULE),
    ("code=0338-1715-40", "m1", TOKEN_RULE),
    ("code=http://hl7.org/fhir/sid/ndc|40032-917-01", "m2", "code looks at the concept alone"),
    ("medication=Medication/cx-med", "m3", NAMES_TARGET),
    ("priority=urgent", "m2", TOKEN_RULE),
    ("requester=Practitioner/cx-doc", "m1", NAMES_TARGET),
)

PROCEDURES = [
    Case("Procedure", "date=2023-10-05,2023-10-01", "r1", OR_RULE, hapi=Hapi(HAPI_DATE_OR, 400)),
    *_of(
        "Procedure",
        ("patient=cx-p1&date=2023-10-01", "r1", SPAN_RULE),
        ("patient=cx-p1&date=2023-10-06", "", "date: a day within a period does not contain it"),
        ("patient=cx-p1&date=ge2023-10-05&date=le2023-10-06", "r2", AND_RULE),
        ("date=2023-10", "r1 r2 r3", SPAN_RULE),
        ("date=sa2023-10-01&patient=cx-p1", "r2", SPAN_RULE),
        ("date:missing=true", "r4", MISSING_RULE),
        ("code=99213", "r1 r3", TOKEN_RULE),
        ("code=http://www.ama-assn.org/go/cpt|47562", "r2", SYSTEM_RULE),
        ("code=99213&patient=cx-p1&date=ge2023-09-01&date=lt2023-11-01", "r1", AND_RULE),
        ("status=not-done", "r4", TOKEN_RULE),
        ("category=387713003", "r1", TOKEN_RULE),
        ("performer=Practitioner/cx-doc", "r1", NAMES_TARGET),
        ("location=cx-loc", "r1", NAMES_TARGET),
        ("part-of=Procedure/cx-r1", "r2", NAMES_TARGET),
        ("based-on=ServiceRequest/cx-s1", "r2", NAMES_TARGET),
        ("reason-code=105480006", "r4", TOKEN_RULE),
    ),
]

SERVICE_REQUESTS = _of(
    "ServiceRequest",
    ("patient=cx-p1", "s1 s2", NAMES_TARGET),
    ("code=306181000000106", "s1", TOKEN_RULE),
    ("code=http://loinc.org|2823-3", "s2", SYSTEM_RULE),
    ("authored=2023-11-13", "s1", SPAN_RULE),
    ("authored=ge2023-11-12", "s1 s2", SPAN_RULE),
    ("occurrence=2023-11-14", "s1", SPAN_RULE),
    ("occurrence=ge2023-11-16", "s2", SPAN_RULE),
    ("occurrence=2023-11-17", "", SPAN_RULE),
    ("status=draft", "s2", TOKEN_RULE),
    ("intent=plan", "s2", TOKEN_RULE),
    ("priority=stat,routine", "s1 s2", OR_RULE),
    ("priority:missing=true", "s3", MISSING_RULE),
    ("requisition=R-9", "s2", TOKEN_RULE),
    ("requester=Practitioner/cx-doc", "s1", NAMES_TARGET),
    ("based-on=ServiceRequest/cx-s1", "s3", NAMES_TARGET),
    ("replaces=cx-s2", "s3", NAMES_TARGET),
    ("performer=Practitioner/cx-doc", "s3", NAMES_TARGET),
)

RECORD_CASES = [*CONDITIONS, *MEDICATION_REQUESTS, *PROCEDURES, *SERVICE_REQUESTS]
