"""The conformance suite asked through the remote backend: of our own server, and of HAPI."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from tests.fhir.serving import served
from tests.fhir.suite.case import HAPI_VALUE, Case, full_ids
from tests.fhir.suite.cases import CASES
from tests.fhir.suite.chart import IN_ORDER, PREFIX, RESOURCES
from tests.fhir.targets import Found
from wardround_schemas.errors import ChartError
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.backends.remote import RemoteBackend
from wardround_server.chart.writer import ChartWriter

pytestmark = pytest.mark.anyio

# The remote backend always asks for strictness, and chooses the format itself.
OURS = [case for case in CASES if not case.lenient and "_format=" not in case.query]
HAPI_OVERLOOKS = {case.query for case in OURS if case.hapi is not None and case.hapi.why == HAPI_VALUE} - {
    "gender:missing=maybe"
}
"""Values of `_summary` and the like that HAPI takes for absent: they choose no rows, so they are sent."""
every_case = pytest.mark.parametrize("case", OURS, ids=str)


@pytest.fixture(scope="module")
def own_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path: Path = tmp_path_factory.mktemp("suite") / "suite.db"
    with ChartWriter(path, name="conformance suite") as writer:
        writer.put_all(RESOURCES)
    embedded = EmbeddedBackend.open(path)
    with served(embedded) as url:
        yield url
    embedded.chart.close()


async def ask(chart: RemoteBackend, case: Case) -> Found:
    found = Found(200)
    query = case.query.replace("{base}", chart.base_url)
    params = Case(case.resource_type, query, "", "").params
    try:
        page = await chart.search(case.resource_type, params)
        link = found.take(orjson.loads(page.body))
        for _ in range(100):
            if link is None:
                break
            link = found.take(orjson.loads((await chart.next_page(link)).body))
        assert link is None
    except ChartError as error:
        return Found(error.status or 0)
    return found


def check(case: Case, found: Found, expect: str | int) -> None:
    if isinstance(expect, int):
        assert found.status == expect, case.rule
        return
    assert found.status == 200, case.rule
    wanted = full_ids(expect)
    assert found.ids == wanted if case.ordered else sorted(found.ids) == sorted(wanted), case.rule
    assert sorted(set(found.included)) == sorted(full_ids(case.included)), case.rule


@every_case
async def test_our_own_server_through_the_remote_backend(case: Case, own_url: str) -> None:
    chart = RemoteBackend(own_url)
    try:
        check(case, await ask(chart, case), case.expect)
    finally:
        await chart.aclose()


@pytest.fixture
async def hapi() -> AsyncIterator[RemoteBackend]:
    url = os.environ.get("WARDROUND_HAPI_URL", "").rstrip("/")
    if not url:
        pytest.skip("no HAPI server: run `make test-hapi`, or set WARDROUND_HAPI_URL")
    from tests.hapi.load import load_resources

    async with httpx.AsyncClient(timeout=60) as client:
        if (await client.get(f"{url}/ServiceRequest/{PREFIX}s3")).status_code != 200:
            for resources in IN_ORDER:
                await load_resources(url, resources)
    chart = RemoteBackend(url)
    yield chart
    await chart.aclose()


@pytest.mark.hapi
@every_case
async def test_hapi_through_the_remote_backend(case: Case, hapi: RemoteBackend) -> None:
    if case.expect == 400 and case.query not in HAPI_OVERLOOKS:
        expect: str | int = 400  # HAPI's own refusal, or the remote backend's where HAPI would guess
    elif case.hapi is None:
        expect = case.expect
    elif case.hapi.expect is None:
        pytest.skip(case.hapi.why)
    else:
        expect = case.hapi.expect
    check(case, await ask(hapi, case), expect)
