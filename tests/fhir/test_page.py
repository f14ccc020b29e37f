"""What docs/charts.md says of parameters and limits is what the search has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fhir.suite.cases import CASES
from wardround_server.chart.params import SEARCHED_TYPES, search_params
from wardround_server.chart.request import DEFAULT_COUNT, MAX_COUNT

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "charts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("resource_type", SEARCHED_TYPES)
def test_the_page_lists_every_parameter_of_a_type(resource_type: str) -> None:
    row = re.search(rf"^\| {resource_type} \| (.*) \|$", PAGE, re.MULTILINE)
    assert row is not None
    named = set(re.findall(r"`([^`]+)`", row[1]))
    assert named == {name for name in search_params(resource_type) if not name.startswith("_")}


def test_the_page_names_the_common_parameters_and_limits() -> None:
    for name in search_params("Patient"):
        if name.startswith("_"):
            assert f"`{name}`" in PAGE
    assert f"`_count` ({DEFAULT_COUNT} unless given, {MAX_COUNT:,} at most" in PAGE


def test_every_difference_from_hapi_carries_a_reason() -> None:
    differing = [case for case in CASES if case.hapi is not None]
    assert differing
    assert all(case.hapi is not None and len(case.hapi.why) > 10 for case in differing)
