"""task10: the newest HbA1c and when it was taken; if over a year old or missing, order a new one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from wardround_schemas.chart import ChartReader

from ..expect import LOINC, Expected, ServiceWrite
from ..instants import year_before
from ..quantities import HBA1C
from ..reference import Reference, newest, read_measurements
from ..survey import MINUTE, CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import lab, service_form
from .base import Candidate, Draft, Quota, Traits, patient_of, person_of, value_answer
from .series import series_candidates

OFFSETS = (
    timedelta(days=30),
    *(timedelta(days=days) + shift for days in (365, 366) for shift in (timedelta(), MINUTE, -MINUTE)),
    timedelta(days=500),
)


class HbA1c:
    """None, or one over a year old, needs a ServiceRequest; a newer one no write."""

    traits = Traits(
        "task10",
        "HbA1c and its age",
        "action",
        "hard",
        "a search, a decision by date and an order",
        codes=("lab", "order"),
    )
    quotas = (
        Quota("overdue/one_minute_over", 2, "write"),
        Quota("overdue", 8, "write"),
        Quota("never", 5, "write"),
        Quota("recent/exactly_one_year", 2, "hold"),
        Quota("recent/one_minute_under", 2, "hold"),
        Quota("recent", 11, "hold"),
    )
    phrases = (
        "What is the newest HbA1c of patient {mrn}, and when was it taken? If it is over a year old, or "
        "there is none, order a new one.",
        "Please find the last HbA1c of MRN {mrn} with its date and time, and order another if that is more "
        "than one year back or there never was one.",
        "A1c {mrn}: last value + when. >1 y old or none: reorder",
        "Give me value and time of {mrn}'s most recent HbA1c. Should it be older than a year, or missing, "
        "put in a new test.",
        "Is the HbA1c of {mrn} still current? Tell me the latest one and its time; if more than a year has "
        "passed, or none exists, order it.",
        "last A1C for pt {mrn} w/ timestamp; new lab if over 12 months or never done",
        "Diabetes recall, MRN {mrn}: report the newest HbA1c and when it was recorded, and order one if it "
        "is out of date (over a year) or missing.",
        "Look up the latest glycated haemoglobin of the patient with MRN {mrn}, with its time. Over one year "
        "old or absent: order a new one.",
        "Check when {mrn} last had an HbA1c and what it was. Order a fresh one if none exists or it is more "
        "than a year old.",
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
        system = task.facts.codes.get("order_system", LOINC)
        return Expected(answer, (ServiceWrite(patient_of(task), system, task.code("order"), task.now),))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose HbA1c results are clear."""
        return series_candidates(survey, "A1C", OFFSETS, _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code, the limit, the form of the order and of the answer."""
        token, now = codes.labs["A1C"], candidate.now.isoformat()
        limit = year_before(candidate.now).isoformat()
        rule = (
            f"A result is over a year old when it is timed before {limit}. Without any result, order one "
            "too. Otherwise, no order."
        )
        form = service_form("the order", LOINC, codes.hba1c_loinc, now, person_of(candidate))
        answer = (
            "Answer with a list of the newest value in % and its time, both exactly as the chart has them; "
            "if there is none, answer [-1]."
        )
        facts = Facts(
            codes={"lab": token, "order": codes.hba1c_loinc, "order_system": LOINC},
            values={"unit": HBA1C.unit, "overdue_before": limit, "asks_value": True},
        )
        return Draft((lab("HbA1c", token), rule, form, answer), facts)


def _branch(series: Series, now: datetime) -> str:
    latest = series.newest
    if latest is None:
        return "never"
    limit = year_before(now)
    if latest.at < limit:
        return "overdue/one_minute_over" if limit - latest.at <= MINUTE else "overdue"
    if latest.at == limit:
        return "recent/exactly_one_year"
    return "recent/one_minute_under" if latest.at - limit <= MINUTE else "recent"
