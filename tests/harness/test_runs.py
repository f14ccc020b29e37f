"""Run folders: what is on disk stays there, exactly once, whatever happens to the process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wardround_harness.records import encode_line
from wardround_harness.runs import ATTEMPTS, MANIFEST, SUPERSEDED, TORN, RunWriter, read_lines, write_private
from wardround_schemas.errors import UserError

MANIFEST_OF = {"format_version": 1, "model": "fake", "settings": {"temperature": 0.0}, "created_at": "now"}


def line(task: str, status: str = "completed", repeat: int = 0, cost: float | None = 0.5) -> dict[str, Any]:
    """A run line."""
    verdict = {"passed": True, "failures": []}
    return {
        "task_id": task,
        "repeat": repeat,
        "attempt": {"task_id": task, "status": status, "answer": "[]"},
        "cost_usd": cost,
        "verdicts": {"medagentbench": verdict, "clinical": verdict},
    }


def opened(path: Path, *, resume: bool = False, **changed: Any) -> RunWriter:
    """A run folder."""
    return RunWriter.open(path, {**MANIFEST_OF, **changed}, resume=resume)


def test_a_finished_attempt_is_a_line_at_once(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    assert [entry["task_id"] for entry in read_lines(tmp_path / "r" / ATTEMPTS)] == ["task1_1"]
    run.close()


def test_resume_knows_what_is_done_and_what_it_cost(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    run.append(line("task1_2", "provider_error"))
    run.close()
    again = opened(tmp_path / "r", resume=True)
    assert (again.done, again.spent) == ({("task1_1", 0)}, 1.0)
    again.close()


def test_a_scored_task_is_never_written_twice(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    with pytest.raises(ValueError, match="already"):
        run.append(line("task1_1"))
    run.close()


def test_a_folder_with_a_run_is_not_written_to_without_resume(tmp_path: Path) -> None:
    opened(tmp_path / "r").close()
    with pytest.raises(UserError, match="--resume"):
        opened(tmp_path / "r")


def test_resume_of_nothing_starts_a_run(tmp_path: Path) -> None:
    run = opened(tmp_path / "deep" / "r", resume=True)
    assert run.created
    run.close()


def test_resume_refuses_another_run_and_says_in_what_it_differs(tmp_path: Path) -> None:
    opened(tmp_path / "r").close()
    with pytest.raises(UserError) as caught:
        opened(tmp_path / "r", resume=True, settings={"temperature": 0.7}, model="other", created_at="later")
    said = str(caught.value)
    assert 'model is "fake" there and "other" here' in said
    assert "settings.temperature is 0.0 there and 0.7 here" in said
    assert "created_at" not in said


def test_two_processes_never_write_to_one_folder(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    with pytest.raises(UserError, match="in use"):
        opened(tmp_path / "r", resume=True)
    run.close()
    opened(tmp_path / "r", resume=True).close()


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from wardround_harness.runs import RunWriter;"
        f"RunWriter.open(Path(sys.argv[1]), {MANIFEST_OF!r}, resume=False); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "r")], check=False)
    opened(tmp_path / "r", resume=True).close()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_files_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        run = opened(tmp_path / "r")
        run.append(line("task1_1", "provider_error"))
        run.append(line("task1_1"))
        run.settle({("task1_1", 0): 0})
        run.close()
    finally:
        os.umask(old)
    for path in (tmp_path / "r").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o700


def test_a_torn_last_line_is_set_aside(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    run.close()
    path = tmp_path / "r" / ATTEMPTS
    with path.open("ab") as file:
        file.write(b'{"task_id": "task1_2", "attem')
    again = opened(tmp_path / "r", resume=True)
    assert again.done == {("task1_1", 0)}
    again.append(line("task1_2"))
    again.close()
    assert [entry["task_id"] for entry in read_lines(path)] == ["task1_1", "task1_2"]
    assert (tmp_path / "r" / TORN).read_bytes() == b'{"task_id": "task1_2", "attem\n'


def test_every_cut_of_the_last_line_leaves_the_others_and_a_file_to_append_to(tmp_path: Path) -> None:
    whole = encode_line(line("task1_1")) + encode_line(line("task1_2"))
    first = len(encode_line(line("task1_1")))
    for cut in range(first, len(whole) + 1):
        folder = tmp_path / f"r{cut}"
        opened(folder).close()
        (folder / ATTEMPTS).write_bytes(whole[:cut])
        again = opened(folder, resume=True)
        done_second = cut >= len(whole) - 1
        assert again.done == ({("task1_1", 0), ("task1_2", 0)} if done_second else {("task1_1", 0)})
        again.append(line("task1_3"))
        again.close()
        expected = ["task1_1", "task1_2", "task1_3"] if done_second else ["task1_1", "task1_3"]
        assert [entry["task_id"] for entry in read_lines(folder / ATTEMPTS)] == expected


def test_a_broken_line_in_the_middle_is_named_not_passed_over(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    run.close()
    path = tmp_path / "r" / ATTEMPTS
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(UserError, match="line 1"):
        opened(tmp_path / "r", resume=True)


@pytest.mark.parametrize(
    "text",
    ["[]", "7", "{}", '{"task_id": 1}', '{"task_id": "t", "repeat": "x"}', '{"task_id": "t", "attempt": 1}'],
)
def test_json_that_is_no_line_of_a_run_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / ATTEMPTS
    path.write_text(text + "\n")
    with pytest.raises(UserError, match="line 1 is not a line of a run"):
        list(read_lines(path))


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    before = (tmp_path / "r" / ATTEMPTS).read_bytes()
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: len(data) // 2]))
    with pytest.raises(UserError, match="can't be written") as caught:
        run.append(line("task1_2"))
    monkeypatch.undo()
    assert caught.value.exit_code == 3
    assert (tmp_path / "r" / ATTEMPTS).read_bytes() == before
    run.append(line("task1_2"))
    run.close()


def test_settling_orders_lines_and_moves_made_up_ones_aside(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_2", "provider_error", cost=0.25))
    run.append(line("task1_3"))
    run.append(line("task1_2"))
    run.append(line("task1_1", "interrupted"))
    order = {("task1_1", 0): 0, ("task1_2", 0): 1, ("task1_3", 0): 2}
    run.settle(order)
    kept = [(entry["task_id"], entry["attempt"]["status"]) for entry in read_lines(tmp_path / "r" / ATTEMPTS)]
    assert kept == [("task1_1", "interrupted"), ("task1_2", "completed"), ("task1_3", "completed")]
    aside = [(entry["task_id"], entry["cost_usd"]) for entry in read_lines(tmp_path / "r" / SUPERSEDED)]
    assert aside == [("task1_2", 0.25)]
    run.append(line("task1_1"))
    run.settle(order)
    assert len(list(read_lines(tmp_path / "r" / ATTEMPTS))) == 3
    assert len(list(read_lines(tmp_path / "r" / SUPERSEDED))) == 2
    run.close()


def test_a_kill_between_the_two_files_of_settling_doubles_nothing(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1", "provider_error"))
    run.append(line("task1_1"))
    before = (tmp_path / "r" / ATTEMPTS).read_bytes()
    run.settle({("task1_1", 0): 0})
    run.close()
    write_private(tmp_path / "r" / ATTEMPTS, before)
    again = opened(tmp_path / "r", resume=True)
    again.settle({("task1_1", 0): 0})
    assert len(list(read_lines(tmp_path / "r" / SUPERSEDED))) == 1
    again.close()


def test_a_new_folder_with_nothing_in_it_is_taken_back(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.discard()
    assert not (tmp_path / "r").exists()


def test_a_folder_with_results_is_not_taken_back(tmp_path: Path) -> None:
    run = opened(tmp_path / "r")
    run.append(line("task1_1"))
    run.discard()
    assert (tmp_path / "r" / MANIFEST).exists()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    write_private(path, b"old")

    def fails(descriptor: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        write_private(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
