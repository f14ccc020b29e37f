"""`tasks check`: what is wrong with a set, or with a server's search, is found by the second computation."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from wardround_schemas.chart import Params, SearchPage
from wardround_server.backends import Backend, open_backend
from wardround_tasks.check import Finding, check_tasks
from wardround_tasks.loading import load_tasks
from wardround_tasks.task import PatientRef, Task

TASKS = load_tasks("bundled").by_id


class Tampered:
    """The bundled chart behind a server that does not do what a search says."""

    def __init__(self, chart: Backend, *, drop: str) -> None:
        self._chart = chart
        self._drop = drop

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        kept = [(name, value) for name, value in params if name != self._drop]
        return await self._chart.search(resource_type, kept)

    async def next_page(self, url: str) -> SearchPage:
        return await self._chart.next_page(url)


def findings(tasks: list[Task], drop: str | None = None) -> list[Finding]:
    async def run() -> list[Finding]:
        chart = await open_backend("embedded")
        try:
            return await check_tasks(tasks, chart if drop is None else Tampered(chart, drop=drop))
        finally:
            await chart.aclose()

    return asyncio.run(run())


def one(category: str, branch: str) -> Task:
    return next(task for task in TASKS.values() if task.category == category and task.branch == branch)


def test_a_patient_who_is_not_in_the_chart_is_found() -> None:
    stranger = replace(one("task3", "record"), patient=PatientRef("Patient/S0000000", "S0000000"))
    known = stranger_of(one("task3", "record"))
    assert [finding.problem.split(" S")[0] for finding in findings([stranger])] == [
        "the chart has no patient Patient/S0000000 with identifier"
    ]
    assert len(findings([known])) == 1


def stranger_of(task: Task) -> Task:
    """The task with its patient's number and another's reference."""
    assert task.patient is not None
    return replace(task, patient=PatientRef("Patient/S0000000", task.patient.mrn))


@pytest.mark.parametrize("solution", [["S0000000"], ["Patient not found"], []])
def test_a_wrong_stored_solution_is_found(solution: list[Any]) -> None:
    assert findings([replace(one("task1", "found"), solution=solution)])


def test_a_name_that_is_in_the_chart_after_all_is_found() -> None:
    known = one("task1", "found")
    lost = replace(known, patient=None, solution=["Patient not found"])
    assert [finding.task_id for finding in findings([lost])] == [known.id]


def test_a_server_that_ignores_the_date_or_the_order_is_found() -> None:
    older, several = one("task4", "older_only"), one("task6", "older_only")
    assert findings([older, several]) == []
    assert {finding.task_id for finding in findings([older, several], drop="date")} == {older.id, several.id}
    many = [task for task in TASKS.values() if task.branch == "of_the_last_day/many"]
    assert findings(many, drop="_sort")


def test_a_right_set_has_no_findings() -> None:
    assert findings(list(TASKS.values())[::7]) == []
