"""Observation searches: codes, times, references, values."""

from __future__ import annotations

from .case import (
    HAPI_COARSE,
    HAPI_DATE_OR,
    HAPI_LOCAL_URL,
    HAPI_OVERLAP,
    HAPI_PRECISION,
    HAPI_UNIT,
    Case,
    Hapi,
)
from .patients import (
    AND_RULE,
    CASE_RULE,
    MISSING_RULE,
    NO_SYSTEM_RULE,
    OR_RULE,
    SPAN_RULE,
    SYSTEM_RULE,
    TOKEN_RULE,
)

GLUCOSE = "patient=cx-p1&code=GLU"
AS_WRITTEN = "date: days are compared as written, without regard to the offset, as in HAPI"
NAMES_TARGET = "reference: every form of the same target"


def observation(query: str, expect: str | int, rule: str, **more: object) -> Case:
    return Case("Observation", query, expect, rule, **more)  # type: ignore[arg-type]


def glucose(date: str, expect: str | int, rule: str, **more: object) -> Case:
    return observation(f"{GLUCOSE}&{date}", expect, rule, **more)


CODES = [
    observation("code=GLU&subject=Patient/cx-p2", "o15", TOKEN_RULE),
    observation("code=GLU", "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10 o15 o17 o18", TOKEN_RULE),
    observation("code=https://cx.example/lab|GLU&patient=cx-p2", "o15", SYSTEM_RULE),
    observation("code=|GLU", "", NO_SYSTEM_RULE),
    observation("code=|MG", "o12", NO_SYSTEM_RULE),
    observation("code=MG", "o12", TOKEN_RULE),
    observation("code=glu", "o16", CASE_RULE),
    observation(
        "code=https://cx.example/lab|&patient=cx-p2", "o15 o16", "token: system| takes any code of it"
    ),
    observation("code=http://loinc.org|2823-3", "o11", "token: each coding counts"),
    observation("code=K", "o11", "token: each coding counts"),
    observation("code=K,MG", "o11 o12", OR_RULE),
    observation("code=K&code=http://loinc.org|2823-3", "o11", AND_RULE),
    observation("code=K&code=MG", "", AND_RULE),
    observation("code=A%5C,B%5C|C", "o20", "escaped bars and commas are part of the value"),
    observation("code=https://cx.example/lab|A%5C,B%5C|C", "o20", "escaped bars and commas"),
    observation("code=A,B|C", "", "a comma that is not escaped parts two values"),
    observation("code=BP", "", "token: a concept's text is not a code"),
    observation("code:text=bp", "o13", "token:text: the concept's text begins with it"),
    observation("code:text=glucose&patient=cx-p2", "o15", "token:text: the concept's text"),
    observation("code:text=poc&patient=cx-p2", "o15", "token:text: a coding's display"),
    observation("code:not=GLU&patient=cx-p1", "o11 o12 o13 o14", ":not"),
    observation("code:not=GLU,K&patient=cx-p1", "o12 o13 o14", ":not of several: none of them"),
    observation("combo-code=http://loinc.org|8480-6", "o14", "combo-code looks at components too"),
    observation("combo-code=K", "o11", "combo-code looks at the code too"),
    observation("component-code=8462-4", "o14", "component-code"),
    observation("code=8480-6", "", "code does not look at components"),
    observation("category=laboratory&patient=cx-p3", "o19 o20", TOKEN_RULE),
    observation("category=vital-signs&patient=cx-p1", "o13 o14", TOKEN_RULE),
    observation(
        "category=http://terminology.hl7.org/CodeSystem/observation-category|vital-signs&patient=cx-p1",
        "o13 o14",
        SYSTEM_RULE,
    ),
    observation("category=chemistry&category=stat", "o20", "AND over several categories"),
    observation("category:missing=true&patient=cx-p3", "o21", MISSING_RULE),
    observation("category:not=laboratory&patient=cx-p3", "o21", ":not: no category may be it"),
    observation("status=amended", "o11", TOKEN_RULE),
    observation("status=http://hl7.org/fhir/observation-status|amended", "o11", "a code's system is implied"),
    observation("status=amended,preliminary", "o11 o12", OR_RULE),
    observation("status:not=final", "o11 o12", ":not"),
    observation("identifier=https://cx.example/lis|L-77", "o11", SYSTEM_RULE),
    observation("identifier=l-77", "", CASE_RULE),
    observation("value-concept=112144000", "o21", TOKEN_RULE),
    observation("data-absent-reason=unknown", "o21", TOKEN_RULE),
    observation("method=http://snomed.info/sct|702873001", "o21", SYSTEM_RULE),
]

