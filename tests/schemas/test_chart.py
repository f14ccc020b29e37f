"""The chart protocol: what a page holds, and following all pages of a search."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from wardround_schemas.chart import ChartReader, Params, Resource, SearchPage, search_all
from wardround_schemas.errors import ChartError

pytestmark = pytest.mark.anyio


def page(*resources: Resource, following: str | None = None, mode: str | None = "match") -> SearchPage:
    search = {} if mode is None else {"search": {"mode": mode}}
    bundle: dict[str, Any] = {"resourceType": "Bundle", "type": "searchset"}
    if resources:
        bundle["entry"] = [{"resource": resource, **search} for resource in resources]
    return SearchPage(orjson.dumps(bundle), next=following)


class Pages:
    """A chart whose pages are given by the url that leads to them; "" is the first."""

    def __init__(self, **pages: SearchPage) -> None:
        self.pages = pages
        self.asked: list[tuple[str, Params]] = []

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        self.asked.append((resource_type, params))
        return self.pages["first"]

    async def next_page(self, url: str) -> SearchPage:
        return self.pages[url]


async def test_every_page_of_a_search_is_followed_in_order() -> None:
    chart: ChartReader = Pages(
        first=page({"id": "1"}, {"id": "2"}, following="second"),
        second=page({"id": "3"}, following="third"),
        third=page(),
    )
    assert await search_all(chart, "Observation", [("code", "MG")]) == [{"id": "1"}, {"id": "2"}, {"id": "3"}]


async def test_next_links_that_go_round_in_a_circle_are_an_error() -> None:
    chart = Pages(first=page({"id": "1"}, following="second"), second=page({"id": "2"}, following="second"))
    with pytest.raises(ChartError, match="circle"):
        await search_all(chart, "Observation", [])


def test_only_matches_are_resources_of_a_page() -> None:
    assert page({"id": "1"}, mode="outcome").resources() == []
    assert page({"id": "1"}, mode="include").resources() == []
    assert page({"id": "1"}, mode=None).resources() == [{"id": "1"}]
    assert SearchPage(b'{"entry": [{"fullUrl": "x"}]}').resources() == []
    assert SearchPage(b'{"resourceType": "Bundle"}').resources() == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'"Bundle"'])
def test_a_body_that_is_no_bundle_is_an_error_never_an_empty_result(body: bytes) -> None:
    with pytest.raises(ChartError):
        SearchPage(body).resources()
