"""The chart of the conformance suite: invented persons, one resource for each case that a rule parts."""

from __future__ import annotations

from typing import Any

Resource = dict[str, Any]

PREFIX = "cx-"
"""Every id of the suite begins so: in a server that holds other records too, answers are told apart by it."""
MRN = "https://cx.example/mrn"
LAB = "https://cx.example/lab"
LOINC = "http://loinc.org"
SNOMED = "http://snomed.info/sct"
OBSERVATION_CATEGORY = "http://terminology.hl7.org/CodeSystem/observation-category"
CONDITION_CATEGORY = "http://terminology.hl7.org/CodeSystem/condition-category"
CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"
ORDER_CATEGORY = "http://terminology.hl7.org/CodeSystem/medicationrequest-category"


def concept(
    *codings: tuple[str | None, str], text: str | None = None, display: str | None = None
) -> Resource:
    made: Resource = {}
    if codings:
        made["coding"] = [
            {
                **({"system": system} if system else {}),
                "code": code,
                **({"display": display} if display else {}),
            }
            for system, code in codings
        ]
    if text:
        made["text"] = text
    return made


def ref(target: str) -> Resource:
    return {"reference": target}


def made(resource_type: str, short_id: str, /, **elements: Any) -> Resource:
    return {"resourceType": resource_type, "id": PREFIX + short_id, **elements}


PATIENTS = [
    made(
        "Patient",
        "p1",
        meta={
            "lastUpdated": "2023-11-01T08:00:00.000+00:00",
            "tag": [{"system": "https://cx.example/tag", "code": "ward-a"}],
            "profile": ["https://cx.example/profile/inpatient"],
        },
        identifier=[
            {"system": MRN, "value": "CX1001"},
            {"system": "https://cx.example/card", "value": "A|1,2"},
        ],
        active=True,
        name=[
            {"use": "official", "family": "Müller-Ashby", "given": ["Anna", "Maria"], "prefix": ["Dr"]},
            {"use": "maiden", "family": "Ashby", "given": ["Anna"]},
        ],
        telecom=[
            {"system": "phone", "value": "+1-555-0101", "use": "home"},
            {"system": "email", "value": "anna@cx.example"},
        ],
        gender="female",
        birthDate="1950-03-15",
        address=[
            {
                "use": "home",
                "line": ["12 Elm Street", "Flat 3"],
                "city": "Springfield",
                "state": "MA",
                "postalCode": "01101",
                "country": "US",
            }
        ],
        communication=[{"language": concept(("urn:ietf:bcp:47", "de"))}],
        generalPractitioner=[ref("Practitioner/cx-doc")],
        managingOrganization=ref("Organization/cx-org"),
    ),
    made(
        "Patient",
        "p2",
        meta={"lastUpdated": "2023-11-02T08:00:00.000+00:00"},
        identifier=[{"system": MRN, "value": "CX1002"}],
        active=False,
        name=[{"family": "Ash", "given": ["Peter"]}],
        gender="male",
        birthDate="1950-03",
        deceasedDateTime="2020-05-01T06:00:00Z",
        address=[
            {"use": "work", "line": ["1 Ash Lane"], "city": "Boston", "state": "MA", "postalCode": "02108"},
            {"use": "home", "city": "Springdale", "state": "AR", "postalCode": "72762"},
        ],
        telecom=[{"system": "phone", "value": "555-0102"}],
    ),
    made(
        "Patient",
        "p3",
        meta={"lastUpdated": "2023-11-03T08:00:00.000+00:00"},
        identifier=[{"system": MRN, "value": "CX1003"}],
        name=[{"family": "O'Brien", "given": ["Siobhán"], "suffix": ["Jr"]}],
        gender="other",
        birthDate="1950",
        deceasedBoolean=False,
    ),
    made(
        "Patient",
        "p4",
        identifier=[{"value": "CX1004"}, {"system": "https://cx.example/other", "value": "CX1001"}],
        gender="unknown",
        birthDate="1951-12-31",
        deceasedBoolean=True,
        link=[{"other": ref("Patient/cx-p1"), "type": "seealso"}],
    ),
    made("Patient", "p5", name=[{"text": "Ashley Stone"}], birthDate="1949-12-31"),
]

