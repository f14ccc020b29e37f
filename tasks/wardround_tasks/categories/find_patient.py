"""task1: find a patient's MRN by name and birth date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise

from wardround_schemas.chart import ChartReader

from ..choosing import mixed, rank
from ..expect import AnswerRule, Expected
from ..reference import Reference
from ..survey import CodeMap, Person, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from .base import Candidate, Draft, Quota, Traits

NOT_FOUND = "Patient not found"


class FindPatient:
    """No writes; the answer is the stored solution."""

    traits = Traits(
        "task1",
        "Find a patient",
        "query",
        "easy",
        "one search",
        texts=("given", "family", "birthdate", "not_found"),
        needs_patient=False,
        needs_solution=True,
    )
    quotas = (
        Quota("found/namesake", 4, "found"),
        Quota("found", 18, "found"),
        Quota("not_found/wrong_birth_date", 4, "not_found"),
        Quota("not_found/unknown_name", 4, "not_found"),
    )
    phrases = (
        "What is the MRN of {given} {family}, born {birthdate}?",
        "Please look up {given} {family} (date of birth {birthdate}) and give me the MRN.",
        "MRN for {given} {family}, DOB {birthdate}?",
        "I have {given} {family} on the phone, birth date {birthdate}. Which medical record is theirs (MRN)?",
        "{family}, {given}, *{birthdate}: MRN pls",
        "Find the record number of the patient named {given} {family} who was born on {birthdate}.",
        "We are admitting {given} {family}, date of birth {birthdate}. Is there a chart already, and under "
        "which MRN?",
        "need MRN: {given} {family} {birthdate}",
        "A letter came for a {given} {family} born {birthdate}. Whose MRN do I file it under?",
        "Under which MRN do we keep {given} {family}, born on {birthdate}?",
    )

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """People who are unique by name and birth date, and names or dates that nobody has."""
        people = [person for person in survey.people if person.birth_date is not None]
        names = Counter(_folded(person.name) for person in survey.people)
        known = {(_folded(person.name), person.birth_date) for person in people}
        for person in people:
            same = [other for other in people if _folded(other.name) == _folded(person.name)]
            if [other.birth_date for other in same].count(person.birth_date) > 1:
                continue
            branch = "found/namesake" if names[_folded(person.name)] > 1 else "found"
            yield _candidate(branch, survey, person, person.given, person.family, person.birth_date)
        for person in people:
            wrong = _other_day(person, seed)
            if (_folded(person.name), wrong) not in known:
                branch = "not_found/wrong_birth_date"
                yield _candidate(branch, survey, None, person.given, person.family, wrong)
        strangers = mixed(people, _reference, seed, "task1", "strangers")
        for first, second in pairwise(strangers):
            if f"{_folded(first.given)} {_folded(second.family)}" not in names:
                branch = "not_found/unknown_name"
                yield _candidate(branch, survey, None, first.given, second.family, first.birth_date)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The name and birth date; the solution is stored."""
        context = (
            "Name and birth date must both fit.",
            f"Answer with a list of one string: the MRN, or {NOT_FOUND!r} where no patient has both.".replace(
                "'", '"'
            ),
        )
        texts = {**candidate.texts, "not_found": NOT_FOUND}
        solution = NOT_FOUND if candidate.person is None else candidate.person.ref.mrn
        return Draft(context, Facts(texts=texts), [solution])

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed: the solution is stored with the task."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The stored solution, under both rule sets."""
        if task.solution is None:
            raise ValueError(f"task {task.id}: task1 needs a stored solution")
        return Expected(AnswerRule("exact", tuple(task.solution)))


def _candidate(
    branch: str, survey: Survey, person: Person | None, given: str, family: str, born: date | None
) -> Candidate:
    texts = {"given": given, "family": family, "birthdate": born.isoformat() if born is not None else ""}
    return Candidate(branch, survey.latest, person, texts)


def _other_day(person: Person, seed: int) -> date:
    """A birth date a few days beside the person's own."""
    days = rank(seed, "task1", "day", person.ref.reference) % 9 + 1
    return (person.birth_date or date(1950, 1, 1)) + timedelta(days=days)


def _reference(person: Person) -> str:
    return person.ref.reference


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
