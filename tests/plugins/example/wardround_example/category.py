"""A task category: the newest heart rate of a patient, -1 where none was ever taken."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader
from wardround_tasks.categories.base import Traits, patient_of
from wardround_tasks.expect import AnswerRule, Expected
from wardround_tasks.reference import Reference, newest, read_measurements
from wardround_tasks.task import Task
from wardround_tasks.verdict import RuleSet


class NewestHeartRate:
    """No writes; the answer is the value in beats a minute."""

    traits = Traits("heart-rate", "Newest heart rate", "query", "easy", "one search", codes=("vital",))

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every heart rate of the patient; ChartError passes through."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("vital")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The newest, under both rule sets. Writes are not named, so any write fails."""
        latest = newest(reference.measurements)
        return Expected(AnswerRule("exact", (-1 if latest is None else latest.value,)))
