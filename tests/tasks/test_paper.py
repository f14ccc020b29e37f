"""The paper's published figures, and that they bear out the difficulties assigned here."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from wardround_tasks.categories import CATEGORIES
from wardround_tasks.paper import (
    GROUPS,
    PAPER_TABLE,
    PublishedRow,
    derive_counts,
    fits,
    group_sizes,
    possible_divisions,
)

ROOT = Path(__file__).resolve().parents[2]


def test_the_groups_have_the_papers_sizes() -> None:
    assert group_sizes() == {
        "overall": 300,
        "query": 150,
        "action": 150,
        "easy": 90,
        "medium": 120,
        "hard": 90,
    }


@pytest.mark.parametrize("row", PAPER_TABLE, ids=lambda row: row.model)
def test_every_published_rate_is_a_whole_number_of_its_groups_tasks(row: PublishedRow) -> None:
    counts = derive_counts(row)
    assert counts["query"] + counts["action"] == counts["overall"]


ASSIGNED = {"easy": 1, "medium": 4, "hard": 0}


def test_the_best_models_counts_come_out_to_the_task() -> None:
    assert len(PAPER_TABLE) == 12
    best = derive_counts(PAPER_TABLE[0])
    assert PAPER_TABLE[0].model == "Claude 3.5 Sonnet v2"
    assert best == {"overall": 209, "query": 128, "action": 81, "easy": 90, "medium": 98, "hard": 21}
    assert best["query"] == 30 + best["medium"]
    assert best["action"] == 60 + best["hard"]


def test_the_assigned_difficulties_fit_every_row_to_the_task() -> None:
    for row in PAPER_TABLE:
        counts = derive_counts(row)
        easy_queries = counts["query"] - counts["medium"]
        assert 0 <= easy_queries <= 30
        assert counts["easy"] - easy_queries == counts["action"] - counts["hard"] <= 60
        assert fits(row, ASSIGNED)


def test_only_one_other_division_would_fit_the_paper() -> None:
    assert possible_divisions() == [{"easy": 1, "medium": 3, "hard": 1}, ASSIGNED]


def test_other_group_sizes_would_contradict_the_paper() -> None:
    """The derivation is worth something only if another assignment fails it."""
    fitting = []
    for easy, medium in itertools.product(range(30, 271, 30), repeat=2):
        hard = 300 - easy - medium
        if hard <= 0:
            continue
        sizes = {"easy": easy, "medium": medium, "hard": hard}
        if all(
            abs(round(getattr(row, g) * n / 100) / n * 100 - getattr(row, g)) <= 0.0051
            for row in PAPER_TABLE
            for g, n in sizes.items()
        ):
            fitting.append(sizes)
    assert {"easy": 90, "medium": 120, "hard": 90} in fitting
    assert len(fitting) == 1


def test_a_figure_that_does_not_fit_is_refused() -> None:
    row = PAPER_TABLE[0]
    with pytest.raises(ValueError, match="no whole number"):
        derive_counts(replace(row, easy=99.5))
    with pytest.raises(ValueError, match="do not add up"):
        derive_counts(replace(row, query=86.0))
    assert not fits(row, {"easy": 0, "medium": 2, "hard": 3})


def test_the_data_are_the_published_table() -> None:
    given = ROOT.parent / "shared" / "paper-table.csv"
    if not given.is_file():
        pytest.skip("the published table is not beside the repository")
    rows = list(csv.DictReader(given.read_text(encoding="utf-8").splitlines()))
    assert [row["model"] for row in rows] == [row.model for row in PAPER_TABLE]
    for given_row, row in zip(rows, PAPER_TABLE, strict=True):
        assert [float(given_row[group]) for group in GROUPS] == [getattr(row, group) for group in GROUPS]


def test_each_category_states_the_steps_that_its_difficulty_rests_on() -> None:
    for category in CATEGORIES:
        assert category.traits.steps
    assert {c.traits.id: c.traits.difficulty for c in CATEGORIES} == {
        **dict.fromkeys(("task1", "task3", "task8"), "easy"),
        **dict.fromkeys(("task2", "task4", "task6", "task7"), "medium"),
        **dict.fromkeys(("task5", "task9", "task10"), "hard"),
    }
