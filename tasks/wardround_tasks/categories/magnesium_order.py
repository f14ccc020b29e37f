"""task5: the newest magnesium of the last 24 hours and, if it is low, an infusion by tier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from wardround_schemas.chart import ChartReader

from ..expect import NDC, AnswerRule, Expected, MedicationWrite
from ..quantities import MAGNESIUM
from ..reference import Reference, last_day, newest, read_measurements
from ..survey import CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import LAST_DAY, hours, lab, medication_form, number_answer
from .base import Candidate, Draft, Quota, Traits, patient_of, person_of, value_answer
from .series import OUTSIDE, WINDOW_OFFSETS, edge, in_last_day, named, series_candidates

LOW = 1.9
"""mg/dL; a value up to and including this is low."""


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
        codes=("lab", "medication"),
    )
    quotas = (
        Quota("mild/exactly_1.5", 1, "write"),
        Quota("mild/exactly_1.9", 1, "write"),
        Quota("mild/one_minute_inside", 1, "write"),
        Quota("moderate/exactly_1.0", 1, "write"),
        Quota("moderate/exactly_24_hours", 1, "write"),
        Quota("mild", 2, "write"),
        Quota("moderate", 3, "write"),
        Quota("severe", 5, "write"),
        Quota("normal/exactly_24_hours", 1, "hold"),
        Quota("normal/one_minute_inside", 1, "hold"),
        Quota("older_only/one_minute_outside", 1, "hold"),
        Quota("older_only/low", 3, "hold"),
        Quota("older_only", 2, "hold"),
        Quota("normal", 4, "hold"),
        Quota("never", 3, "hold"),
    )
    phrases = (
        "Check the newest magnesium of patient {mrn} from the last 24 hours. If it is low, order IV "
        "replacement by the protocol; with no result in that time, order nothing. Tell me the value.",
        "Please see whether MRN {mrn} needs magnesium: go by the latest level of the past 24 hours, order IV "
        "magnesium by the protocol if it is low, and give me the level.",
        "{mrn}: Mg past 24h? replete IV per protocol if low, nothing if no level",
        "What is {mrn}'s magnesium, going back 24 hours? Replace it intravenously as the protocol says where "
        "the newest value is low, and leave it alone otherwise.",
        "Magnesium protocol for patient {mrn}, please, and the level it rests on. Only one from the last 24 "
        "hours counts.",
        "mag {mrn}? replete if low (24 h level, protocol)",
        "Is {mrn} short of magnesium? Report the most recent result of the last day, and put in the "
        "protocol's infusion if it is low.",
        "Go through {mrn}'s magnesium of the past 24 hours and tell me the latest; a low one gets the "
        "matching IV dose, a normal or missing one gets no order.",
        "On rounds we said: recheck Mg for {mrn} (24 hours back) and give IV magnesium by tier if low. "
        "Please do that and report the value.",
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
            drug="magnesium",
            dose=dose,
            unit="g",
            hours=dose,
        )
        return Expected(replace(answer, also=(float(dose),)), (write,))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose magnesium results are clear."""
        return series_candidates(survey, "MG", WINDOW_OFFSETS, _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code, the window, the tiers, the form of the order and of the answer."""
        token, now, patient = codes.labs["MG"], candidate.now.isoformat(), person_of(candidate)
        tiers = (
            f"Low is {LOW} mg/dL or less. Protocol: below 1.0 mg/dL, 4 g over {hours(4)}; from 1.0 to below "
            f"1.5 mg/dL, 2 g over {hours(2)}; from 1.5 to {LOW} mg/dL, 1 g over {hours(1)}. Above {LOW} "
            "mg/dL, or without a result that counts, no order."
        )
        dosage = (
            'one dosageInstruction with route the plain string "IV" and one doseAndRate, whose doseQuantity '
            'is {"value": grams, "unit": "g"} and whose rateQuantity is {"value": hours, "unit": "h"}'
        )
        form = medication_form(NDC, codes.magnesium_ndc, now, patient, dosage)
        context = (lab("Magnesium", token), LAST_DAY, tiers, form, number_answer(MAGNESIUM.unit))
        facts = Facts(
            codes={"lab": token, "medication": codes.magnesium_ndc, "medication_system": NDC},
            values={"unit": MAGNESIUM.unit, "window_hours": 24, "low_at_or_below": LOW, "asks_value": True},
        )
        return Draft(context, facts)


def _branch(series: Series, now: datetime) -> str:
    latest = series.newest
    if latest is None:
        return "never"
    detail = edge(latest, now)
    if not in_last_day(series, now):
        low = "low" if latest.value <= LOW else None
        return named("older_only", detail if detail == OUTSIDE else low)
    if latest.value > LOW:
        return named("normal", detail)
    tier = {1: "mild", 2: "moderate", 4: "severe"}[dose_for(latest.value)]
    if latest.value in (1.0, 1.5, LOW):
        detail = detail or f"exactly_{float(latest.value)}"
    return named(tier, detail)
