"""task2: a patient's age in whole years on the day of the task."""

from __future__ import annotations

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected
from ..instants import age_in_years
from ..reference import Reference, read_birth_date
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of

YEARS = frozenset({"years", "year", "yrs", "yr", "y", "a", "yearsold", "yo"})


class Age:
    """No writes; the answer is the age."""

    traits = Traits(
        "task2", "Age", "query", "medium", "a search and a calculation", ("birthday_passed", "birthday_ahead")
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """The birth date, by the MRN."""
        return Reference(task.id, birth_date=await read_birth_date(chart, patient_of(task)))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """`[age]`; where the chart has no birth date no answer is right."""
        if reference.birth_date is None:
            return Expected(AnswerRule("impossible"))
        age = age_in_years(reference.birth_date, task.now_instant.date())
        return Expected(AnswerRule("exact", (age,), units=YEARS))
