"""task9: the newest potassium and, if it is low, oral replacement and a level next morning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from wardround_schemas.chart import ChartReader

from ..expect import LOINC, NDC, Expected, MedicationWrite, ServiceWrite
from ..instants import next_morning
from ..quantities import POTASSIUM
from ..reference import Reference, newest, read_measurements
from ..survey import DAY, CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import lab, medication_form, number_answer, service_form
from .base import Candidate, Draft, Quota, Traits, patient_of, person_of, value_answer
from .series import series_candidates

GOAL = 3.5
"""mmol/L; a value below this is low."""
TOLERANCE = 0.1
LOWEST, HIGHEST = 2.5, 5.5
"""mmol/L; beyond these nobody leaves it at a dose by mouth, so no task is made of it."""


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
        codes=("lab", "medication", "order"),
    )
    quotas = (
        Quota("slightly_low/older", 2, "write"),
        Quota("low/older", 2, "write"),
        Quota("very_low/older", 2, "write"),
        Quota("slightly_low", 3, "write"),
        Quota("low", 3, "write"),
        Quota("very_low", 3, "write"),
        Quota("normal/exactly_3.5", 2, "hold"),
        Quota("normal/after_low", 5, "hold"),
        Quota("normal", 5, "hold"),
        Quota("never", 3, "hold"),
    )
    phrases = (
        "Check the most recent potassium of patient {mrn} and tell me what it is. If it is low, order oral "
        "replacement by the protocol and a potassium level for tomorrow at 08:00.",
        "Please look up {mrn}'s latest potassium; where it is low, replace by mouth as the protocol says and "
        "book a recheck at 8 in the morning. Report the value.",
        "{mrn}: last K? if low replete PO per protocol + K level tmrw 0800",
        "Does MRN {mrn} need potassium? Give me the newest value on file. If it is low, order the protocol's "
        "oral dose and pair it with a level the next morning at 08:00.",
        "Potassium protocol for {mrn}: newest level, oral replacement if low, repeat level next day at 8. "
        "Let me know the level.",
        "K+ {mrn}? replace orally if low and recheck in the AM (8:00)",
        "See what the latest potassium of the patient with MRN {mrn} is. A low one gets oral potassium by "
        "the protocol and a serum potassium tomorrow morning at 8.",
        "Before I leave: newest potassium of {mrn} please, and if it is under the limit, oral potassium by "
        "the rule and a level at 08:00 tomorrow.",
        "What is {mrn}'s last potassium? Low: replace by mouth and order the next-morning level (08:00). Not "
        "low: no orders.",
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
            drug="potassium",
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

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose potassium results are clear."""
        return series_candidates(survey, "K", (timedelta(hours=3), timedelta(days=9)), _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code, the rule, the form of both orders and of the answer."""
        token, patient = codes.labs["K"], person_of(candidate)
        now, morning = candidate.now.isoformat(), next_morning(candidate.now).isoformat()
        rule = (
            f"The newest result counts, however old it is. Low is below {GOAL} mmol/L. Protocol: by mouth, "
            f"10 mEq for every 0.1 mmol/L that the value lies below {GOAL} mmol/L, as one dose. At {GOAL} "
            "mmol/L or more, or without a result, no orders."
        )
        dosage = (
            'one dosageInstruction with route the plain string "oral" and one doseAndRate, whose '
            'doseQuantity is {"value": dose, "unit": "mEq"}'
        )
        form = medication_form(NDC, codes.potassium_ndc, now, patient, dosage)
        when = f"; occurrenceDateTime {morning}"
        level = service_form("the level, after it,", LOINC, codes.potassium_loinc, now, patient, when)
        facts = Facts(
            codes={
                "lab": token,
                "medication": codes.potassium_ndc,
                "medication_system": NDC,
                "order": codes.potassium_loinc,
                "order_system": LOINC,
            },
            values={"unit": POTASSIUM.unit, "low_below": GOAL, "level_at": morning, "asks_value": True},
        )
        return Draft((lab("Potassium", token), rule, form, level, number_answer(POTASSIUM.unit)), facts)


def _branch(series: Series, now: datetime) -> str | None:
    latest = series.newest
    if latest is None:
        return "never"
    value = latest.value
    # With more decimals the protocol's dose would be no whole ten, which readers would round.
    if not LOWEST <= value <= HIGHEST or value != round(value, 1):
        return None
    if value >= GOAL:
        if value == GOAL:
            return "normal/exactly_3.5"
        low_before = any(measurement.value < GOAL for measurement in series.measurements)
        return "normal/after_low" if low_before else "normal"
    tier = "slightly_low" if value >= 3.3 else "low" if value >= 3.0 else "very_low"
    return f"{tier}/older" if now - latest.at > DAY else tier
