"""The page on the synthetic chart says what the cohort is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.server.cohort_data import small_cohort
from wardround_server.chart.cohort import CASES, PAPER_COUNTS
from wardround_server.chart.cohort.plan import parse_case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "synthetic-chart.md"


def test_the_pages_counts_are_the_cohorts() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text(), re.MULTILINE)
    said = {name: (int(small.replace(",", "")), int(paper.replace(",", ""))) for name, small, paper in rows}
    counts = Counter(resource["resourceType"] for resource in small_cohort())
    assert said == {name: (count, PAPER_COUNTS.get(name, 100)) for name, count in counts.items()}


def test_the_pages_examples_are_cases_of_the_plan() -> None:
    examples = re.findall(r'^    "([^"]*)"  ', PAGE.read_text(), re.MULTILINE)
    assert len(examples) == 4
    for example in examples:
        assert parse_case("MG", example) in CASES["MG"]
