"""`wardround grade` and `wardround tasks` as a user meets them."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from wardround_harness.cli import dispatch
from wardround_schemas.options import run_program
from wardround_schemas.records import check_record
from wardround_tasks.loading import load_tasks

from .cases import MRN
from .charts import observation, patient


def run(*arguments: str) -> int:
    """The exit code, with errors turned into lines as the program does."""
    return run_program(lambda: dispatch(list(arguments)))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def chart(tmp_path: Path) -> str:
    """A small chart of loose resources, as a file for --fhir."""
    path = tmp_path / "chart.ndjson"
    resources = [
        {**patient(MRN), "id": MRN},
        {**observation(MRN, "MG", 1.2, "2023-11-13T04:00:00+00:00"), "id": "o1"},
        {**observation(MRN, "MG", 2.2, "2023-11-13T20:00:00+00:00"), "id": "o2"},
    ]
    path.write_text("\n".join(map(json.dumps, resources)), encoding="utf-8")
    return str(path)


@pytest.fixture
def originals(tmp_path: Path) -> str:
    """Two tasks in the original's format."""
    path = tmp_path / "original.json"
    context = 'At 2023-11-13T10:15:00+00:00, the code for it is "MG".'
    entries = [
        {"id": f"task4_{number}", "instruction": "Mg?", "context": context, "eval_MRN": MRN}
        for number in (1, 2)
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
    return f"medagentbench:{path}"


def attempts(folder: Path, *records: Any) -> str:
    path = folder / "attempts.jsonl"
    path.write_text(
        "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records)
    )
    return str(path)


def test_grade_writes_one_verdict_line_an_attempt_in_order(
    tmp_path: Path, chart: str, originals: str
) -> None:
    out = tmp_path / "verdicts.jsonl"
    made = attempts(
        tmp_path,
        {"task_id": "task4_2", "answer": "[2.2]"},
        {"task_id": "task4_1", "answer": "[1.2]"},
        {"task_id": "task4_2", "answer": None, "status": "budget_exhausted", "calls": []},
        {"task_id": "task4_2", "answer": "[2.2]", "mentions_post": True, "extra": 1},
    )
    assert run("grade", made, "--tasks", originals, "--fhir", chart, "-o", str(out)) == 0
    found = lines(out)
    assert [line["task_id"] for line in found] == ["task4_2", "task4_1", "task4_2", "task4_2"]
    assert [(line["medagentbench"]["passed"], line["clinical"]["passed"]) for line in found] == [
        (True, False),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert [check_record("verdict", line) for line in found] == [[]] * 4
    assert found[2]["clinical"]["failures"][0]["code"] == "budget_exhausted"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_grade_writes_nothing_where_one_attempt_is_broken(
    tmp_path: Path, chart: str, originals: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "verdicts.jsonl"
    out.write_text("what was there before\n")
    made = attempts(
        tmp_path, {"task_id": "task4_1", "answer": "[1.2]"}, {"task_id": "task5_1", "answer": "[]"}
    )
    assert run("grade", made, "--tasks", originals, "--fhir", chart, "-o", str(out)) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "line 2" in errors
    assert "task5_1" in errors
    assert out.read_text() == "what was there before\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_grade_says_where_it_cannot_write_or_read(
    tmp_path: Path, chart: str, originals: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = attempts(tmp_path, {"task_id": "task4_1", "answer": "[1.2]"})
    nowhere = str(tmp_path / "no" / "such" / "folder" / "v.jsonl")
    assert run("grade", made, "--tasks", originals, "--fhir", chart, "-o", nowhere) == 2
    assert run("grade", str(tmp_path / "none"), "--tasks", originals, "--fhir", chart, "-o", "x.jsonl") == 2
    assert run("grade", made, "--tasks", "nowhere.json", "--fhir", chart, "-o", "x.jsonl") == 2
    assert run("grade", made, "--tasks", originals, "--fhir", str(tmp_path / "none"), "-o", "x.jsonl") == 2
    assert capsys.readouterr().err.count("\n") == 4
    assert not Path("x.jsonl").exists()


def test_grade_says_when_the_chart_is_of_other_people(
    tmp_path: Path, originals: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "verdicts.jsonl"
    made = attempts(tmp_path, {"task_id": "task4_1", "answer": "[-1]"})
    assert run("grade", made, "--tasks", originals, "--fhir", "embedded", "-o", str(out)) == 0
    assert f"({MRN}, ...)" in capsys.readouterr().err
    assert len(lines(out)) == 1


def test_grade_of_no_attempts_is_an_empty_file(tmp_path: Path, chart: str, originals: str) -> None:
    out = tmp_path / "verdicts.jsonl"
    assert run("grade", attempts(tmp_path), "--tasks", originals, "--fhir", chart, "-o", str(out)) == 0
    assert out.read_text() == ""


def test_hostile_attempts_of_a_file_get_verdicts(tmp_path: Path, chart: str, originals: str) -> None:
    out = tmp_path / "verdicts.jsonl"
    call = {"resource_type": "X", "accepted": True, "resource": "HERE"}
    holding = json.dumps({"task_id": "task4_1", "answer": "[1]", "calls": [call]})
    made = attempts(
        tmp_path,
        holding.replace('"HERE"', "[" * 9999 + "]" * 9999),
        {"task_id": "task4_1", "answer": "\ud800[1.2"},
        {"task_id": "task4_1", "answer": "[" * 100_000},
        holding.replace('"HERE"', "NaN"),
        holding.replace('"HERE"', "9" * 5000),
    )
    assert run("grade", made, "--tasks", originals, "--fhir", chart, "-o", str(out)) == 0
    found = lines(out)
    assert len(found) == 5
    assert not any(line["clinical"]["passed"] or line["medagentbench"]["passed"] for line in found)


def test_list_and_show_speak_of_the_bundled_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tasks", "list") == 0
    assert len(capsys.readouterr().out.splitlines()) == 300
    assert run("tasks", "show", "task5_3") == 0
    shown = capsys.readouterr().out
    task = load_tasks("bundled").by_id["task5_3"]
    assert task.instruction in shown
    assert task.context in shown
    assert run("tasks", "show", "task5_3", "--json") == 0
    assert json.loads(capsys.readouterr().out) == task.to_json()
    assert run("tasks", "show", "task5_99") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_generate_and_check_make_and_prove_a_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for path in (first, second):
        assert run("tasks", "generate", "--fhir", "embedded", "--seed", "5", "-o", str(path)) == 0
    assert first.read_text() == second.read_text()
    assert len(load_tasks(str(first)).tasks) == 300
    document = json.loads(first.read_text())
    document["tasks"] = document["tasks"][::15]
    second.write_text(json.dumps(document))
    capsys.readouterr()
    assert run("tasks", "check", str(second), "--fhir", "embedded") == 0
    assert "20 of 20" in capsys.readouterr().out
    document["tasks"][0]["solution"] = ["S0000000"]
    second.write_text(json.dumps(document))
    assert run("tasks", "check", str(second), "--fhir", "embedded") == 1
    shown = capsys.readouterr().out
    assert "second computation" in shown
    assert "the oracle fails under clinical" in shown


def test_generate_tells_what_the_data_lack(
    tmp_path: Path, chart: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "few.json"
    codes = tmp_path / "codes.json"
    codes.write_text('{"K": "MG"}')
    assert (
        run("tasks", "generate", "--fhir", chart, "--seed", "1", "--codes", str(codes), "-o", str(out)) == 0
    )
    errors = capsys.readouterr().err
    assert "task5 severe: 0 of 5" in errors
    assert run("tasks", "check", str(out), "--fhir", chart) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("tasks",),
        ("tasks", "generate", "-o", "x.json"),
        ("tasks", "generate", "--seed", "x", "-o", "x.json"),
        ("tasks", "generate", "--seed", "1", "--now", "yesterday", "-o", "x.json"),
        ("tasks", "generate", "--seed", "1", "--codes", "nowhere.json", "-o", "x.json"),
        ("tasks", "check", "nowhere.json"),
        ("tasks", "list", "--tasks", "nowhere.json"),
        ("grade", "nowhere.jsonl"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("x.json").exists()


def test_certify_prints_its_tables_and_that_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tasks", "certify") == 0
    shown = capsys.readouterr().out
    assert shown.rstrip().endswith("The certificate holds.")
    assert "| task5: Magnesium replacement |" in shown
    assert run("tasks", "certify", "--markdown") == 0


def test_the_commands_are_registered_without_heavy_imports() -> None:
    import subprocess

    code = (
        "import sys; from wardround_harness.cli import make_parser; make_parser(); print(sorted(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("wardround_tasks", "wardround_server.backends", "jsonschema", "scipy"):
        assert f"'{heavy}'" not in loaded