TIMES = [
    glucose("date=2023-11-12", "o1 o2", AS_WRITTEN),
    glucose("date=2023-11-13", "o3 o4", AS_WRITTEN),
    glucose("date=2023-11", "o1 o2 o3 o4 o5 o7", SPAN_RULE),
    glucose("date=2023", "o1 o2 o3 o4 o5 o6 o7", SPAN_RULE),
    glucose("date=2023-11-12T10:15:00Z", "o2", SPAN_RULE),
    glucose("date=2023-11-12T10:15Z", "o2", "date: a minute spans its seconds"),
    glucose("date=2023-11-12T10:15:00%2B00:00", "o2", SPAN_RULE),
    glucose("date=2023-11-12T10:15:00+00:00", "o2", "a raw plus sign arrives as a space and is mended"),
    glucose("date=2023-11-12T10:15:00", "o2", "a time without a zone is in UTC"),
    glucose("date=2023-11-12T12:15:00%2B02:00", "o2", "date: the same instant in another zone"),
    glucose("date=2023-11-13T04:30:00Z", "o1", "date: the same instant in another zone"),
    glucose("date=2023-11-12T23:30:00-05:00", "o1", SPAN_RULE),
    glucose("date=2023-11-13T10:15:00Z", "o3", "date: a second spans its fractions"),
    glucose("date=2023-11-13T10:15:00.500Z", "o3", SPAN_RULE),
    glucose("date=2023-11-13T10:15:00.501Z", "", SPAN_RULE),
    glucose("date=gt2023-11-12", "o3 o4 o5 o6 o7 o8", SPAN_RULE),
    glucose("date=ge2023-11-12", "o1 o2 o3 o4 o5 o6 o7 o8", SPAN_RULE),
    glucose("date=lt2023-11-12", "o5 o6 o7 o9", SPAN_RULE),
    glucose(
        "date=le2023-11-12",
        "o1 o2 o5 o6 o7 o9",
        SPAN_RULE,
        hapi=Hapi(HAPI_OVERLAP, "o1 o2 o5 o6 o7 o8 o9"),
    ),
    glucose("date=sa2023-11-12", "o3 o4", SPAN_RULE),
    glucose("date=eb2023-11-12", "o9", SPAN_RULE),
    glucose("date=eb2023-11-01", "", SPAN_RULE),
    glucose("date=ne2023-11-12", "o3 o4 o5 o6 o7 o8 o9", "date: ne"),
    glucose(
        "date=ge2023-11",
        "o1 o2 o3 o4 o5 o6 o7 o8",
        SPAN_RULE,
        hapi=Hapi(HAPI_COARSE, "o5 o6 o8"),
    ),
    glucose("date=gt2023-11", "o6 o8", SPAN_RULE),
    glucose(
        "date=le2023-11",
        "o1 o2 o3 o4 o5 o6 o7 o9",
        SPAN_RULE,
        hapi=Hapi(HAPI_COARSE, "o5 o6 o9"),
    ),
    glucose("date=lt2023-11", "o6 o9", SPAN_RULE),
    glucose("date=sa2023-11", "", SPAN_RULE),
    glucose("date=gt2023-11-12T10:15:00Z", "o1 o3 o4 o5 o6 o7 o8", SPAN_RULE),
    glucose("date=ge2023-11-12T10:15:00%2B00:00", "o1 o2 o3 o4 o5 o6 o7 o8", SPAN_RULE),
    glucose("date=ge2023-11-12T10:15:00+00:00", "o1 o2 o3 o4 o5 o6 o7 o8", "a raw plus sign is mended"),
    glucose("date=lt2023-11-12T10:15:00Z", "o5 o6 o7 o8 o9", SPAN_RULE),
    glucose(
        "date=ge2023-11-12&date=le2023-11-12",
        "o1 o2 o5 o6 o7",
        AND_RULE,
        hapi=Hapi(HAPI_OVERLAP, "o1 o2 o5 o6 o7 o8"),
    ),
    glucose(
        "date=ge2023-11-12T10:15:00%2B00:00&date=le2023-11-13T10:15:00%2B00:00",
        "o1 o2 o3 o4 o5 o6 o7 o8",
        "the last 24 hours",
    ),
    glucose(
        "date=gt2023-11-12T10:15:00%2B00:00&date=lt2023-11-13T10:15:00%2B00:00",
        "o1 o4 o5 o6 o7 o8",
        "the last 24 hours, ends left out",
    ),
    glucose("date=2023-11-12,2023-11-13", "o1 o2 o3 o4", OR_RULE, hapi=Hapi(HAPI_DATE_OR, 400)),
    glucose(
        "date=ap2023-11-12",
        "o1 o2 o3 o4 o5 o6 o7 o8 o9",
        "date: ap overlaps what lies near",
        hapi=Hapi("HAPI does not support ap on dates", 400),
    ),
    glucose("date:missing=true", "o10", MISSING_RULE),
    glucose("date:missing=false", "o1 o2 o3 o4 o5 o6 o7 o8 o9", MISSING_RULE),
    observation("date=2023-09&code=NA", "o19", "date: a timing spans its events"),
    observation("date=2023-09-02&code=NA", "", "date: a timing spans its events"),
    observation("date=ge2023-09-02&date=le2023-09-02&code=NA", "o19", "date: a timing spans its events"),
    glucose("date=2023-13", 400, "a date that does not exist"),
    glucose("date=2023-11-31", 400, "a date that does not exist"),
    glucose("date=yesterday", 400, "not a date"),
    glucose("date=2023-11-12T10", 400, "hours without minutes"),
    glucose("date=GE2023-11-12", 400, "prefixes are lower case"),
    glucose("date=11/12/2023", 400, "not a FHIR date"),
]

