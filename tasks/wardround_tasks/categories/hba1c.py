"""task10: the newest HbA1c and when it was taken; if over a year old or missing, order a new one."""

from __future__ import annotations

from dataclasses import replace

from wardround_schemas.chart import ChartReader

from ..expect import LOINC, Expected, ServiceWrite
from ..instants import year_before
from ..quantities import HBA1C
from ..reference import Reference, newest, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of, value_answer


class HbA1c:
    """None, or one over a year old, needs a ServiceRequest; a newer one no write."""

    traits = Traits(
        "task10",
        "HbA1c and its age",
        "action",
        "hard",
        "a search, a decision by date and an order",
        ("recent", "overdue", "never"),
        codes=("lab", "order"),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every HbA1c of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The order that the newest value's age calls for, and the value with its stored time."""
        latest = newest(reference.measurements)
        answer = value_answer(latest, HBA1C, rules, with_time=True)
        if rules == "medagentbench":
            answer = replace(answer, empty_ok=True)
        if latest is not None and latest.at >= year_before(task.now_instant):
            return Expected(answer)
        write = ServiceWrite(
            patient_of(task), task.facts.codes.get("order_system", LOINC), task.code("order"), task.now
        )
        return Expected(answer, (write,))
