"""The figures that MedAgentBench's paper published, and what they say about difficulty.

Source: Jiang et al., "MedAgentBench: A Virtual EHR Environment to Benchmark Medical LLM Agents", NEJM AI
2025;2(9), https://doi.org/10.1056/AIdbp2500144: success rates in per cent of 300 tasks, one attempt each,
by kind of task and by difficulty.

The paper gives the size of each group and not the difficulty of each category. It is assigned here by the
number of steps, and `derive_counts` shows how far the paper's own figures bear that out: every one must be
a whole number of tasks of its group, and the parts must add up in both ways of dividing the 300.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Final

from .categories import CATEGORIES

TASKS_PER_CATEGORY: Final = 30
CATEGORIES_OF: Final = {"easy": 3, "medium": 4, "hard": 3}
"""Categories by difficulty; in tasks these are the sizes that the paper gives."""
QUERY_CATEGORIES: Final = 5
GROUPS: Final = ("overall", "query", "action", "easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model's published success rates, in per cent."""

    model: str
    size: str
    form: str
    overall: float
    query: float
    action: float
    easy: float
    medium: float
    hard: float


@cache
def load_paper_table() -> tuple[PublishedRow, ...]:
    """The published table, in its order."""
    text = files("wardround_tasks").joinpath("data/paper-table.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedRow(row["model"], row["size"], row["form"], *(float(row[group]) for group in GROUPS))
        for row in csv.DictReader(text.splitlines())
    )


PAPER_TABLE: Final = load_paper_table()


def group_sizes() -> dict[str, int]:
    """Tasks in each group under the assigned difficulties: 150 query and action; 90, 120, 90."""
    sizes = dict.fromkeys(GROUPS, 0)
    for category in CATEGORIES:
        for group in ("overall", category.traits.kind, category.traits.difficulty):
            sizes[group] += TASKS_PER_CATEGORY
    return sizes


def derive_counts(row: PublishedRow) -> dict[str, int]:
    """How many tasks of each group a published row solved.

    Raises ValueError where a rate is no whole number of its group's tasks (to the two decimals
    printed), or where the parts do not add up to the whole.
    """
    counts: dict[str, int] = {}
    for group, size in group_sizes().items():
        rate = float(getattr(row, group))
        counts[group] = round(rate * size / 100)
        if abs(counts[group] / size * 100 - rate) > 0.005 + 1e-9:
            raise ValueError(f"{row.model}: {rate} % is no whole number of {size} tasks ({group})")
    if counts["query"] + counts["action"] != counts["overall"]:
        raise ValueError(f"{row.model}: query and action do not add up")
    if counts["easy"] + counts["medium"] + counts["hard"] != counts["overall"]:
        raise ValueError(f"{row.model}: the difficulties do not add up")
    return counts


def fits(row: PublishedRow, query_categories: Mapping[str, int]) -> bool:
    """Whether a published row allows a division of the five query categories over the difficulties.

    Within a difficulty, the query tasks among those solved lie between what the action tasks can't
    account for and what there is; over all difficulties they must be able to add up to the row's.
    """
    counts, least, most = derive_counts(row), 0, 0
    for difficulty, size in CATEGORIES_OF.items():
        queries = TASKS_PER_CATEGORY * query_categories[difficulty]
        actions = TASKS_PER_CATEGORY * size - queries
        solved = counts[difficulty]
        if solved > queries + actions:
            return False
        least += max(0, solved - actions)
        most += min(solved, queries)
    return least <= counts["query"] <= most


def possible_divisions() -> list[dict[str, int]]:
    """Every division of the five query categories over the difficulties that all rows allow.

    The assigned one, {easy: 1, medium: 4, hard: 0}, is among them; the only other has one hard query
    category and three medium ones.
    """
    divisions = []
    for easy, medium in product(range(CATEGORIES_OF["easy"] + 1), range(CATEGORIES_OF["medium"] + 1)):
        division = {"easy": easy, "medium": medium, "hard": QUERY_CATEGORIES - easy - medium}
        if 0 <= division["hard"] <= CATEGORIES_OF["hard"] and all(fits(row, division) for row in PAPER_TABLE):
            divisions.append(division)
    return divisions