TARGETS = [
    observation("patient=cx-p2", "o15 o16", NAMES_TARGET),
    observation("patient=Patient/cx-p2", "o15 o16", NAMES_TARGET),
    observation("patient={base}/Patient/cx-p2", "o15 o16", NAMES_TARGET, hapi=Hapi(HAPI_LOCAL_URL, "")),
    observation("subject=cx-p2", "o15 o16", NAMES_TARGET),
    observation("subject=Patient/cx-p2", "o15 o16", NAMES_TARGET),
    observation("subject={base}/Patient/cx-p2", "o15 o16", NAMES_TARGET, hapi=Hapi(HAPI_LOCAL_URL, "")),
    observation("subject:Patient=cx-p2", "o15 o16", NAMES_TARGET),
    observation("patient:Patient=cx-p2", "o15 o16", NAMES_TARGET),
    observation("patient=https://elsewhere.example/fhir/Patient/cx-p2", "", "another server's patient"),
    observation(
        "subject=https://other.example/fhir/Patient/cx-p1", "o18", "an absolute reference as written"
    ),
    observation(
        "patient=https://other.example/fhir/Patient/cx-p1", "o18", "an absolute reference names its type"
    ),
    observation(
        "patient:missing=true&_id=cx-o17,cx-o18,cx-o1", "o17", "an absolute reference names its type"
    ),
    observation("subject=Group/cx-g1", "o17", "subject may be a group"),
    observation("subject:Group=cx-g1", "o17", "the type as modifier"),
    observation("patient=cx-g1", "", "patient is the subject, where it is a Patient"),
    observation("patient=cx-nobody", "", "an unknown patient is no error"),
    observation("patient=Patient/cx-nobody&code=GLU", "", "an unknown patient is no error"),
    observation("patient=cx-p2,cx-p3", "o15 o16 o19 o20 o21", OR_RULE),
    observation("patient=cx-p2,Patient/cx-p3&code=glu,NA", "o16 o19", OR_RULE),
    observation("patient=cx-p2&patient=cx-p3", "", AND_RULE),
    observation("patient.identifier=CX1002", "o15 o16", "chain: the patient's identifier"),
    observation("patient.identifier=https://cx.example/mrn|CX1002", "o15 o16", "chain: system|value"),
    observation("subject:Patient.identifier=CX1002", "o15 o16", "chain: the type as modifier"),
    observation("patient.identifier=CX1001&code=K", "o11", "chain: any patient that answers"),
    observation("patient.identifier=nobody", "", "chain: no patient that answers"),
    observation("patient.name=ash&code=glu", "o16", "chain: a name"),
    observation("patient.family=O%27Brien", "o19 o20 o21", "chain: a name"),
    observation("patient.family:exact=Ash", "o15 o16", "chain: with a modifier"),
    observation("patient.birthdate=1950-03-15&status=amended", "o11", "chain: a date"),
    observation("patient.gender=other", "o19 o20 o21", "chain: a code"),
    observation("patient.foo=1", 400, "chain: unknown parameter"),
    observation("patient:missing=true&_id=cx-o15,cx-o17", "o17", MISSING_RULE),
    observation("encounter:missing=false", "o12", MISSING_RULE),
    observation("encounter=cx-enc", "o12", NAMES_TARGET),
    observation("encounter=Encounter/cx-enc", "o12", NAMES_TARGET),
    observation("performer=Practitioner/cx-doc", "o12", "one of several references"),
    observation("performer=Organization/cx-org", "o12", "one of several references"),
    observation("performer=Organization/cx-doc", "", "the type counts"),
    observation("performer:Practitioner=cx-doc", "o12", "the type as modifier"),
    observation("derived-from=Observation/cx-o2", "o21", NAMES_TARGET),
]

