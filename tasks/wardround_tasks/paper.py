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
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from .categories import CATEGORIES

TASKS_PER_CATEGORY: Final = 30
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


def shared_tasks(row: PublishedRow) -> dict[str, tuple[int, int]]:
    """For each difficulty, the least and the most query tasks among those solved.

    Follows from the sizes of the assigned groups alone: easy has 30 query and 60 action tasks, medium
    120 query, hard 90 action. Raises ValueError where no division fits both tables: the assigned
    difficulties would then contradict the paper.
    """
    counts = derive_counts(row)
    sizes = {
        (difficulty, kind): TASKS_PER_CATEGORY
        * sum(c.traits.difficulty == difficulty and c.traits.kind == kind for c in CATEGORIES)
        for difficulty in ("easy", "medium", "hard")
        for kind in ("query", "action")
    }
    bounds = {}
    for difficulty in ("easy", "medium", "hard"):
        solved = counts[difficulty]
        least = max(0, solved - sizes[difficulty, "action"])
        most = min(solved, sizes[difficulty, "query"])
        if least > most:
            raise ValueError(f"{row.model}: {solved} {difficulty} tasks do not fit")
        bounds[difficulty] = (least, most)
    if (
        not sum(low for low, _ in bounds.values())
        <= counts["query"]
        <= sum(high for _, high in bounds.values())
    ):
        raise ValueError(f"{row.model}: {counts['query']} query tasks fit no division by difficulty")
    easy = counts["query"] - counts["medium"]
    if not bounds["easy"][0] <= easy <= bounds["easy"][1]:
        raise ValueError(
            f"{row.model}: medium is all query, so {easy} easy queries are left, which do not fit"
        )
    return {**bounds, "easy": (easy, easy)}
