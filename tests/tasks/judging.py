"""Judge one attempt in one line: tasks as the original writes them, or asking for the value as ours do."""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import replace
from typing import Any

from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.grading import grade, read_reference
from wardround_tasks.medagentbench import task_from_original
from wardround_tasks.task import Facts, Task
from wardround_tasks.verdict import Verdicts

from .cases import MRN, SBAR, entry, medication, service, vital
from .charts import FakeChart, observation, patient

Json = dict[str, Any]
TODAY, YESTERDAY = "2023-11-13T04:00:00+00:00", "2023-11-12T12:00:00+00:00"
LAST_WEEK, TOMORROW = "2023-11-06T04:00:00+00:00", "2023-11-14T04:00:00+00:00"


def task_of(category: str, *, asks: bool | None = None, solution: list[Any] | None = None) -> Task:
    """A task in the original's manner; `asks` says whether its text asks for the value."""
    record = entry(category, random.Random(0))
    if category == "task1":
        record["sol"] = solution or [MRN]
    task = task_from_original(record)
    if asks is None:
        return task
    facts = Facts(task.facts.codes, task.facts.texts, {"asks_value": asks})
    return replace(task, facts=facts)


def values(category: str, *pairs: tuple[Any, str]) -> list[Json]:
    """The patient and results of the category's code, newest not necessarily first."""
    code, unit = {
        "task4": ("MG", "mg/dL"),
        "task5": ("MG", "mg/dL"),
        "task6": ("GLU", "mg/dL"),
        "task7": ("GLU", "mg/dL"),
        "task9": ("K", "mmol/L"),
        "task10": ("A1C", "%"),
    }[category]
    return [patient(MRN), *(observation(MRN, code, value, when, unit) for value, when in pairs)]


def call(resource: Any, *, accepted: bool = True, kind: str | None = None) -> CreateCall:
    """A create call; its type is the resource's own unless said otherwise."""
    return CreateCall(kind or resource["resourceType"], copy.deepcopy(resource), accepted)


def judge(
    category: str,
    answer: str | None,
    *calls: CreateCall | Json,
    chart: list[Json] | None = None,
    asks: bool | None = None,
    task: Task | None = None,
    **attempt: Any,
) -> Verdicts:
    """Both verdicts on one attempt; without a chart the patient has no results."""
    task = task or task_of(category, asks=asks)
    made = tuple(item if isinstance(item, CreateCall) else call(item) for item in calls)
    tried = Attempt(task.id, answer=answer, calls=made, **attempt)
    reader = FakeChart(chart if chart is not None else [patient(MRN)])
    return grade(task, tried, asyncio.run(read_reference(task, reader)))


def magnesium(grams: float, **more: Any) -> Json:
    """The original's magnesium order."""
    amounts = {"doseQuantity": {"value": grams, "unit": "g"}, "rateQuantity": {"value": grams, "unit": "h"}}
    return {**medication("0338-1715-40", "IV", amounts), **more}


def potassium(dose: float, **more: Any) -> Json:
    """The original's potassium order."""
    return {**medication("40032-917-01", "oral", {"doseQuantity": {"value": dose, "unit": "mEq"}}), **more}


def level(**more: Any) -> Json:
    """The original's potassium level of the next morning."""
    made = service("http://loinc.org", "2823-3", occurrenceDateTime="2023-11-14T08:00:00+00:00")
    return {**made, **more}


def hba1c(**more: Any) -> Json:
    """The original's HbA1c order."""
    return {**service("http://loinc.org", "4548-4"), **more}


def referral(**more: Any) -> Json:
    """The original's referral."""
    made = service("http://snomed.info/sct", "306181000000106", note={"text": SBAR})
    return {**made, **more}


def reading(**more: Any) -> Json:
    """The original's blood pressure."""
    quoted = entry("task3", random.Random(0))["instruction"].split('"')[1]
    return {**vital(quoted), **more}


def codes(verdicts: Verdicts, rules: str = "clinical") -> list[str]:
    """The failures' codes."""
    verdict = verdicts.clinical if rules == "clinical" else verdicts.medagentbench
    return [failure.code for failure in verdict.failures]