OTHERS = [
    made("Practitioner", "doc", name=[{"family": "Gray"}]),
    made("Organization", "org", name="Ward House"),
    made("Encounter", "enc", status="finished", **{"class": {"code": "IMP"}}, subject=ref("Patient/cx-p1")),
    made("Medication", "med", code=concept(("http://hl7.org/fhir/sid/ndc", "40032-917-01"))),
    made("Group", "g1", type="person", actual=True),
    made("Location", "loc", name="Theatre 2"),
]


def observation(name: str, when: Resource, code: Resource | None = None, **elements: Any) -> Resource:
    base: Resource = {
        "status": "final",
        "category": [concept((OBSERVATION_CATEGORY, "laboratory"))],
        "code": code or concept((LAB, "GLU"), text="Glucose, capillary", display="POC glucose"),
        "subject": ref("Patient/cx-p1"),
    }
    return made("Observation", name, **{**base, **when, **elements})


def at(moment: str) -> Resource:
    return {"effectiveDateTime": moment}


def during(**ends: str) -> Resource:
    return {"effectivePeriod": ends}


VITAL = [concept((OBSERVATION_CATEGORY, "vital-signs"))]

OBSERVATIONS = [
    observation("o1", at("2023-11-12T23:30:00-05:00"), valueQuantity={"value": 98, "unit": "mg/dL"}),
    observation(
        "o2",
        at("2023-11-12T10:15:00+00:00"),
        valueQuantity={
            "value": 5.4,
            "unit": "mmol/L",
            "system": "http://unitsofmeasure.org",
            "code": "mmol/L",
        },
    ),
    observation("o3", at("2023-11-13T10:15:00.500Z"), valueQuantity={"value": 101.5, "unit": "mg/dL"}),
    observation("o4", at("2023-11-13")),
    observation("o5", at("2023-11")),
    observation("o6", at("2023")),
    observation("o7", during(start="2023-11-10T00:00:00Z", end="2023-11-14T00:00:00Z")),
    observation("o8", during(start="2023-11-12T00:00:00Z")),
    observation("o9", during(end="2023-11-01T12:00:00Z")),
    observation("o10", {}),
    observation(
        "o11",
        at("2023-11-11T08:00:00Z"),
        concept((LAB, "K"), (LOINC, "2823-3"), text="Potassium"),
        status="amended",
        identifier=[{"system": "https://cx.example/lis", "value": "L-77"}],
    ),
    observation(
        "o12",
        at("2023-11-11T09:00:00Z"),
        concept((None, "MG"), text="Magnesium"),
        status="preliminary",
        performer=[ref("Practitioner/cx-doc"), ref("Organization/cx-org")],
        encounter=ref("Encounter/cx-enc"),
    ),
    observation("o13", at("2023-11-13T10:15:00+00:00"), {"text": "BP"}, category=VITAL, valueString="120/80"),
    observation(
        "o14",
        at("2023-11-13T09:00:00Z"),
        concept((LOINC, "85354-9")),
        category=VITAL,
        component=[
            {"code": concept((LOINC, "8480-6")), "valueQuantity": {"value": 120, "unit": "mm[Hg]"}},
            {"code": concept((LOINC, "8462-4")), "valueQuantity": {"value": 80, "unit": "mm[Hg]"}},
        ],
    ),
    observation("o15", at("2023-11-12T10:15:00Z"), subject=ref("Patient/cx-p2")),
    observation("o16", at("2023-11-12T11:00:00Z"), concept((LAB, "glu")), subject=ref("Patient/cx-p2")),
    observation("o17", at("2023-11-12T12:00:00Z"), subject=ref("Group/cx-g1")),
    observation("o18", at("2023-11-12T13:00:00Z"), subject=ref("https://other.example/fhir/Patient/cx-p1")),
    observation(
        "o19",
        {"effectiveTiming": {"event": ["2023-09-01T08:00:00Z", "2023-09-03T08:00:00Z"]}},
        concept((LAB, "NA")),
        subject=ref("Patient/cx-p3"),
    ),
    observation(
        "o20",
        at("2023-09-10T08:00:00Z"),
        concept((LAB, "A,B|C")),
        subject=ref("Patient/cx-p3"),
        category=[
            concept((OBSERVATION_CATEGORY, "laboratory"), (LAB, "chemistry")),
            concept((LAB, "stat")),
        ],
    ),
    observation(
        "o21",
        at("2023-09-11T08:00:00Z"),
        concept((LAB, "BG")),
        subject=ref("Patient/cx-p3"),
        category=None,
        status="final",
        valueCodeableConcept=concept((SNOMED, "112144000"), text="Blood group A"),
        dataAbsentReason=concept(("http://terminology.hl7.org/CodeSystem/data-absent-reason", "unknown")),
        method=concept((SNOMED, "702873001")),
        derivedFrom=[ref("Observation/cx-o2")],
    ),
]
for _one in OBSERVATIONS:
    if _one.get("category", 0) is None:
        del _one["category"]

