"""Fresh sets from any chart: the same for the same seed and data, balanced where the data allow, honest
where they don't."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends import open_backend
from wardround_tasks.check import check_tasks
from wardround_tasks.choosing import mixed, pick, rank
from wardround_tasks.generate import Generated, branch_counts, generate_tasks, generated_document
from wardround_tasks.grading import category_of, read_reference
from wardround_tasks.loading import load_tasks
from wardround_tasks.survey import CodeMap

from .charts import FakeChart, observation, patient

START = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)
LOINC = "http://loinc.org"


def foreign_chart(patients: int = 60, unit: str = "mg/dL") -> list[dict[str, Any]]:
    """A chart of another house: other codes, other years, record numbers that are not the ids."""
    resources: list[dict[str, Any]] = []
    for number in range(patients):
        person = patient(
            f"p{number}", f"19{30 + number % 60}-0{1 + number % 9}-1{number % 9}", f"Given{number}", "Fam"
        )
        person["identifier"] = [
            {"value": f"X{number}"},
            {"type": {"coding": [{"code": "MR"}]}, "value": f"MRN-{number:04d}"},
        ]
        resources.append(person)
        for step in range(number % 5):
            when = (START - timedelta(days=40 * step + number, hours=number % 7)).isoformat()
            who = f"p{number}"
            resources.append(
                observation(who, "2601-3", round(0.7 + (number * 3 + step) % 20 / 10, 1), when, unit)
            )
            resources.append(
                observation(who, "2823-3", round(2.6 + (number * 7 + step) % 28 / 10, 1), when, "mmol/L")
            )
            resources.append(observation(who, "41653-7", 70 + number * 3 + step, when))
            old = (START - timedelta(days=300 * step + 3 * number)).isoformat()
            resources.append(observation(who, "4548-4", 5.5 + step, old, "%"))
    return resources


CODES = CodeMap.from_json({"MG": "2601-3", "K": "2823-3", "GLU": "41653-7", "A1C": "4548-4"}, "codes.json")


def make(
    resources: list[dict[str, Any]], seed: int = 1, codes: CodeMap | None = CODES, **more: Any
) -> Generated:
    return asyncio.run(generate_tasks(FakeChart(resources, page_size=50), seed, codes, **more))


def test_the_same_seed_and_data_give_the_same_tasks_in_whatever_order_the_server_lists_them() -> None:
    chart = foreign_chart()
    first = make(chart)
    assert make(chart) == first
    assert make(chart[::-1]).tasks == first.tasks
    assert make(chart, seed=2).tasks != first.tasks


def test_a_foreign_chart_supplies_solvable_tasks_set_at_moments_of_their_own() -> None:
    chart = foreign_chart()
    made = make(chart)
    assert len({task.now for task in made.tasks}) > 10
    findings = asyncio.run(check_tasks(made.tasks, SortingChart(chart, page_size=50)))
    assert findings == []
    assert all(task.patient is None or task.patient.mrn.startswith("MRN-") for task in made.tasks)


def test_from_a_foreign_chart_half_of_the_decisions_still_need_the_write() -> None:
    chart = foreign_chart(100)
    made = make(chart)

    async def due(category: str) -> Counter[bool]:
        reader = FakeChart(chart, page_size=50)
        counts: Counter[bool] = Counter()
        for task in made.tasks:
            if task.category == category:
                expected = category_of(task).expected(task, await read_reference(task, reader), "clinical")
                counts[bool(expected.writes)] += 1
        return counts

    for category in ("task5", "task9", "task10"):
        assert asyncio.run(due(category)) == {True: 15, False: 15}, category


def test_the_code_map_reaches_the_text_and_the_facts() -> None:
    codes = CodeMap.from_json(
        {"MG": f"{LOINC}|2601-3", "BP": "BP-CUFF", "magnesium_ndc": "1-2-3", "referral_snomed": "99"},
        "codes.json",
    )
    made = make(foreign_chart(), codes=codes)
    by_category = {task.category: task for task in made.tasks}
    assert by_category["task4"].facts.codes["lab"] == f"{LOINC}|2601-3"
    assert "code 2601-3 of system http://loinc.org" in by_category["task4"].context
    assert by_category["task3"].facts.codes["flowsheet"] == "BP-CUFF"
    assert "1-2-3" in by_category["task5"].context
    assert by_category["task8"].facts.codes["order"] == "99"


@pytest.mark.parametrize("record", [[], {"XX": "1"}, {"MG": 5}, {"MG": " "}, {"labs": "1"}])
def test_a_broken_code_map_is_refused_in_one_line(record: Any) -> None:
    with pytest.raises(UserError, match=r"codes\.json"):
        CodeMap.from_json(record, "codes.json")


def test_what_the_chart_cannot_supply_is_told_branch_by_branch() -> None:
    chart = [resource for resource in foreign_chart() if resource.get("code", {}).get("text") != "2601-3"]
    made = make(chart)
    lacking = {(short.category, short.branch): short.supplied for short in made.shortages}
    assert lacking["task5", "severe"] == 0
    counts = branch_counts(made.tasks)
    assert set(counts["task4"]) == {"never"}
    assert json.loads(generated_document(made, 1))["lacking"][0]["supplied"] < 30


def test_results_that_two_readers_could_take_differently_make_no_tasks() -> None:
    assert not any(
        task.category == "task5" and not task.branch.startswith("never")
        for task in make(foreign_chart(unit="mmol/L")).tasks
    )
    chart = foreign_chart(30)
    for resource in chart:
        if resource["resourceType"] == "Observation":
            resource["status"] = "entered-in-error"
    assert {task.branch for task in make(chart).tasks if task.category == "task7"} == {"never"}


def test_a_namesake_is_only_asked_for_where_the_birth_date_tells() -> None:
    twins = [patient("a1", "1950-01-01", "Ada", "Ash"), patient("a2", "1950-01-01", "Ada", "Ash")]
    apart = [patient("b1", "1950-01-01", "Bo", "Birch"), patient("b2", "1951-01-01", "Bo", "Birch")]
    tasks = [
        task for task in make([*twins, *apart]).tasks if task.category == "task1" and task.patient is not None
    ]
    assert {task.patient.mrn for task in tasks if task.patient} == {"b1", "b2"}
    assert {task.branch for task in tasks} == {"found/namesake"}


def test_a_name_that_the_servers_search_does_not_tell_apart_is_not_asked_for() -> None:
    longer = [patient("a1", "1950-01-01", "Ann", "Lee"), patient("a2", "1950-01-01", "Anna", "Leeds")]
    tasks = [task for task in make(longer).tasks if task.category == "task1" and task.patient is not None]
    assert {task.patient.mrn for task in tasks if task.patient} == {"a2"}


def test_a_chart_without_patients_is_told_so() -> None:
    with pytest.raises(UserError, match="no patient"):
        make([])


def test_a_chart_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ChartError):
        asyncio.run(generate_tasks(FakeChart(foreign_chart(), broken=True), 1))
    task = load_tasks("bundled").by_id["task4_1"]
    with pytest.raises(ChartError):
        asyncio.run(read_reference(task, FakeChart([], broken=True)))
    with pytest.raises(ChartError):
        asyncio.run(check_tasks([task], FakeChart([], broken=True)))


@pytest.mark.parametrize("seed", [11, 12])
def test_the_embedded_chart_supplies_every_branch_for_any_seed(seed: int) -> None:
    async def run() -> None:
        chart = await open_backend("embedded")
        try:
            made = await generate_tasks(chart, seed)
            assert len(made.tasks) == 300
            assert made.shortages == ()
            assert await check_tasks(made.tasks, chart) == []
        finally:
            await chart.aclose()

    asyncio.run(run())


def test_choices_are_fixed_by_seed_and_name_alone() -> None:
    items = [f"item{number}" for number in range(50)]
    assert mixed(items, str, 1) == mixed(items[::-1], str, 1) != mixed(items, str, 2)
    assert rank(1, "a") == 13771330872463629691
    assert pick(items, 1, "x") == pick(items, 1, "x")


class SortingChart(FakeChart):
    """A fake that also understands what the second computation asks of a server."""

    def _matches(self, resource: dict[str, Any], wanted: dict[str, str]) -> bool:
        if "_id" in wanted and resource["id"] != wanted["_id"]:
            return False
        if "birthdate" in wanted and resource.get("birthDate") != wanted["birthdate"]:
            return False
        return super()._matches(resource, {k: v for k, v in wanted.items() if k != "birthdate"})

    async def search(self, resource_type: str, params: Any) -> Any:
        limits = [value for name, value in params if name == "date"]
        wanted = dict(params)
        found = [
            resource
            for resource in self.resources
            if resource["resourceType"] == resource_type
            and self._matches(resource, wanted)
            and all(_within(resource, limit) for limit in limits)
        ]
        if "_sort" in wanted:
            found.sort(key=_time, reverse=wanted["_sort"].startswith("-"))
        self.page_size = int(wanted.get("_count", "50"))
        return self._page(found, 0)


def _time(resource: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(resource["effectiveDateTime"])


def _within(resource: dict[str, Any], limit: str) -> bool:
    bound = datetime.fromisoformat(limit[2:])
    return _time(resource) >= bound if limit.startswith("ge") else _time(resource) <= bound
