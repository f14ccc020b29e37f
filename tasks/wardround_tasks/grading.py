"""Grading: read what the chart says once a task, then judge any number of attempts on it.

The rules are in docs/grading.md. `read_reference` is the only reading of the chart; `grade` is a pure
function, and never raises for what an agent did.
"""

from __future__ import annotations

from typing import Final, get_args

from wardround_schemas.chart import ChartReader

from .answers import Said
from .attempt import Attempt
from .categories import Grader, find_category
from .clinical import judge_clinical
from .reference import Reference
from .strict import judge_strict
from .task import Task
from .verdict import Code, Failure, Verdict, Verdicts

_STATUS_CODES: Final[dict[str, Code]] = {
    name: name
    for name in get_args(Code)
    if name in {"invalid_action", "budget_exhausted", "context_limit", "provider_error"}
}


def category_of(task: Task) -> Grader:
    """The task's category; raises ValueError for an unknown one."""
    category = find_category(task.category)
    if category is None:
        raise ValueError(f"task {task.id}: there is no category {task.category!r}")
    return category


async def read_reference(task: Task, chart: ChartReader) -> Reference:
    """Read from the chart what both rule sets need to judge the task.

    Raises ChartError when the chart can't be read: that is an error of the run, never an answer of
    -1. A chart that can be read and lacks the patient or the measurement gives an empty reference.
    """
    return await category_of(task).read(task, chart)


def grade(task: Task, attempt: Attempt, reference: Reference) -> Verdicts:
    """Judge one attempt under both rule sets, every failure listed.

    Pure: the same arguments give the same verdicts. Raises ValueError only where the task and the
    attempt or reference do not belong together, or the task lacks what its category needs.
    """
    if attempt.task_id != task.id or reference.task_id != task.id:
        raise ValueError(
            f"task {task.id}: the attempt is of {attempt.task_id}, the reference of {reference.task_id}"
        )
    category = category_of(task)
    unanswered = _no_answer(attempt)
    said = None if attempt.answer is None else Said(attempt.answer)
    strict = judge_strict(attempt, said, category.expected(task, reference, "medagentbench"))
    expected = category.expected(task, reference, "clinical")
    clinical, notes = judge_clinical(attempt, said, expected, task.patient)
    return Verdicts(
        task.id,
        medagentbench=Verdict((*unanswered, *strict)),
        clinical=Verdict((*unanswered, *clinical), tuple(notes)),
    )


def _no_answer(attempt: Attempt) -> tuple[Failure, ...]:
    """Why there is no final answer: an attempt without one fails under both rule sets."""
    if attempt.status != "completed":
        code = _STATUS_CODES.get(attempt.status, "no_answer")
        return (Failure(code, "$.status", "completed", attempt.status),)
    if attempt.answer is None:
        return (Failure("no_answer", "$.answer", "a JSON list", None),)
    return ()