CONDITIONS = [
    made(
        "Condition",
        "c1",
        clinicalStatus=concept((CLINICAL, "active")),
        category=[concept((CONDITION_CATEGORY, "problem-list-item"))],
        code=concept((SNOMED, "44054006"), text="Type 2 diabetes", display="Diabetes mellitus type 2"),
        subject=ref("Patient/cx-p1"),
        onsetDateTime="2015-06-01",
        recordedDate="2015-06-02",
        severity=concept((SNOMED, "6736007")),
    ),
    made(
        "Condition",
        "c2",
        clinicalStatus=concept((CLINICAL, "resolved")),
        category=[concept((CONDITION_CATEGORY, "encounter-diagnosis"))],
        code=concept((SNOMED, "233604007")),
        subject=ref("Patient/cx-p1"),
        encounter=ref("Encounter/cx-enc"),
        onsetPeriod={"start": "2023-10-01", "end": "2023-10-03"},
        abatementDateTime="2023-10-20",
        asserter=ref("Practitioner/cx-doc"),
    ),
    made(
        "Condition",
        "c3",
        clinicalStatus=concept((CLINICAL, "active")),
        category=[concept((CONDITION_CATEGORY, "problem-list-item"))],
        code=concept((SNOMED, "44054006")),
        subject=ref("Patient/cx-p2"),
        onsetDateTime="2016",
    ),
    made(
        "Condition",
        "c4",
        code={"text": "Something odd"},
        subject=ref("Patient/cx-p1"),
        onsetString="Early childhood",
        bodySite=[concept((SNOMED, "39607008"))],
    ),
]

MEDICATION_REQUESTS = [
    made(
        "MedicationRequest",
        "m1",
        status="active",
        intent="order",
        category=[concept((ORDER_CATEGORY, "inpatient"))],
        medicationCodeableConcept=concept(("http://hl7.org/fhir/sid/ndc", "0338-1715-40")),
        subject=ref("Patient/cx-p1"),
        authoredOn="2023-11-12T09:00:00Z",
        dosageInstruction=[
            {"timing": {"event": ["2023-11-12T10:00:00Z"]}},
            {"timing": {"event": ["2023-11-20T10:00:00Z"]}},
        ],
        requester=ref("Practitioner/cx-doc"),
    ),
    made(
        "MedicationRequest",
        "m2",
        status="completed",
        intent="plan",
        category=[concept((ORDER_CATEGORY, "outpatient"))],
        medicationCodeableConcept=concept(("http://hl7.org/fhir/sid/ndc", "40032-917-01")),
        subject=ref("Patient/cx-p1"),
        authoredOn="2023-11-13",
        priority="urgent",
    ),
    made(
        "MedicationRequest",
        "m3",
        status="active",
        intent="order",
        category=[concept((ORDER_CATEGORY, "community"))],
        medicationReference=ref("Medication/cx-med"),
        subject=ref("Patient/cx-p2"),
        authoredOn="2022-01-05T09:00:00Z",
    ),
    made(
        "MedicationRequest",
        "m4",
        status="stopped",
        intent="order",
        medicationCodeableConcept={"text": "Old tonic"},
        subject=ref("Patient/cx-p1"),
    ),
]

