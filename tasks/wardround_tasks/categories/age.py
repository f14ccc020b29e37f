"""task2: a patient's age in whole years on the day of the task."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected
from ..instants import age_in_years
from ..reference import Reference, read_birth_date
from ..survey import CodeMap, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from .base import Candidate, Draft, Quota, Traits, patient_of

YEARS = frozenset({"years", "year", "yrs", "yr", "y", "a", "yearsold", "yo"})


class Age:
    """No writes; the answer is the age."""

    traits = Traits("task2", "Age", "query", "medium", "a search and a calculation")
    quotas = (
        Quota("birthday_passed/today", 1),
        Quota("birthday_passed/yesterday", 1),
        Quota("birthday_ahead/tomorrow", 1),
        Quota("born_on_leap_day", 1),
        Quota("birthday_ahead", 9),
        Quota("birthday_passed", 17),
    )
    phrases = (
        "How old is the patient with MRN {mrn}?",
        "What is the age of patient {mrn} today?",
        "age of {mrn}?",
        "For the anaesthesia sheet I need the age of the patient under MRN {mrn}.",
        "Please work out how many years old MRN {mrn} is today.",
        "Pt {mrn}: age in years pls",
        "Dosing check: give me the current age of patient {mrn}.",
        "How many birthdays has the patient with record number {mrn} had?",
        "Tell me the age, in completed years, of {mrn}.",
    )

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose birth date is known to the day and past."""
        today = survey.latest.date()
        day = timedelta(days=1)
        edges = {
            (today.month, today.day): "birthday_passed/today",
            ((today - day).month, (today - day).day): "birthday_passed/yesterday",
            ((today + day).month, (today + day).day): "birthday_ahead/tomorrow",
            (2, 29): "born_on_leap_day",
        }
        for person in survey.people:
            born = person.birth_date
            if born is None or born >= today:
                continue
            ahead = (born.month, born.day) > (today.month, today.day)
            branch = edges.get((born.month, born.day), "birthday_ahead" if ahead else "birthday_passed")
            yield Candidate(branch, survey.latest, person)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The form of the answer."""
        form = "Count completed years, by the birth date. Answer with a list of one whole number."
        return Draft((form,), Facts(values={"unit": "years"}))

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """The birth date, by the MRN."""
        return Reference(task.id, birth_date=await read_birth_date(chart, patient_of(task)))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """`[age]`; where the chart has no birth date no answer is right."""
        if reference.birth_date is None:
            return Expected(AnswerRule("impossible"))
        age = age_in_years(reference.birth_date, task.now_instant.date())
        return Expected(AnswerRule("exact", (age,), units=YEARS))
