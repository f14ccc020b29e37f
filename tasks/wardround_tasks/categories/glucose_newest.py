"""task7: the newest capillary glucose, however old."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import Expected
from ..quantities import GLUCOSE
from ..reference import Reference, newest, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of, value_answer


class NewestGlucose:
    """No writes; the answer is the value, -1 if none."""

    traits = Traits(
        "task7",
        "Newest glucose",
        "query",
        "medium",
        "a search and the newest of many",
        ("today", "older", "never"),
        codes=("lab",),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every capillary glucose of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The newest value."""
        return Expected(value_answer(newest(reference.measurements), GLUCOSE, rules))
