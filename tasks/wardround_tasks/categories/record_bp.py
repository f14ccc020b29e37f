"""task3: record a blood pressure that was just measured."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected, VitalWrite
from ..reference import Reference
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of


class RecordBloodPressure:
    """One Observation; the answer's content is not looked at."""

    traits = Traits(
        "task3",
        "Record a blood pressure",
        "action",
        "easy",
        "one write",
        ("record",),
        ("flowsheet",),
        ("value",),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The quoted value, filed under the flowsheet's code, now."""
        write = VitalWrite(patient_of(task), task.code("flowsheet"), task.now, task.text("value"))
        return Expected(AnswerRule("any"), (write,))
