"""A chart with captured resources over it answers like a chart that holds them all, over either backend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fhir.random_charts import SORTS, Resource, make_chart, searches
from tests.fhir.serving import fhir_app
from wardround_schemas.chart import SearchPage
from wardround_server.backends.base import Backend
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.backends.remote import RemoteBackend
from wardround_server.chart.writer import ChartWriter
from wardround_server.overlay import OverlayReader

CAPTURED = 15
"""How many of a random chart's last resources are captured instead of stored."""
bounded = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class Pair:
    """The same random chart twice: whole, and as a part with the rest captured over it."""

    def __init__(self, folder: Path, seed: int) -> None:
        chart = make_chart(seed)
        self.captured: list[Resource] = chart[-CAPTURED:]
        self.whole = self._open(folder / f"{seed}-whole.db", chart)
        self.part = self._open(folder / f"{seed}-part.db", chart[:-CAPTURED])

    def _open(self, path: Path, resources: list[Resource]) -> EmbeddedBackend:
        with ChartWriter(path) as writer:
            writer.put_all(resources)
        return EmbeddedBackend.open(path)

    def over(self, backend: Backend) -> OverlayReader:
        overlay = OverlayReader(backend)
        for resource in self.captured:
            overlay.add({key: value for key, value in resource.items() if key != "id"}, resource["id"])
        return overlay


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Pair]]:
    folder = tmp_path_factory.mktemp("overlaid")
    made = [Pair(folder, seed) for seed in (11, 12)]
    yield made
    for pair in made:
        pair.whole.chart.close()
        pair.part.chart.close()


async def every_page(
    reader: OverlayReader | EmbeddedBackend, kind: str, params: list[tuple[str, str]]
) -> tuple[list[str], list[int], set[int | None]]:
    """Ids in order, the sizes of the pages, and the totals that they gave."""
    page: SearchPage = await reader.search(kind, params)
    ids, sizes, totals = [], [], set()
    for _ in range(1_000):
        found = [one["id"] for one in page.resources()]
        ids += found
        sizes.append(len(found))
        totals.add(page.total)
        if page.next is None:
            return ids, sizes, totals
        page = await reader.next_page(page.next)
    raise AssertionError("pages without end")


def in_order(kind: str, params: list[tuple[str, str]], keys: list[str], count: int) -> list[tuple[str, str]]:
    sort = [("_sort", ",".join(key for key in keys if key.lstrip("-") in SORTS[kind]))]
    return [*params, ("_count", str(count)), *(sort if sort[0][1] else [])]


orders = st.lists(
    st.sampled_from([f"{sign}{key}" for keys in SORTS.values() for key in keys for sign in ("", "-")]),
    max_size=2,
)


@bounded
@given(number=st.integers(0, 1), search=searches, keys=orders, count=st.integers(1, 9))
def test_over_the_embedded_chart(
    pairs: list[Pair], number: int, search: tuple[str, list[tuple[str, str]]], keys: list[str], count: int
) -> None:
    kind, params = search
    pair = pairs[number]
    asked = in_order(kind, params, keys, count)
    expected = asyncio.run(every_page(pair.whole, kind, asked))
    assert asyncio.run(every_page(pair.over(pair.part), kind, asked)) == expected


@settings(bounded, max_examples=60)
@given(number=st.integers(0, 1), search=searches, keys=orders, count=st.integers(1, 9))
def test_over_a_remote_server(
    pairs: list[Pair], number: int, search: tuple[str, list[tuple[str, str]]], keys: list[str], count: int
) -> None:
    kind, params = search
    pair = pairs[number]
    asked = in_order(kind, params, keys, count)

    async def both() -> tuple[object, object]:
        transport = httpx.ASGITransport(app=fhir_app(pair.part))
        remote = RemoteBackend(pair.part.base_url, transport=transport)
        try:
            overlaid = await every_page(pair.over(remote), kind, asked)
        finally:
            await remote.aclose()
        return await every_page(pair.whole, kind, asked), overlaid

    expected, overlaid = asyncio.run(both())
    assert overlaid == expected
