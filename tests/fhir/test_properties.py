"""Random charts and searches: the SQL, the matcher and the naive implementation agree."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fhir.naive import naive_search
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.extract import Values, extract
from wardround_server.chart.match import matches
from wardround_server.chart.order import ordering, sort_keys
from wardround_server.chart.query import Criterion
from wardround_server.chart.request import parse_request
from wardround_server.chart.writer import ChartWriter

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
    ("", "K"),
]
MOMENTS = [
    "2023",
    "2023-11",
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
    return made


def when(source: random.Random, stem: str) -> Resource:
    kind = source.random()
    dated = [moment for moment in MOMENTS if len(moment) > 7]
    if kind < 0.15:
        return {}
    if kind < 0.7:
        return {f"{stem}DateTime": source.choice(MOMENTS)}
    start, end = sorted(source.sample(dated, 2), key=lambda moment: moment[:10])
    ends = {"start": start, "end": end}
    if source.random() < 0.4:
        ends.pop(source.choice(["start", "end"]))
    if "start" in ends and "end" in ends and start[:10] == end[:10]:
        ends.pop("end")
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


class Charts:
    """Some random charts: as lists, as search values, and as files."""

    def __init__(self, folder: Path) -> None:
        self.lists = [make_chart(seed) for seed in range(4)]
        self.backends = []
        for number, chart in enumerate(self.lists):
            with ChartWriter(folder / f"{number}.db") as writer:
                writer.put_all(chart)
            self.backends.append(EmbeddedBackend.open(folder / f"{number}.db"))
        self.values: list[list[tuple[Resource, Values]]] = [
            [(one, extract(one["resourceType"], one)) for one in chart] for chart in self.lists
        ]

    def matched(self, number: int, resource_type: str, params: list[tuple[str, str]]) -> list[str]:
        """What the matcher finds, resource by resource."""
        return [one["id"] for one, _ in self._matching(number, resource_type, params)]

    def in_order(self, number: int, resource_type: str, params: list[tuple[str, str]]) -> list[str]:
        """The same in the order that the search asks for."""
        sort = parse_request(resource_type, params).sort
        by_order = ordering(sort)
        found = self._matching(number, resource_type, params)
        keyed = sorted(found, key=lambda pair: by_order(sort_keys(sort, pair[0]["id"], pair[1])))
        return [one["id"] for one, _ in keyed]

    def _matching(
        self, number: int, resource_type: str, params: list[tuple[str, str]]
    ) -> list[tuple[Resource, Values]]:
        request = parse_request(resource_type, params)

        def resolve(criterion: Criterion) -> frozenset[str]:
            assert criterion.chained is not None
            chained = criterion.chained
            return frozenset(
                one["id"]
                for one, values in self.values[number]
                if one["resourceType"] == criterion.target and matches(chained, one["id"], values, 0)
            )

        return [
            (one, values)
            for one, values in self.values[number]
            if one["resourceType"] == resource_type
            and all(matches(criterion, one["id"], values, 0, resolve) for criterion in request.criteria)
        ]

    def paged(self, number: int, resource_type: str, params: list[tuple[str, str]], count: int) -> list[str]:
        """What the chart file gives, all pages of `count`."""
        backend = self.backends[number]
        page = backend.search_now(resource_type, [*params, ("_count", str(count))])
        found: list[str] = []
        while True:
            found += [one["id"] for one in page.resources()]
            if page.next is None:
                return found
            page = backend.follow(page.next)


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Charts]:
    made = Charts(tmp_path_factory.mktemp("random"))
    yield made
    for backend in made.backends:
        backend.chart.close()


bounded = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@bounded
@given(number=st.integers(0, 3), search=searches)
def test_three_implementations_find_the_same(
    charts: Charts, number: int, search: tuple[str, list[tuple[str, str]]]
) -> None:
    expected = naive_search(charts.lists[number], *search)
    assert charts.matched(number, *search) == expected
    assert charts.paged(number, *search, count=100) == expected


@bounded
@given(number=st.integers(0, 3), search=searches, count=st.integers(1, 7), data=st.data())
def test_pages_of_any_size_give_every_match_once_in_order(
    charts: Charts,
    number: int,
    search: tuple[str, list[tuple[str, str]]],
    count: int,
    data: st.DataObject,
) -> None:
    kind, params = search
    keys = data.draw(st.lists(st.sampled_from(SORTS[kind]), max_size=2, unique=True))
    signs = data.draw(st.lists(st.sampled_from(["", "-"]), min_size=2, max_size=2))
    if keys:
        params = [*params, ("_sort", ",".join(sign + key for sign, key in zip(signs, keys, strict=False)))]
    assert charts.paged(number, kind, params, count) == charts.in_order(number, kind, params)


@bounded
@given(number=st.integers(0, 3), search=searches)
def test_totals_are_the_number_of_matches(
    charts: Charts, number: int, search: tuple[str, list[tuple[str, str]]]
) -> None:
    kind, params = search
    expected = len(naive_search(charts.lists[number], kind, params))
    for extra in ([("_summary", "count")], [("_count", "1")], []):
        page = charts.backends[number].search_now(kind, [*params, *extra])
        assert page.total == expected
        assert orjson.loads(page.body)["total"] == expected


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(SORTS)),
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=20)), max_size=4),
)
def test_any_request_is_answered_or_refused_and_never_an_accident(
    resource_type: str, params: list[tuple[str, str]]
) -> None:
    from wardround_server.chart.outcome import SearchFault

    refusal: SearchFault | None = None
    try:
        parse_request(resource_type, params)
    except SearchFault as fault:
        refusal = fault
    if refusal is not None:
        assert refusal.status in (400, 404, 406)
        assert orjson.loads(refusal.outcome())["resourceType"] == "OperationOutcome"
