"""task4: the newest magnesium of the last 24 hours."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import Expected
from ..quantities import MAGNESIUM
from ..reference import Reference, last_day, newest, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of, value_answer


class RecentMagnesium:
    """No writes; the answer is the value, -1 if none."""

    traits = Traits(
        "task4",
        "Magnesium of the last 24 hours",
        "query",
        "medium",
        "a search within a time window",
        ("in_window", "older_only", "never"),
        codes=("lab",),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every magnesium of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The newest in the window; `medagentbench` has no upper end to it."""
        latest = newest(last_day(task, reference, until_now=rules == "clinical"))
        return Expected(value_answer(latest, MAGNESIUM, rules))
