"""Whether a task set is solvable on a chart, and its answers right: worked out a second time, another way.

The graders read a code's whole history and cut the time window themselves. Here the server cuts and sorts
it (`date`, `_sort`, `_count`), and ages and means are computed by other formulas. Where the two
disagree, one of them, or the server's search, is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import fsum
from typing import Any, Literal

from wardround_schemas.chart import ChartReader, Resource, search_all

from .attempt import Attempt
from .categories import CATEGORIES
from .categories.base import gold_attempt
from .grading import category_of, grade, read_reference
from .survey import Progress
from .task import PatientRef, Task
from .verdict import RULE_SETS

MEAN_TOLERANCE = 1e-6
OURS = frozenset(category.traits.id for category in CATEGORIES)
"""Another package's category has no second computation here: its reference solution alone is judged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one task: an id and one line."""

    task_id: str
    problem: str


async def check_tasks(
    tasks: Sequence[Task], chart: ChartReader, *, progress: Progress | None = None
) -> list[Finding]:
    """Everything that is wrong with a set on a chart, [] where nothing is.

    Each task's reference solution must pass under both rule sets, its answer must be what the second
    computation gives, and its patient must be in the chart. Raises ChartError when the chart can't be
    read.
    """
    findings: list[Finding] = []
    for done, task in enumerate(tasks, start=1):
        findings.extend([Finding(task.id, problem) for problem in await _problems(task, chart)])
        if progress is not None:
            progress(done, len(tasks))
    return findings


async def _problems(task: Task, chart: ChartReader) -> list[str]:
    if task.patient is not None and not await _known(chart, task.patient):
        return [f"the chart has no patient {task.patient.reference} with identifier {task.patient.mrn}"]
    reference = await read_reference(task, chart)
    category = category_of(task)
    problems = []
    for rules in RULE_SETS:
        expected = category.expected(task, reference, rules)
        if expected.answer.kind == "impossible":
            return ["the chart does not say what the task asks"]
        solution: Attempt = gold_attempt(task, expected, "original")
        verdict = grade(task, solution, reference).of(rules)
        if not verdict.passed:
            problems.append(f"the reference solution fails under {rules}: {verdict.failures[0]}")
    first = list(category.expected(task, reference, "clinical").answer.values)
    writes = len(category.expected(task, reference, "clinical").writes)
    second = await second_computation(task, chart)
    if second is not None and not _agree(first, second[0]):
        problems.append(f"the answer is {first} by the grader and {second[0]} by the second computation")
    if second is not None and writes != second[1]:
        problems.append(f"{writes} writes are due by the grader and {second[1]} by the second computation")
    return problems


async def unknown_patients(tasks: Iterable[Task], chart: ChartReader) -> list[str]:
    """The MRNs of the tasks' patients whom the chart does not have, each once, in order.

    A chart of other people would give every question about results the answer -1.
    """
    patients = dict.fromkeys(task.patient for task in tasks if task.patient is not None)
    return [patient.mrn for patient in patients if not await _known(chart, patient)]


async def _known(chart: ChartReader, patient: PatientRef) -> bool:
    found = await search_all(chart, "Patient", [("identifier", patient.mrn)])
    return any(f"Patient/{resource.get('id')}" == patient.reference for resource in found)


def _agree(first: list[Any], second: list[Any]) -> bool:
    if len(first) != len(second):
        return False
    return all(
        abs(left - right) <= MEAN_TOLERANCE
        if isinstance(left, (int, float)) and isinstance(right, (int, float))
        else left == right
        for left, right in zip(first, second, strict=True)
    )


