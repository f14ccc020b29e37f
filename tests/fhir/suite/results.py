"""Searches whose result is shaped: order, pages, counts, inclusion; and requests that are refused."""

from __future__ import annotations

from .case import HAPI_EMPTY, HAPI_LENIENT, HAPI_MODIFIER, HAPI_VALUE, Case, Hapi

LAST_UPDATED = Hapi("a HAPI server stamps what it takes in with the time at which it did")
GLUCOSE = "patient=cx-p1&code=GLU"
ALL = "_id=cx-p1,cx-p2,cx-p3,cx-p4,cx-p5"

ORDER = [
    Case("Patient", f"{ALL}&_sort=birthdate", "p5 p3 p2 p1 p4", "_sort by date", ordered=True),
    Case("Patient", f"{ALL}&_sort=-birthdate", "p4 p1 p2 p3 p5", "_sort descending", ordered=True),
    Case("Patient", f"{ALL}&_sort=family&family:missing=false", "p2 p1 p3", "_sort by string", ordered=True),
    Case(
        "Patient",
        f"{ALL}&_sort=-family&family:missing=false",
        "p3 p1 p2",
        "of several values the first in order",
        ordered=True,
    ),
    Case(
        "Patient", f"{ALL}&_sort=gender&gender:missing=false", "p1 p2 p3 p4", "_sort by token", ordered=True
    ),
    Case("Patient", f"{ALL}&_sort=_id", "p1 p2 p3 p4 p5", "_sort by id", ordered=True),
    Case("Patient", f"{ALL}&_sort=-_id", "p5 p4 p3 p2 p1", "_sort by id", ordered=True),
    Case(
        "Patient",
        f"{ALL}&_sort=_lastUpdated&_lastUpdated=lt2023-12-01",
        "p1 p2 p3",
        "_sort by update",
        ordered=True,
        hapi=LAST_UPDATED,
    ),
    Case(
        "Observation",
        f"{GLUCOSE}&date:missing=false&_sort=-date",
        "o3 o1 o4 o2 o8 o7 o5 o6 o9",
        "_sort by the start of the range",
        ordered=True,
    ),
    Case(
        "Observation",
        f"{GLUCOSE}&date:missing=false&_sort=date",
        "o9 o6 o5 o7 o8 o2 o4 o1 o3",
        "_sort by the start of the range",
        ordered=True,
    ),
    Case(
        "Observation",
        f"{GLUCOSE}&_sort=-date&_count=2",
        "o3 o1 o4 o2 o8 o7 o5 o6 o9 o10",
        "pages follow the order; no value comes last",
        ordered=True,
    ),
    Case(
        "Observation",
        f"{GLUCOSE}&_sort=date&_count=3",
        "o9 o6 o5 o7 o8 o2 o4 o1 o3 o10",
        "pages follow the order; no value comes last",
        ordered=True,
    ),
    Case(
        "Condition",
        "clinical-status:missing=false&_sort=clinical-status,-onset-date",
        "c3 c1 c2",
        "_sort by two",
        ordered=True,
    ),
    Case("Patient", f"{ALL}&_sort=foo", 400, "_sort by what is unknown"),
]

PAGES = [
    Case("Observation", f"{GLUCOSE}&_count=1", "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10", "every page once"),
    Case("Observation", f"{GLUCOSE}&_count=3", "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10", "every page once"),
    Case("Observation", f"{GLUCOSE}&_count=10", "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10", "one full page"),
    Case("Observation", f"{GLUCOSE}&_count=0", "", "_count=0 counts", total=10),
    Case("Observation", f"{GLUCOSE}&_summary=count", "", "_summary=count counts", total=10),
    Case("Observation", f"{GLUCOSE}&_total=accurate&_count=2", "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10", "_total"),
    Case("Observation", "patient=cx-nobody&_summary=count", "", "nothing to count", total=0),
    Case(
        "Observation",
        f"{GLUCOSE}&_count=-1",
        400,
        "_count is not negative",
        hapi=Hapi("HAPI gives pages without end"),
    ),
    Case("Observation", f"{GLUCOSE}&_count=many", 400, "_count is a number"),
    Case(
        "Observation",
        f"{GLUCOSE}&_summary=some",
        400,
        "_summary has five values",
        hapi=Hapi(HAPI_VALUE, "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10"),
    ),
    Case(
        "Observation",
        f"{GLUCOSE}&_total=some",
        400,
        "_total has three values",
        hapi=Hapi(HAPI_VALUE, "o1 o2 o3 o4 o5 o6 o7 o8 o9 o10"),
    ),
    Case("Patient", "_id=cx-p1,cx-p3", "p1 p3", "_id"),
    Case("Patient", "_id=cx-p1&_id=cx-p3", "", "_id: all must hold"),
    Case("Patient", "_id=cx-none", "", "_id"),
    Case("Patient", "_id=cx-p1&_elements=name", "p1", "_elements"),
    Case("Patient", "_id=cx-p1&_summary=true", "p1", "_summary"),
    Case("Patient", "_id=cx-p1&_summary=data", "p1", "_summary"),
    Case("Patient", "_id=cx-p1&_summary=text", "p1", "_summary"),
    Case("Patient", "_id=cx-p1&_format=json", "p1", "_format"),
    Case("Patient", "_id=cx-p1&_format=application/fhir%2Bjson", "p1", "_format"),
    Case("Patient", "_id=cx-p1&_pretty=true", "p1", "_pretty"),
    Case("Patient", "_lastUpdated=2023-11-02", "p2", "_lastUpdated", hapi=LAST_UPDATED),
    Case("Patient", "_lastUpdated=ge2023-11-02", "p2 p3", "_lastUpdated", hapi=LAST_UPDATED),
    Case("Patient", "_lastUpdated=lt2023-11-02T08:00:00Z", "p1", "_lastUpdated", hapi=LAST_UPDATED),
]

