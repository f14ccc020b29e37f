"""Random charts and searches: the SQL, the matcher and the naive implementation agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fhir.naive import naive_search
from tests.fhir.random_charts import SORTS, Resource, make_chart, searches
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.extract import Values, extract
from wardround_server.chart.match import matches
from wardround_server.chart.order import ordering, sort_keys
from wardround_server.chart.query import Criterion
from wardround_server.chart.request import parse_request
from wardround_server.chart.writer import ChartWriter


class Charts:
    """Some random charts: as lists, as search values, and as files."""

    def __init__(self, folder: Path) -> None:
        self.lists = [make_chart(seed) for seed in range(6)]
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
        for _ in range(1_000):
            found += [one["id"] for one in page.resources()]
            if page.next is None:
                return found
            page = backend.follow(page.next)
        raise AssertionError("pages without end")


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Charts]:
    made = Charts(tmp_path_factory.mktemp("random"))
    yield made
    for backend in made.backends:
        backend.chart.close()


bounded = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@bounded
@given(number=st.integers(0, 5), search=searches)
def test_three_implementations_find_the_same(
    charts: Charts, number: int, search: tuple[str, list[tuple[str, str]]]
) -> None:
    expected = naive_search(charts.lists[number], *search)
    assert charts.matched(number, *search) == expected
    assert charts.paged(number, *search, count=100) == expected


@bounded
@given(number=st.integers(0, 5), search=searches, count=st.integers(1, 7), data=st.data())
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
@given(number=st.integers(0, 5), search=searches)
def test_totals_are_the_number_of_matches(
    charts: Charts, number: int, search: tuple[str, list[tuple[str, str]]]
) -> None:
    kind, params = search
    expected = len(naive_search(charts.lists[number], kind, params))
    for extra in ([("_summary", "count")], [("_count", "1")], []):
        page = charts.backends[number].search_now(kind, [*params, *extra])
        assert page.total == expected
        assert orjson.loads(page.body)["total"] == expected


@settings(max_examples=200, deadline=None, derandomize=True)
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
