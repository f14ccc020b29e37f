"""The search-conformance suite against the embedded chart, in process and over HTTP, and against HAPI."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.fhir.client import run_client
from tests.fhir.suite.case import Case, full_ids
from tests.fhir.suite.cases import CASES
from tests.fhir.suite.chart import IN_ORDER
from tests.fhir.targets import Found, InProcess, OverHttp, Target
from wardround_server.backends.embedded import EmbeddedBackend

pytestmark = pytest.mark.anyio
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def check(case: Case, found: Found, expect: str | int, *, totals: bool = True) -> None:
    if isinstance(expect, int):
        assert found.status == expect, case.rule
        return
    assert found.status == 200, case.rule
    wanted = full_ids(expect)
    if case.ordered:
        assert found.ids == wanted, case.rule
    else:
        assert sorted(found.ids) == sorted(wanted), case.rule
    assert sorted(set(found.included)) == sorted(full_ids(case.included)), case.rule
    if totals:
        assert found.total == (len(wanted) if case.total is None else case.total), case.rule


async def ask(target: Target, case: Case) -> Found:
    return await target.search(
        case.resource_type, case.query.replace("{base}", target.base), lenient=case.lenient
    )


@every_case
async def test_the_chart_in_process(case: Case, suite_backend: EmbeddedBackend) -> None:
    check(case, await ask(InProcess(suite_backend), case), case.expect)


@every_case
async def test_the_chart_over_http(case: Case, suite_url: str) -> None:
    async with httpx.AsyncClient() as client:
        check(case, await ask(OverHttp(suite_url, client), case), case.expect)


@pytest.mark.clients
def test_the_chart_through_a_fhir_client_that_others_wrote(suite_url: str) -> None:
    for case, found in zip(CASES, run_client(suite_url, CASES), strict=True):
        check(case, found, case.expect)


def test_the_suite_has_no_search_twice_and_covers_every_type() -> None:
    asked = Counter((case.resource_type, case.query, case.lenient) for case in CASES)
    assert [one for one, times in asked.items() if times > 1] == []
    assert len(CASES) >= 200
    types = {case.resource_type for case in CASES}
    assert types >= {
        "Patient",
        "Condition",
        "Observation",
        "MedicationRequest",
        "Procedure",
        "ServiceRequest",
    }


@pytest.fixture
async def hapi() -> AsyncIterator[OverHttp]:
    url = os.environ.get("WARDROUND_HAPI_URL", "").rstrip("/")
    if not url:
        pytest.skip("no HAPI server: run `make test-hapi`, or set WARDROUND_HAPI_URL")
    from tests.hapi.load import load_resources

    async with httpx.AsyncClient(timeout=60) as client:
        there = await client.get(f"{url}/ServiceRequest/cx-s3")
        if there.status_code != 200:
            for resources in IN_ORDER:
                await load_resources(url, resources)
        yield OverHttp(url, client)


@pytest.mark.hapi
@every_case
async def test_a_real_hapi_server(case: Case, hapi: OverHttp) -> None:
    if case.hapi is not None and case.hapi.expect is None:
        pytest.skip(case.hapi.why)
    expect = case.expect if case.hapi is None or case.hapi.expect is None else case.hapi.expect
    check(case, await ask(hapi, case), expect, totals=False)
