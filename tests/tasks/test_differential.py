"""The `medagentbench` verdicts against a second implementation, over generated cases."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from wardround_tasks.attempt import Attempt
from wardround_tasks.grading import grade, read_reference
from wardround_tasks.medagentbench import task_from_original
from wardround_tasks.verdict import Verdicts

from .cases import cases
from .charts import FakeChart
from .second_grader import passes

COUNT = 6000


async def first_verdicts(entry: dict[str, Any], attempt: dict[str, Any], chart: FakeChart) -> Verdicts:
    """What the product says."""
    task = task_from_original(entry)
    return grade(task, Attempt.from_json(attempt), await read_reference(task, chart))


@pytest.mark.parametrize("seed", [1, 2])
def test_both_implementations_agree_on_every_case(seed: int) -> None:
    tally: Counter[tuple[str, bool]] = Counter()

    async def run() -> list[str]:
        disagreements = []
        for entry, attempt, resources in cases(COUNT, seed):
            ours = (await first_verdicts(entry, attempt, FakeChart(resources))).medagentbench
            theirs = passes(entry, attempt, resources)
            tally[entry["id"].split("_")[0], theirs] += 1
            if ours.passed != theirs:
                disagreements.append(f"{entry['id']} ours {ours} theirs {theirs}: {str(attempt)[:600]}")
        return disagreements

    assert asyncio.run(run()) == []
    assert sum(tally.values()) == COUNT
    # A test in which nearly everything fails would prove little: both verdicts in every category.
    for category in range(1, 11):
        for verdict in (True, False):
            assert tally[f"task{category}", verdict] >= COUNT // 10 * 0.08, (category, verdict, tally)
