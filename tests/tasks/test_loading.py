"""Loading task sets and attempts: what is broken is told in one line with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wardround_schemas.errors import UserError
from wardround_schemas.records import check_record
from wardround_tasks.attempt import Attempt
from wardround_tasks.loading import checksum_of, load_attempts, load_tasks, tasks_document
from wardround_tasks.scenes import scenes

TASKS = load_tasks("bundled").tasks


def write(folder: Path, value: Any, name: str = "tasks.json") -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def complaint(spec: str) -> str:
    with pytest.raises(UserError) as caught:
        load_tasks(spec)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_bundled_set_names_itself() -> None:
    bundled = load_tasks("bundled")
    assert (bundled.name, bundled.source, len(bundled.tasks)) == ("bundled", "bundled", 300)
    assert bundled.checksum.startswith("sha256:")


def test_a_file_may_be_a_list_a_document_or_lines(tmp_path: Path) -> None:
    records = [task.to_json() for task in TASKS[:5]]
    forms = (
        records,
        {"tasks": records},
        "\n".join(map(json.dumps, records)),
        tasks_document(TASKS[:5], seed=1),
    )
    loaded = [load_tasks(write(tmp_path, form)) for form in (*forms, json.dumps(records[0]))]
    assert [found.tasks for found in loaded[:4]] == [TASKS[:5]] * 4
    assert {found.checksum for found in loaded[:4]} == {checksum_of(TASKS[:5])}
    assert loaded[4].tasks == TASKS[:1]
    assert {found.source for found in loaded} == {"file"}


def test_the_checksum_is_of_what_the_tasks_say() -> None:
    assert checksum_of(TASKS) != checksum_of(TASKS[::-1])
    assert checksum_of(TASKS) == load_tasks("bundled").checksum


BREAKS: list[tuple[str, Any]] = [
    ("id", None),
    ("id", ""),
    ("category", "task11"),
    ("category", 4),
    ("kind", "action"),
    ("difficulty", "trivial"),
    ("instruction", 5),
    ("now", "2023-11-13"),
    ("now", "2023-02-30T10:00:00Z"),
    ("patient", "S1"),
    ("patient", None),
    ("patient", {"reference": "Patient/S1"}),
    ("patient", {"reference": "S1", "mrn": "S1"}),
    ("facts", []),
    ("facts", {"codes": {"lab": 5}}),
    ("facts", {"codes": {}}),
    ("facts", {"codes": {"lab": "MG"}, "values": {"asks_value": "yes"}}),
    ("solution", "S1"),
]


@pytest.mark.parametrize(("field", "value"), BREAKS, ids=[f"{f}={v}" for f, v in BREAKS])
def test_a_broken_task_is_named_by_file_index_and_field(tmp_path: Path, field: str, value: Any) -> None:
    records = [task.to_json() for task in TASKS if task.category == "task4"][:3]
    records[2][field] = value
    text = complaint(write(tmp_path, records))
    assert "tasks.json" in text
    assert "task 2" in text
    assert field in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("[]", "no tasks"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a": 1}', "no list of tasks"),
        ("7", "no list of tasks"),
        ('{"format": "other/2", "tasks": []}', "other/2"),
        ("[1]", "task 0"),
    ],
)
def test_a_file_that_is_no_task_file_is_refused(tmp_path: Path, content: str, says: str) -> None:
    assert says in complaint(write(tmp_path, content))


def test_a_missing_a_binary_and_a_forbidden_path_are_refused(tmp_path: Path) -> None:
    assert "No such file" in complaint(str(tmp_path / "nowhere.json"))
    assert complaint(str(tmp_path))
    assert complaint("medagentbench:")
    assert complaint("x\x00y")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in complaint(str(tmp_path / "binary"))


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    assert "both have the id" in complaint(write(tmp_path, [TASKS[0].to_json()] * 2))


def test_an_original_file_without_its_prefix_gets_the_mend(tmp_path: Path) -> None:
    entry = {"id": "task2_1", "instruction": "Age?", "context": "x", "eval_MRN": "S1"}
    assert "medagentbench:" in complaint(write(tmp_path, [entry]))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "task12_1"}, "id"),
        ({"id": 5}, "id"),
        ({"eval_MRN": None}, "eval_MRN"),
        ({"context": "no code here"}, "context"),
        ({"context": None}, "context"),
        ({"context": 'At 2023-02-31T10:00:00Z, the code for it is "MG"'}, "context"),
        ({"sol": "S1"}, "sol"),
        ({"id": "task1_1"}, "sol"),
        ({"id": "task3_1"}, "context"),
        ({"id": "task8_1", "context": "The SNOMED code for it is 12345."}, "instruction"),
    ],
)
def test_a_broken_original_entry_is_named(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    entry = {"id": "task4_1", "instruction": "Mg?", "context": 'The code for it is "MG".', "eval_MRN": "S1"}
    good = write(tmp_path, [entry])
    assert load_tasks(f"medagentbench:{good}").tasks[0].facts.codes == {"lab": "MG"}
    text = complaint(f"medagentbench:{write(tmp_path, [entry, {**entry, **change}])}")
    assert "task 1" in text
    assert field in text


@pytest.mark.parametrize(("version", "count"), [("v1", 100), ("v2", 300)])
def test_the_original_files_load_unchanged(medagentbench_dir: Path, version: str, count: int) -> None:
    path = medagentbench_dir / f"test_data_{version}.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    loaded = load_tasks(f"medagentbench:{path}")
    assert loaded.source == "medagentbench"
    assert len(loaded.tasks) == count
    for entry, task in zip(entries, loaded.tasks, strict=True):
        assert (task.id, task.instruction, task.context) == (
            entry["id"],
            entry["instruction"],
            entry["context"],
        )
        assert task.solution == entry.get("sol")
        assert (task.patient.mrn if task.patient else None) == entry.get("eval_MRN")
        assert task.now == "2023-11-13T10:15:00+00:00"
        assert check_record("task", task.to_json()) == []
        assert task.asks_value == (task.category not in ("task5", "task9"))
    by_id = loaded.by_id
    assert by_id["task3_1"].facts.texts["value"] == "118/77 mmHg"
    assert by_id["task8_1"].facts.texts["note"].startswith("Situation: ")
    assert dict(by_id["task9_1"].facts.codes) == {
        "lab": "K",
        "medication": "40032-917-01",
        "medication_system": "http://hl7.org/fhir/sid/ndc",
        "order": "2823-3",
        "order_system": "http://loinc.org",
    }
    assert {task.facts.codes["lab"] for task in loaded.tasks if task.category in ("task4", "task5")} == {"MG"}
    assert {task.facts.codes["lab"] for task in loaded.tasks if task.category in ("task6", "task7")} == {
        "GLU"
    }
    assert by_id["task10_1"].facts.codes["order"] == "4548-4"
    assert by_id["task5_1"].facts.codes["medication"] == "0338-1715-40"
    if version == "v2":
        assert by_id["task1_29"].patient is None
        assert by_id["task1_29"].solution == ["Patient not found"]


# --- attempts ----------------------------------------------------------------------------------------

GOOD = {"task_id": "task4_1", "answer": "[1]", "calls": []}


def attempts_of(folder: Path, *lines: Any) -> list[Attempt]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return load_attempts(write(folder, text, "attempts.jsonl"), load_tasks("bundled"))


def test_attempts_keep_their_order_and_may_repeat(tmp_path: Path) -> None:
    call = {"resource_type": "Observation", "resource": {"a": [None, 1.0]}, "accepted": False}
    second = {**GOOD, "status": "agent_error", "answer": None, "mentions_post": True, "calls": [call]}
    loaded = attempts_of(tmp_path, GOOD, "", second, {**GOOD, "repeat": 3})
    assert [attempt.to_json() for attempt in loaded][1] == second
    assert loaded[0] == loaded[2]
    assert [check_record("attempt", attempt.to_json()) for attempt in loaded] == [[], [], []]


def test_the_lines_of_a_run_are_attempts_too(tmp_path: Path) -> None:
    line = {"task_id": "task4_1", "repeat": 2, "attempt": {**GOOD, "answer": "[7]"}, "verdicts": {}}
    assert attempts_of(tmp_path, line, {**line, "attempt": {"status": "refused"}}) == [
        Attempt("task4_1", answer="[7]"),
        Attempt("task4_1", status="refused"),
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ({**GOOD, "task_id": "task4_31"}, "no task 'task4_31'"),
        ({**GOOD, "task_id": 4}, "task_id"),
        ({"answer": "[1]"}, "task_id is missing"),
        ({**GOOD, "answer": [1]}, "answer"),
        ({**GOOD, "status": 3}, "status"),
        ({**GOOD, "mentions_post": "no"}, "mentions_post"),
        ({**GOOD, "calls": {}}, "calls"),
        ({**GOOD, "calls": [7]}, "calls[0]"),
        ({**GOOD, "calls": [{"resource": {}, "accepted": True}]}, "calls[0].resource_type"),
        ({**GOOD, "calls": [{"resource_type": "X", "accepted": True}]}, "calls[0].resource"),
        ({**GOOD, "calls": [{"resource_type": "X", "resource": {}, "accepted": 1}]}, "calls[0].accepted"),
    ],
)
def test_a_broken_attempt_is_named_by_its_line(tmp_path: Path, line: Any, says: str) -> None:
    with pytest.raises(UserError) as caught:
        attempts_of(tmp_path, GOOD, line, GOOD)
    assert "attempts.jsonl, line 2" in str(caught.value)
    assert says in str(caught.value)


def test_an_attempt_with_a_bottomless_resource_is_read(tmp_path: Path) -> None:
    call = {"resource_type": "X", "accepted": True, "resource": "HERE"}
    bottomless = "[" * 50_000 + "]" * 50_000
    loaded = attempts_of(tmp_path, json.dumps({**GOOD, "calls": [call]}).replace('"HERE"', bottomless), GOOD)
    assert loaded[1].answer == "[1]"
    assert loaded[0].calls[0].resource_type == "X"


def test_scenes_are_tasks_that_load(tmp_path: Path) -> None:
    records = [scene.task.to_json() for scene in scenes()]
    assert len(load_tasks(write(tmp_path, records)).tasks) == len(records)