async def second_computation(task: Task, chart: ChartReader) -> tuple[list[Any], int] | None:
    """The answer and the number of writes that a task calls for, None where the chart plays no part."""
    patient = task.patient
    if task.category == "task1":
        return await _by_name(task, chart), 0
    if patient is None or task.category in ("task3", "task8") or task.category not in OURS:
        return None
    if task.category == "task2":
        return await _age(task, patient, chart), 0
    if task.category == "task6":
        return await _mean(task, patient, chart), 0
    window: Literal["day", "ever"] = "day" if task.category in ("task4", "task5") else "ever"
    latest = await _latest(task, patient, chart, window)
    value = None if latest is None else latest["valueQuantity"]["value"]
    answer: list[Any] = [-1 if value is None else value]
    if task.category == "task5":
        return answer, int(value is not None and Fraction(str(value)) <= Fraction("1.9"))
    if task.category == "task9":
        return answer, 2 * int(value is not None and Fraction(str(value)) < Fraction("3.5"))
    if task.category == "task10":
        return await _dated(task, patient, chart, latest)
    return answer, 0


async def _by_name(task: Task, chart: ChartReader) -> list[Any]:
    texts = task.facts.texts
    everyone = await search_all(chart, "Patient", [("birthdate", texts["birthdate"])])
    wanted = (texts["given"].casefold(), texts["family"].casefold())
    found = []
    for resource in everyone:
        for name in resource.get("name") or ():
            given = " ".join(name.get("given") or ()).casefold()
            full = (given, str(name.get("family")).casefold())
            if wanted in (full, ((name.get("given") or [""])[0].casefold(), full[1])):
                found.append(resource)
                break
    if not found:
        return [texts["not_found"]]
    numbers = [item.get("value") for item in found[0].get("identifier") or ()]
    stored = (task.solution or [None])[0]
    return [stored if stored in numbers and len(found) == 1 else [numbers, len(found)]]


async def _age(task: Task, patient: PatientRef, chart: ChartReader) -> list[Any]:
    """By counting birthdays: as many as there are years in which month and day have been reached."""
    found = await search_all(chart, "Patient", [("_id", patient.id)])
    year, month, day = (int(part) for part in str(found[0]["birthDate"]).split("-"))
    today = task.now_instant.date()
    return [
        (today.year * 10000 + today.month * 100 + today.day - (year * 10000 + month * 100 + day)) // 10000
    ]


def _day(task: Task) -> list[tuple[str, str]]:
    now = task.now_instant
    return [("date", f"ge{(now - timedelta(hours=24)).isoformat()}"), ("date", f"le{now.isoformat()}")]


async def _mean(task: Task, patient: PatientRef, chart: ChartReader) -> list[Any]:
    params = [("patient", patient.reference), ("code", task.code("lab")), *_day(task), ("_sort", "date")]
    found = await search_all(chart, "Observation", params)
    values = [float(resource["valueQuantity"]["value"]) for resource in found]
    return [fsum(values) / len(values) if values else -1]


async def _latest(
    task: Task, patient: PatientRef, chart: ChartReader, window: Literal["day", "ever"]
) -> Resource | None:
    """The server's own newest: sorted by it, one asked for."""
    limits = _day(task) if window == "day" else []
    params = [("patient", patient.reference), ("code", task.code("lab")), *limits]
    page = await chart.search("Observation", [*params, ("_sort", "-date"), ("_count", "1")])
    found = page.resources()
    return found[0] if found else None


async def _dated(
    task: Task, patient: PatientRef, chart: ChartReader, latest: Resource | None
) -> tuple[list[Any], int]:
    """An HbA1c is due when the server finds none from the last year on."""
    limit = _a_year_back(task.now_instant)
    params = [("patient", patient.reference), ("code", task.code("lab")), ("date", f"ge{limit.isoformat()}")]
    page = await chart.search("Observation", [*params, ("_count", "1")])
    due = int(not page.resources())
    if latest is None:
        return [-1], due
    return [latest["valueQuantity"]["value"], latest["effectiveDateTime"]], due


def _a_year_back(now: datetime) -> datetime:
    leap_day = (now.month, now.day) == (2, 29)
    return now.replace(year=now.year - 1, day=28 if leap_day else now.day)