PROCEDURES = [
    made(
        "Procedure",
        "r1",
        status="completed",
        category=concept((SNOMED, "387713003")),
        code=concept(("http://www.ama-assn.org/go/cpt", "99213")),
        subject=ref("Patient/cx-p1"),
        performedDateTime="2023-10-01T12:00:00Z",
        performer=[{"actor": ref("Practitioner/cx-doc")}],
        location=ref("Location/cx-loc"),
    ),
    made(
        "Procedure",
        "r2",
        status="completed",
        code=concept(("http://www.ama-assn.org/go/cpt", "47562")),
        subject=ref("Patient/cx-p1"),
        performedPeriod={"start": "2023-10-05T08:00:00Z", "end": "2023-10-07T16:00:00Z"},
        partOf=[ref("Procedure/cx-r1")],
        basedOn=[ref("ServiceRequest/cx-s1")],
    ),
    made(
        "Procedure",
        "r3",
        status="in-progress",
        code=concept(("http://www.ama-assn.org/go/cpt", "99213")),
        subject=ref("Patient/cx-p2"),
        performedDateTime="2023-10",
    ),
    made(
        "Procedure",
        "r4",
        status="not-done",
        code={"text": "Refused"},
        subject=ref("Patient/cx-p1"),
        performedString="never",
        reasonCode=[concept((SNOMED, "105480006"))],
    ),
]

SERVICE_REQUESTS = [
    made(
        "ServiceRequest",
        "s1",
        status="active",
        intent="order",
        priority="stat",
        code=concept((SNOMED, "306181000000106"), text="Orthopaedic referral"),
        subject=ref("Patient/cx-p1"),
        authoredOn="2023-11-13T10:15:00+00:00",
        occurrenceDateTime="2023-11-14T08:00:00Z",
        requester=ref("Practitioner/cx-doc"),
    ),
    made(
        "ServiceRequest",
        "s2",
        status="draft",
        intent="plan",
        priority="routine",
        code=concept((LOINC, "2823-3")),
        subject=ref("Patient/cx-p1"),
        authoredOn="2023-11-12",
        occurrencePeriod={"start": "2023-11-15", "end": "2023-11-20"},
        requisition={"system": "https://cx.example/req", "value": "R-9"},
    ),
    made(
        "ServiceRequest",
        "s3",
        status="active",
        intent="order",
        code=concept((LOINC, "4548-4")),
        subject=ref("Patient/cx-p2"),
        authoredOn="2023-11-01T08:00:00Z",
        basedOn=[ref("ServiceRequest/cx-s1")],
        replaces=[ref("ServiceRequest/cx-s2")],
        performer=[ref("Practitioner/cx-doc")],
    ),
]

RESOURCES: list[Resource] = [
    *PATIENTS,
    *OTHERS,
    *OBSERVATIONS,
    *CONDITIONS,
    *MEDICATION_REQUESTS,
    *PROCEDURES,
    *SERVICE_REQUESTS,
]

IN_ORDER: list[list[Resource]] = [
    [one for one in OTHERS if one["resourceType"] != "Encounter"],
    PATIENTS,
    [one for one in OTHERS if one["resourceType"] == "Encounter"],
    SERVICE_REQUESTS,
    RESOURCES,
]
"""The same in an order that has a reference's target there first: HAPI indexes no reference without it."""
