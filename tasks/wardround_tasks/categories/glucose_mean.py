"""task6: the mean capillary glucose of the last 24 hours."""

from __future__ import annotations

from dataclasses import replace

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected
from ..quantities import GLUCOSE
from ..reference import Reference, last_day, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of


class GlucoseMean:
    """No writes; the answer is the mean, -1 if there is no value."""

    traits = Traits(
        "task6",
        "Mean glucose of the last 24 hours",
        "query",
        "medium",
        "a search within a time window and a calculation",
        ("several", "single", "older_only", "never"),
        codes=("lab",),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every capillary glucose of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The mean, summed in the server's order as the original sums."""
        window = last_day(task, reference, until_now=rules == "clinical")
        if not window:
            # The original compares -1 like a mean; to say that there is none takes -1 itself.
            none = AnswerRule("exact", (-1,), units=GLUCOSE.spellings)
            return Expected(replace(none, kind="mean") if rules == "medagentbench" else none)
        total = 0.0
        for measurement in window:
            total += (
                GLUCOSE.convert(measurement.value, measurement.unit)
                if rules == "clinical"
                else measurement.value
            )
        return Expected(AnswerRule("mean", (total / len(window),), units=GLUCOSE.spellings))
