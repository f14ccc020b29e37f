"""task5: the newest magnesium of the last 24 hours and, if it is low, an infusion by tier."""

from __future__ import annotations

from dataclasses import replace

from wardround_schemas.chart import ChartReader

from ..expect import NDC, AnswerRule, Expected, MedicationWrite
from ..quantities import MAGNESIUM
from ..reference import Reference, last_day, newest, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of, value_answer

LOW = 1.9
"""mg/dL; a value up to and including this is low."""
DOSES = (1, 2, 4)
"""Grams, each over as many hours: mild, moderate, severe."""


def dose_for(value: float) -> int:
    """Grams of magnesium for a low value in mg/dL: 4 below 1, 2 below 1.5, else 1."""
    if value < 1:
        return 4
    return 2 if value < 1.5 else 1


class MagnesiumOrder:
    """A low value needs one MedicationRequest; any other, or none, needs no write."""

    traits = Traits(
        "task5",
        "Magnesium replacement",
        "action",
        "hard",
        "a search within a time window, a decision, an order by tier",
        ("mild", "moderate", "severe", "normal", "older_only", "never"),
        codes=("lab", "medication"),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every magnesium of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The order that the newest value in the window calls for, and the answer."""
        latest = newest(last_day(task, reference, until_now=rules == "clinical"))
        answer = value_answer(latest, MAGNESIUM, rules)
        if rules == "medagentbench":
            # With no value the original looks at no answer; else it takes the value or nothing.
            answer = AnswerRule("any") if latest is None else replace(answer, empty_ok=True)
        elif not task.asks_value:
            answer = replace(answer, kind="unless_wrong")
        value = None if latest is None else float(latest.value)
        if latest is not None and rules == "clinical":
            value = float(MAGNESIUM.convert(latest.value, latest.unit))
        if value is None or value > LOW:
            return Expected(answer)
        dose = dose_for(value)
        write = MedicationWrite(
            patient_of(task),
            task.facts.codes.get("medication_system", NDC),
            task.code("medication"),
            task.now,
            route="IV",
            dose=dose,
            unit="g",
            hours=dose,
            doses_by_tier=DOSES,
        )
        return Expected(replace(answer, also=(float(dose),)), (write,))
