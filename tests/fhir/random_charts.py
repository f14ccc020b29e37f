"""Random charts and random searches of them, for the property tests."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from tests.fhir.naive import span_of

Resource = dict[str, Any]

NAMES = [
    "Ash",
    "ash",
    "Ashby",
    "Müller",
    "MULLER",
    "O'Brien",
    "Ángel",
    "Straße",
    "de la Cruz",
    "A,B",
    "X|Y",
    "%_",
]
CODES = [
    ("", "GLU"),
    ("urn:lab", "GLU"),
    ("urn:lab", "glu"),
    ("urn:loinc", "2345-7"),
    ("urn:lab", "A,B|C\\D"),
    ("urn:lab", "Z\\"),
    ("", "K"),
]
MOMENTS = [
    "2023",
    "2023-10",
    "2023-11",
    "2023-10-31",
    "2023-11-01",
    "2024-02",
    "2023-11-12",
    "2023-11-13",
    "2023-11-12T23:30:00-05:00",
    "2023-11-13T00:30:00+02:00",
    "2023-11-12T10:15:00Z",
    "2023-11-12T10:15:00.250Z",
    "2023-11-12T10:15:00+00:00",
    "2023-10-31T23:59:59Z",
    "2023-11-01T00:00:00+14:00",
    "2023-11-30T23:59:59.999-12:00",
    "1950-03-15",
    "1951-12",
    "2024-02-29",
]
IDENTIFIERS = [("", "1"), ("urn:mrn", "1"), ("urn:mrn", "2"), ("urn:x", "2"), ("urn:mrn", "a|b,c")]
SYSTEMS = ("phone", "email")


def some(source: random.Random, items: list[Any], most: int) -> list[Any]:
    return source.sample(items, source.randint(0, most))


def concept(source: random.Random) -> Resource:
    made: Resource = {
        "coding": [{"system": s, "code": c} if s else {"code": c} for s, c in some(source, CODES, 2)]
    }
    if not made["coding"]:
        return {"text": "GLU"}
    if source.random() < 0.2:
        made["coding"].append({"system": "urn:lab", "display": "no code"})
    return made


def when(source: random.Random, stem: str) -> Resource:
    kind = source.random()
    dated = [moment for moment in MOMENTS if len(moment) > 7]
    if kind < 0.15:
        return {}
    if kind < 0.7:
        return {f"{stem}DateTime": source.choice(MOMENTS)}
    start, end = sorted(source.sample(dated, 2), key=span_of)
    ends = {"start": start, "end": end}
    if source.random() < 0.4:
        ends.pop(source.choice(["start", "end"]))
    return {f"{stem}Period": ends}


def make_chart(seed: int) -> list[Resource]:
    source = random.Random(seed)
    chart: list[Resource] = []
    for number in range(12):
        patient: Resource = {"resourceType": "Patient", "id": f"p{number}"}
        if source.random() < 0.8:
            patient["identifier"] = [
                {"system": s, "value": v} if s else {"value": v} for s, v in some(source, IDENTIFIERS, 2)
            ]
        patient["name"] = [
            {"family": source.choice(NAMES), "given": some(source, NAMES, 2)}
            for _ in range(source.randint(0, 2))
        ]
        patient["address"] = [{"city": city} for city in some(source, NAMES, 2)]
        patient["telecom"] = [
            {"system": source.choice(SYSTEMS), "value": "5"} for _ in range(source.randint(0, 1))
        ]
        if source.random() < 0.8:
            patient["gender"] = source.choice(["male", "female", "other"])
        if source.random() < 0.8:
            patient["birthDate"] = source.choice([moment for moment in MOMENTS if "T" not in moment])
        chart.append({key: value for key, value in patient.items() if value != []})
    for number in range(60):
        subject = source.choice(
            [f"Patient/p{source.randint(0, 11)}"] * 4 + ["Group/p1", "https://x.example/Patient/p1"]
        )
        common: Resource = {"id": f"r{number}", "subject": {"reference": subject}}
        kind = source.choice(["Observation", "Observation", "Condition", "MedicationRequest"])
        if kind == "Observation":
            common |= {"status": source.choice(["final", "amended"]), "code": concept(source)}
            common |= {
                "category": [concept(source) for _ in range(source.randint(0, 2))],
                **when(source, "effective"),
            }
            if source.random() < 0.3:
                common["encounter"] = {"reference": source.choice(["Encounter/p1", "Encounter/e2"])}
        elif kind == "Condition":
            common |= {"code": concept(source), "clinicalStatus": concept(source), **when(source, "onset")}
        else:
            if source.random() < 0.8:
                common["authoredOn"] = source.choice(MOMENTS)
            doses = [{"timing": {"event": [source.choice(MOMENTS)]}} for _ in range(source.randint(0, 3))]
            common["dosageInstruction"] = doses
        chart.append({"resourceType": kind, **{key: value for key, value in common.items() if value != []}})
    return chart


def escaped(text: str) -> str:
    return "".join("\\" + char if char in "\\,|$" else char for char in text)


def listed(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, min_size=1, max_size=2).map(",".join)


token = st.sampled_from([*CODES, *IDENTIFIERS]).flatmap(
    lambda pair: st.sampled_from(
        [
            escaped(pair[1]),
            f"{pair[0]}|{escaped(pair[1])}",
            f"|{escaped(pair[1])}",
            "urn:lab|",
            "urn:mrn|",
            "none",
        ]
    )
)
code = st.sampled_from(["male", "female", "final", "http://hl7.org/fhir/administrative-gender|male", "|male"])
prefix = st.sampled_from(["", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb"])
dates = st.tuples(prefix, st.sampled_from([*MOMENTS, "2023-11-12T10:15Z", "2023-11-12T10:15:00"])).map(
    "".join
)
words = st.sampled_from(NAMES).flatmap(lambda n: st.integers(1, len(n)).map(lambda end: escaped(n[:end])))
targets = st.sampled_from(
    ["p1", "Patient/p1", "p2", "Group/p1", "https://x.example/Patient/p1", "Encounter/p1", "p99"]
)


def named(names: list[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(names), listed(values))


def missing(*names: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(
        st.sampled_from([f"{name}:missing" for name in names]), st.sampled_from(["true", "false"])
    )


PARAMETERS: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    "Patient": st.one_of(
        named(["identifier", "identifier:not", "telecom"], token),
        named(["gender", "gender:not"], code),
        named(["birthdate"], dates),
        named(
            [
                f"{n}{m}"
                for n in ("name", "family", "given", "address-city")
                for m in ("", ":exact", ":contains")
            ],
            words,
        ),
        missing("identifier", "gender", "birthdate", "family", "address-city"),
        st.tuples(st.just("_id"), st.sampled_from(["p1", "p1,p2", "p99"])),
    ),
    "Observation": st.one_of(
        named(["code", "category", "code:not", "category:not"], token),
        named(["status", "status:not"], code),
        named(["date"], dates),
        named(["patient", "subject", "encounter"], targets),
        named(["patient.identifier"], token),
        named(["patient.name", "patient.family:exact", "patient.given:contains"], words),
        named(["patient.birthdate"], dates),
        missing("code", "category", "date", "patient", "subject", "encounter"),
    ),
    "Condition": st.one_of(
        named(["code", "clinical-status", "clinical-status:not"], token),
        named(["onset-date"], dates),
        named(["patient", "subject"], targets),
        missing("onset-date", "clinical-status", "patient"),
    ),
    "MedicationRequest": st.one_of(
        named(["authoredon", "date"], dates),
        named(["patient"], targets),
        missing("authoredon", "date"),
    ),
}
searches = st.sampled_from(sorted(PARAMETERS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(PARAMETERS[kind], min_size=1, max_size=3))
)
SORTS = {
    "Patient": ["birthdate", "family", "given", "gender", "identifier", "_id", "address-city"],
    "Observation": ["date", "code", "status", "category", "_id", "encounter"],
    "Condition": ["onset-date", "code", "_id"],
    "MedicationRequest": ["authoredon", "date", "_id"],
}