INCLUSION = [
    Case("Observation", "_id=cx-o12&_include=Observation:patient", "o12", "_include", included="p1"),
    Case("Observation", "_id=cx-o12&_include=Observation:subject", "o12", "_include", included="p1"),
    Case(
        "Observation",
        "_id=cx-o12&_include=Observation:subject:Patient",
        "o12",
        "_include: type",
        included="p1",
    ),
    Case(
        "Observation", "_id=cx-o12&_include=Observation:subject:Group", "o12", "_include: type", included=""
    ),
    Case(
        "Observation",
        "_id=cx-o12&_include=Observation:performer",
        "o12",
        "_include: several",
        included="doc org",
    ),
    Case(
        "Observation",
        "_id=cx-o12&_include=Observation:performer:Practitioner",
        "o12",
        "_include: type",
        included="doc",
    ),
    Case(
        "Observation",
        "_id=cx-o12&_include=Observation:encounter&_include=Observation:patient",
        "o12",
        "_include twice",
        included="enc p1",
    ),
    Case(
        "Observation",
        "_id=cx-o15,cx-o16&_include=Observation:patient",
        "o15 o16",
        "included once",
        included="p2",
    ),
    Case(
        "Observation", "_id=cx-o17&_include=Observation:patient", "o17", "patient is a Patient", included=""
    ),
    Case(
        "Observation",
        "_id=cx-o21&_include=Observation:derived-from&_include=Observation:patient",
        "o21",
        "_include of the same type",
        included="o2 p3",
    ),
    Case(
        "MedicationRequest",
        "_id=cx-m3&_include=MedicationRequest:medication",
        "m3",
        "_include",
        included="med",
    ),
    Case(
        "Observation", "patient=cx-nobody&_include=Observation:patient", "", "nothing found, nothing included"
    ),
    Case("Observation", "_id=cx-o12&_include=Observation:foo", 400, "_include of what is unknown"),
]

REFUSED = [
    Case("Patient", "foo=1", 400, "unknown parameters are refused"),
    Case("Patient", "legal-sex=male", 400, "legal-sex is not R4's"),
    Case(
        "Patient",
        "foo=1&gender=female",
        "p1",
        "lenient: unknown parameters are left out",
        lenient=True,
        hapi=Hapi(HAPI_LENIENT, 400),
    ),
    Case("Patient", "name:foo=ash", 400, "unsupported modifier", hapi=Hapi(HAPI_MODIFIER, "p1 p2 p5")),
    Case(
        "Patient",
        "birthdate:exact=1950",
        400,
        "a modifier of another kind",
        hapi=Hapi(HAPI_MODIFIER, "p1 p2 p3"),
    ),
    Case(
        "Patient", "gender:contains=male", 400, "a modifier of another kind", hapi=Hapi(HAPI_MODIFIER, "p2")
    ),
    Case("Patient", "family:not=ash", 400, "a modifier of another kind", hapi=Hapi(HAPI_MODIFIER, "p1 p2")),
    Case(
        "Patient",
        "gender:missing=maybe",
        400,
        ":missing is true or false",
        hapi=Hapi(HAPI_VALUE, "p1 p2 p3 p4"),
    ),
    Case(
        "Patient",
        "name=",
        400,
        "an empty value would answer with everybody",
        hapi=Hapi(HAPI_EMPTY),
    ),
    Case(
        "Observation",
        "patient=",
        400,
        "an empty value would answer with everybody",
        hapi=Hapi(HAPI_EMPTY),
    ),
    Case("Observation", "code=,", 400, "no value at all", hapi=Hapi(HAPI_EMPTY)),
    Case("Observation", "code=|", 400, "neither system nor code", hapi=Hapi(HAPI_EMPTY)),
    Case("Nonsense", "name=a", 404, "unknown type"),
    Case("Patient", "_id=cx-p1&_format=xml", 406, "JSON alone is spoken", hapi=Hapi("HAPI speaks XML")),
]

RESULT_CASES = [*ORDER, *PAGES, *INCLUSION, *REFUSED]
