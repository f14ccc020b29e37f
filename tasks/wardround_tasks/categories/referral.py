"""task8: refer to orthopaedic surgery with a given SBAR text."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import SNOMED, AnswerRule, Expected, ServiceWrite
from ..reference import Reference
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of


class Referral:
    """One ServiceRequest; the answer's content is not looked at."""

    traits = Traits(
        "task8", "Orthopaedic referral", "action", "easy", "one write", ("refer",), ("order",), ("note",)
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The referral, signed now, with the text in its note."""
        write = ServiceWrite(
            patient_of(task),
            task.facts.codes.get("order_system", SNOMED),
            task.code("order"),
            task.now,
            note=task.text("note"),
        )
        return Expected(AnswerRule("any"), (write,))
