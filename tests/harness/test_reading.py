"""Opening run folders: whole, stopped, torn, damaged, of other versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.make_run import RunSpec, make_run
from wardround_harness.reading import distinct_names, read_run, run_folders, task_info
from wardround_schemas.errors import UserError

OLD = Path(__file__).parent / "data" / "run_v1"
SMALL = RunSpec(per_category=1)


def test_a_run_folder_of_format_1_opens_with_its_scores() -> None:
    """A folder as version 0.1.0 wrote it; it stays as it is while the program goes on."""
    run = read_run(OLD)
    assert (run.model, run.protocol, run.repeats, len(run.tasks)) == ("openai/example-large", "native", 2, 10)
    assert run.summary["scores"] == (run.stored_summary or {})["scores"]
    assert run.summary["scores"]["clinical"]["overall"]["passed"] == 11
    assert run.summary["ledger"] == {"completed": 19, "invalid_action": 1}


def test_a_format_of_the_future_is_refused_by_its_number(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=1, manifest={"format_version": 2}))
    with pytest.raises(UserError, match=r"format 2.*reads up to 1"):
        read_run(folder)


def test_a_torn_last_line_is_set_aside_and_its_attempt_is_owed(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", SMALL)
    path = folder / "attempts.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    run = read_run(folder)
    assert run.torn
    assert len(run.lines) == 9
    assert run.summary["ledger"]["not_run"] == 1
    assert "rate_bounds" in run.summary["scores"]["clinical"]["overall"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", SMALL)
    path = folder / "attempts.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:50]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=r"attempts\.jsonl line 4"):
        read_run(folder)


def test_a_folder_without_a_manifest_names_the_runs_below_it(tmp_path: Path) -> None:
    make_run(tmp_path / "first", SMALL)
    with pytest.raises(UserError, match="name one of its runs: first"):
        read_run(tmp_path)
    with pytest.raises(UserError, match="not a folder"):
        read_run(tmp_path / "absent")


def test_both_protocols_under_one_folder_are_two_runs(tmp_path: Path) -> None:
    both = [make_run(tmp_path / name, SMALL) for name in ("native", "text")]
    assert run_folders(tmp_path) == both
    assert run_folders(both[0]) == [both[0]]


def test_owed_lines_that_were_made_up_count_for_cost_alone(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", SMALL)
    first = json.loads((folder / "attempts.jsonl").read_text().splitlines()[0])
    first["attempt"]["status"] = "provider_error"
    first["verdicts"] = None
    (folder / "superseded.jsonl").write_text(json.dumps(first) + "\n")
    summary = read_run(folder).summary
    assert sum(summary["ledger"].values()) == 10
    assert summary["cost_usd"] == pytest.approx(11 * 0.012)


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    runs = [read_run(make_run(tmp_path / name / "native", SMALL)) for name in ("one", "two")]
    assert [run.name for run in distinct_names(runs)] == ["one/native", "two/native"]
    with pytest.raises(UserError, match="given twice"):
        distinct_names([runs[0], runs[0]])


def test_the_category_is_read_from_the_id_or_the_set() -> None:
    assert task_info("task10_4").category == "task10"
    assert task_info("task1_30").kind == "query"
    for wrong in ("task11_1", "x", "task12"):
        with pytest.raises(UserError, match="which category"):
            task_info(wrong)


def test_the_texts_of_bundled_tasks_are_at_hand_and_those_of_a_changed_set_are_not(tmp_path: Path) -> None:
    from wardround_tasks.loading import load_tasks

    bundled = load_tasks("bundled")
    spec = {"spec": "bundled", "name": "bundled", "source": "bundled", "checksum": bundled.checksum}
    ids = {"ids": [f"task{n}_1" for n in range(1, 11)]}
    at_hand = make_run(tmp_path / "a", RunSpec(per_category=1, manifest={"tasks": spec | ids}))
    changed = make_run(
        tmp_path / "b", RunSpec(per_category=1, manifest={"tasks": spec | ids | {"checksum": "x"}})
    )
    assert read_run(at_hand).task_texts["task1_1"].instruction
    assert read_run(changed).task_texts == {}