VALUES = [
    observation("value-string=120", "o13", "string: begins with the value"),
    observation("value-string=blood", "o21", "value-string looks at a concept's text"),
    observation("value-quantity=5.4", "o2", "quantity: any unit"),
    observation("value-quantity=5.4||mmol/L", "o2", "quantity: unit"),
    observation("value-quantity=5.4|http://unitsofmeasure.org|mmol/L", "o2", "quantity: system and unit"),
    observation("value-quantity=98|http://unitsofmeasure.org|mg/dL", "", "quantity: system and unit"),
    observation("value-quantity=98||mg/dL", "o1", "quantity: the unit as printed", hapi=Hapi(HAPI_UNIT, "")),
    observation("value-quantity=lt100&patient=cx-p1", "o1 o2", "quantity: lt"),
    observation("value-quantity=gt100", "o3", "quantity: gt"),
    observation("value-quantity=ge101.5", "o3", "quantity: ge"),
    observation("value-quantity=le98", "o1 o2", "quantity: le"),
    observation("value-quantity=5", "o2", "quantity: 5 spans 4.5 to 5.5", hapi=Hapi(HAPI_PRECISION, "")),
    observation("value-quantity=5.0", "", "quantity: 5.0 spans 4.95 to 5.05"),
    observation("value-quantity=abc", 400, "not a number"),
]

OBSERVATION_CASES = [*CODES, *TIMES, *TARGETS, *VALUES]
