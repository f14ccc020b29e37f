"""task1: find a patient's MRN by name and birth date."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected
from ..reference import Reference
from ..task import Task
from ..verdict import RuleSet
from .base import Traits

NOT_FOUND = "Patient not found"


class FindPatient:
    """No writes; the answer is the stored solution."""

    traits = Traits(
        "task1", "Find a patient", "query", "easy", "one search", ("found", "found_namesake", "not_found")
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed: the solution is stored with the task."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The stored solution, under both rule sets."""
        if task.solution is None:
            raise ValueError(f"task {task.id}: task1 needs a stored solution")
        return Expected(AnswerRule("exact", tuple(task.solution)))
