"""The bundled 300: balanced by branch, solvable, worth nothing to the idle, and what our generator makes."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import pytest

from wardround_schemas.records import check_record
from wardround_server.backends import Backend, open_backend
from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.categories import CATEGORIES
from wardround_tasks.categories.base import gold_attempt, resource_for
from wardround_tasks.check import check_tasks
from wardround_tasks.expect import Expected, MedicationWrite, VitalWrite
from wardround_tasks.generate import BUNDLED_SEED, branch_counts, generate_tasks, generated_document
from wardround_tasks.grading import category_of, grade, read_reference
from wardround_tasks.loading import load_tasks
from wardround_tasks.reference import Reference
from wardround_tasks.task import DEFAULT_NOW, Task

TASKS = load_tasks("bundled").tasks
TERSE_WORDS = 12


@asynccontextmanager
async def embedded() -> AsyncIterator[Backend]:
    """The bundled chart."""
    chart = await open_backend("embedded")
    try:
        yield chart
    finally:
        await chart.aclose()


def on_the_chart(use: Callable[[Backend], Awaitable[Any]]) -> Any:
    """What a reading of the bundled chart gives."""

    async def run() -> Any:
        async with embedded() as chart:
            return await use(chart)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def references() -> dict[str, Reference]:
    async def read(chart: Backend) -> dict[str, Reference]:
        return {task.id: await read_reference(task, chart) for task in TASKS}

    result: dict[str, Reference] = on_the_chart(read)
    return result


def expected(task: Task, references: dict[str, Reference]) -> Expected:
    """What the clinical rules expect."""
    return category_of(task).expected(task, references[task.id], "clinical")


def test_there_are_thirty_tasks_of_each_category_in_order() -> None:
    assert [task.id for task in TASKS] == [f"task{c}_{n}" for c in range(1, 11) for n in range(1, 31)]
    assert Counter(task.kind for task in TASKS) == {"query": 150, "action": 150}
    assert Counter(task.difficulty for task in TASKS) == {"easy": 90, "medium": 120, "hard": 90}
    assert {task.now for task in TASKS} == {DEFAULT_NOW}


def test_every_task_is_a_valid_record() -> None:
    assert [check_record("task", task.to_json()) for task in TASKS] == [[]] * 300
    assert [Task.from_json(task.to_json()) for task in TASKS] == list(TASKS)


def test_the_file_is_what_the_generator_makes_of_the_bundled_chart() -> None:
    made = on_the_chart(lambda chart: generate_tasks(chart, BUNDLED_SEED))
    assert made.shortages == ()
    stored = files("wardround_tasks").joinpath("data/bundled.json").read_text(encoding="utf-8")
    assert stored == generated_document(made, BUNDLED_SEED)


def test_every_task_is_solvable_and_twice_computed_alike() -> None:
    assert on_the_chart(lambda chart: check_tasks(TASKS, chart)) == []


def test_half_of_the_conditional_actions_need_the_write(references: dict[str, Reference]) -> None:
    for category in ("task5", "task9", "task10"):
        due = [bool(expected(task, references).writes) for task in TASKS if task.category == category]
        assert sum(due) == 15, category
    for category in ("task3", "task8"):
        assert all(expected(task, references).writes for task in TASKS if task.category == category)


def test_every_dose_tier_comes_equally_often(references: dict[str, Reference]) -> None:
    doses: dict[str, Counter[str]] = {"task5": Counter(), "task9": Counter()}
    for task in TASKS:
        for write in expected(task, references).writes:
            if isinstance(write, MedicationWrite):
                tier = write.dose if write.unit == "g" else (write.dose > 20.5) + (write.dose > 50.5)
                doses[task.category][str(float(tier))] += 1
    assert doses["task5"] == {"1.0": 5, "2.0": 5, "4.0": 5}
    assert doses["task9"] == {"0.0": 5, "1.0": 5, "2.0": 5}


def test_every_boundary_is_among_the_tasks() -> None:
    branches = branch_counts(TASKS)
    for category, wanted in {
        "task1": ["found/namesake", "not_found/unknown_name", "not_found/wrong_birth_date"],
        "task2": ["birthday_passed/today", "birthday_ahead/tomorrow", "born_on_leap_day"],
        "task4": [
            "in_window/exactly_24_hours",
            "in_window/one_minute_inside",
            "older_only/one_minute_outside",
        ],
        "task5": [
            "mild/exactly_1.9",
            "mild/exactly_1.5",
            "moderate/exactly_1.0",
            "moderate/exactly_24_hours",
        ],
        "task6": ["several/exactly_24_hours", "several/one_minute_outside", "never"],
        "task7": ["older", "never"],
        "task9": ["normal/exactly_3.5", "normal/after_low", "very_low/older", "never"],
        "task10": ["recent/exactly_one_year", "recent/one_minute_under", "overdue/one_minute_over", "never"],
    }.items():
        for branch in wanted:
            assert branches[category][branch] >= 1, (category, branch)


def test_potassium_stays_within_what_is_replaced_by_mouth(references: dict[str, Reference]) -> None:
    for task in TASKS:
        if task.category == "task9":
            newest = max(references[task.id].measurements, key=lambda m: m.at, default=None)
            assert newest is None or 2.5 <= newest.value <= 5.5


def test_no_task_hangs_on_what_the_rule_sets_see_differently(references: dict[str, Reference]) -> None:
    for task in TASKS:
        category, reference = category_of(task), references[task.id]
        strict, clinical = (
            category.expected(task, reference, rules) for rules in ("medagentbench", "clinical")
        )
        assert strict.writes == clinical.writes
        if strict.answer.kind != "any":
            assert strict.answer.values == clinical.answer.values


def test_the_reference_solution_passes_both_rule_sets(references: dict[str, Reference]) -> None:
    for task in TASKS:
        attempt = gold_attempt(task, expected(task, references), "original")
        verdicts = grade(task, attempt, references[task.id])
        assert verdicts.medagentbench.passed, task.id
        assert verdicts.clinical.passed, task.id


def test_doing_nothing_is_worth_at_most_15_percent(references: dict[str, Reference]) -> None:
    verdicts = [grade(task, Attempt(task.id, answer="[]"), references[task.id]) for task in TASKS]
    assert sum(verdict.clinical.passed for verdict in verdicts) <= 45


def middle(task: Task, references: dict[str, Reference]) -> Attempt:
    """The category's write at its middle dose, whatever the chart says."""
    sample = next(
        other
        for other in TASKS
        if other.category == task.category and (task.kind == "query" or expected(other, references).writes)
    )
    calls = []
    for write in expected(sample, references).writes:
        body = resource_for(write, "original")
        body["subject"] = {"reference": task.patient.reference if task.patient else ""}
        if isinstance(write, MedicationWrite):
            amounts = body["dosageInstruction"][0]["doseAndRate"][0]
            for quantity in amounts.values():
                quantity["value"] = 2 if write.unit == "g" else 50
        if isinstance(write, VitalWrite):
            body["valueString"] = task.facts.texts["value"]
        if "note" in body:
            body["note"]["text"] = task.facts.texts["note"]
        calls.append(CreateCall(write.resource_type, body))
    return Attempt(task.id, answer="[]", calls=tuple(calls))


