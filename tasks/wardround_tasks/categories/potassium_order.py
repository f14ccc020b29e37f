"""task9: the newest potassium and, if it is low, oral replacement and a level next morning."""

from __future__ import annotations

from dataclasses import replace

from wardround_schemas.chart import ChartReader

from ..expect import LOINC, NDC, Expected, MedicationWrite, ServiceWrite
from ..instants import next_morning
from ..quantities import POTASSIUM
from ..reference import Reference, newest, read_measurements
from ..task import Task
from ..verdict import RuleSet
from .base import Traits, patient_of, value_answer

GOAL = 3.5
"""mmol/L; a value below this is low."""
TOLERANCE = 0.1


def dose_for(value: float) -> float:
    """Milliequivalents of potassium for a low value: 10 for every 0.1 below the goal."""
    return (GOAL - value) / 0.1 * 10


class PotassiumOrder:
    """A low value needs a MedicationRequest, then a ServiceRequest; any other, or none, no write."""

    traits = Traits(
        "task9",
        "Potassium replacement",
        "action",
        "hard",
        "a search, a decision, a calculated order and a second order",
        ("slightly_low", "low", "very_low", "normal", "never"),
        codes=("lab", "medication", "order"),
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every potassium of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The two orders that the newest value calls for, and the answer."""
        latest = newest(reference.measurements)
        answer = value_answer(latest, POTASSIUM, rules)
        if rules == "medagentbench":
            answer = replace(answer, empty_ok=True)
        elif not task.asks_value:
            answer = replace(answer, kind="unless_wrong")
        if latest is None or latest.value >= GOAL:
            return Expected(answer)
        patient, dose = patient_of(task), dose_for(latest.value)
        medication = MedicationWrite(
            patient,
            task.facts.codes.get("medication_system", NDC),
            task.code("medication"),
            task.now,
            route="oral",
            dose=dose,
            unit="mEq",
            tolerance=TOLERANCE,
        )
        level = ServiceWrite(
            patient,
            task.facts.codes.get("order_system", LOINC),
            task.code("order"),
            task.now,
            at=next_morning(task.now_instant).isoformat(),
        )
        return Expected(replace(answer, also=(dose, round(dose, 6))), (medication, level))