def test_acting_always_is_worth_at_most_25_percent(references: dict[str, Reference]) -> None:
    passed = [grade(task, middle(task, references), references[task.id]).clinical.passed for task in TASKS]
    assert sum(passed) == 60  # the two categories that always need their write
    assert sum(passed) <= 75


def test_each_category_has_eight_phrasings_and_terse_ones_among_them() -> None:
    for category in CATEGORIES:
        assert len(set(category.phrases)) >= 8
        words = [len(re.sub(r'"\{\w+\}"', "", phrase).split()) for phrase in category.phrases]
        assert min(words) <= TERSE_WORDS
        own = [task for task in TASKS if task.category == category.traits.id]
        used = Counter(_template(task, category.phrases) for task in own)
        assert len(used) >= 8
        assert max(used.values()) <= 4


def _template(task: Task, phrases: tuple[str, ...]) -> str:
    words = {**task.facts.texts, "mrn": task.patient.mrn if task.patient else ""}
    return next(phrase for phrase in phrases if phrase.format(**words) == task.instruction)


def test_the_phrase_does_not_tell_the_branch(references: dict[str, Reference]) -> None:
    for category in CATEGORIES:
        if category.traits.id in ("task5", "task9", "task10"):
            due = Counter(
                _template(task, category.phrases)
                for task in TASKS
                if task.category == category.traits.id and expected(task, references).writes
            )
            assert len(due) >= 6


def test_no_two_tasks_ask_the_same() -> None:
    asked = {(task.instruction, task.context) for task in TASKS}
    assert len(asked) == 300
    for category in CATEGORIES:
        own = [task for task in TASKS if task.category == category.traits.id and task.patient is not None]
        if category.traits.id != "task1":
            assert len({task.patient for task in own}) == len(own) == 30


def test_the_context_says_all_that_either_rule_set_looks_at(references: dict[str, Reference]) -> None:
    for task in TASKS:
        said = f"{task.instruction} {task.context}"
        assert task.now in said
        for code in task.facts.codes.values():
            assert code in said
        for text in task.facts.texts.values():
            assert text in said
        if task.category != "task1":
            assert task.patient is not None
            assert task.patient.reference in said
        for write in expected(task, references).writes:
            if isinstance(write, MedicationWrite):
                assert f'"{write.route}"' in said
                assert f'"unit": "{write.unit}"' in said


def test_the_words_are_our_own(medagentbench_dir: Any) -> None:
    import json

    original = json.loads((medagentbench_dir / "test_data_v2.json").read_text(encoding="utf-8"))
    grams = {
        tuple(words[i : i + 8])
        for entry in original
        for words in [f"{entry['instruction']} {entry['context']}".split()]
        for i in range(len(words) - 7)
    }
    for task in TASKS:
        words = f"{task.instruction} {task.context}".split()
        assert not any(tuple(words[i : i + 8]) in grams for i in range(len(words) - 7)), task.id
