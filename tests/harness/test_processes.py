"""The program as a process: killed, interrupted, misused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.test_run import ONE_OF_EACH, without_times
from wardround_harness.runs import ATTEMPTS, read_json, read_lines
from wardround_tasks.loading import load_tasks, tasks_document

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def wardround(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The program, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "wardround_harness", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        **more,
    )


@POSIX
@pytest.mark.slow
def test_a_run_killed_twenty_times_ends_as_one_that_was_not(tmp_path: Path) -> None:
    arguments = ["run", "--model", "builtin/oracle", "--concurrency", "4"]
    whole = wardround(*arguments, "-o", str(tmp_path / "whole"))
    assert whole.returncode == 0, whole.stderr
    killed = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.harness.killing",
            "7",
            "20",
            *arguments,
            "-o",
            str(tmp_path / "killed"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert killed.returncode == 0, killed.stderr
    assert json.loads(killed.stdout) == {"hit": 20, "exit": 0}
    first, second = (
        [without_times(line) for line in read_lines(tmp_path / name / ATTEMPTS)]
        for name in ("whole", "killed")
    )
    assert len(first) == 300
    assert first == second
    assert read_json(tmp_path / "whole" / "summary.json") == read_json(tmp_path / "killed" / "summary.json")


@POSIX
def test_an_interrupted_run_says_so_and_resumes(tmp_path: Path) -> None:
    """A program that never ends stands in for a slow model."""
    program = f"command:{sys.executable} -c 'import time; time.sleep(600)' {{mcp_url}}"
    out = tmp_path / "r"
    started = subprocess.Popen(
        [sys.executable, "-m", "wardround_harness", "run", "--model", program, "-o", str(out), "--limit", "5",
         "--concurrency", "2", "--allow-chart-to-provider"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    while len(sleepers(started.pid)) < 2:
        assert started.poll() is None
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == 3
    assert "SIGINT received" in stderr
    assert "Traceback" not in stderr
    assert read_json(out / "summary.json")["ledger"] == {"interrupted": 2, "not_run": 3}
    assert {line["attempt"]["status"] for line in read_lines(out / ATTEMPTS)} == {"interrupted"}


def sleepers(parent: int) -> list[int]:
    """The children of a process."""
    listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--model", "gpt", "-o", "OUT"], "unknown model 'gpt'"),
        (["run", "--model", "builtin/null", "--fhir", "absent.db", "-o", "OUT"], "absent.db"),
        (["run", "--model", "builtin/null", "--tasks", "README.md", "-o", "OUT"], "README.md"),
        (["run", "--model", "builtin/null"], "-o"),
        (["run", "-o", "OUT"], "--model"),
        (["run", "--model", "builtin/null", "--rounds", "0", "-o", "OUT"], "--rounds"),
        (["run", "--model", "builtin/null", "--rounds", "many", "-o", "OUT"], "--rounds"),
        (["run", "--model", "builtin/null", "--temperature", "3", "-o", "OUT"], "--temperature"),
        (
            ["run", "--model", "builtin/null", "--mcp", "http://x/mcp", "--protocol", "text", "-o", "OUT"],
            "--mcp",
        ),
        (["run", "--model", "builtin/null", "--ray-address", "x", "-o", "OUT"], "--executor ray"),
        (["run", "--model", "builtin/null", "--max-cost", "nan", "-o", "OUT"], "--max-cost"),
        (["nonsense"], "nonsense"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = wardround(*[str(tmp_path / "r") if word == "OUT" else word for word in arguments])
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert said in ended.stderr
    assert ended.stdout == ""
    assert not (tmp_path / "r").exists()


def test_an_option_can_be_given_by_the_environment(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "WARDROUND_MODEL": "builtin/null",
        "WARDROUND_LIMIT": "2",
        "WARDROUND_ONLY": "task2",
    }
    ended = wardround("run", "-o", str(tmp_path / "r"), env=environ)
    assert ended.returncode == 0, ended.stderr
    manifest = read_json(tmp_path / "r" / "manifest.json")
    assert (manifest["model"], len(manifest["tasks"]["ids"])) == ("builtin/null", 2)


def test_a_run_folder_is_not_overwritten(tmp_path: Path) -> None:
    run = ["run", "--model", "builtin/null", "--limit", "1", "-o", str(tmp_path / "r")]
    assert wardround(*run).returncode == 0
    again = wardround(*run)
    assert (again.returncode, "--resume" in again.stderr) == (2, True)
    other = wardround(*run, "--resume", "--rounds", "5")
    assert (other.returncode, "rounds is 8 there and 5 here" in other.stderr) == (2, True)
    assert wardround(*run, "--resume").returncode == 0


def test_a_terminal_that_knows_few_letters_gets_what_it_can_show(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ended = wardround(
        "run", "--model", "builtin/null", "--limit", "1", "-o", str(tmp_path / "r"), env=environ
    )
    assert (ended.returncode, "internal error" in ended.stderr) == (0, False)


def test_a_run_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = wardround("run", "--model", "builtin/null", "-o", str(tmp_path / "file"))
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)


def test_the_demo_runs_both_builtins_and_leaves_folders_and_a_report(tmp_path: Path) -> None:
    few = [task for task in load_tasks("bundled").tasks if task.id in ONE_OF_EACH]
    tasks = tmp_path / "few.json"
    tasks.write_text(tasks_document(few))
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "wardround_harness.demo",
            "--runs",
            str(tmp_path / "runs"),
            "--tasks",
            str(tasks),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert read_json(folder / "oracle" / "summary.json")["scores"]["clinical"]["overall"]["rate"] == 1.0
    assert read_json(folder / "null" / "summary.json")["ledger"] == {"completed": 10}
    assert "builtin/null" in (folder / "report.html").read_text()
    heading = next(line for line in ended.stdout.splitlines() if "group" in line)
    assert [name for name in ("builtin/oracle clinical", "builtin/null medagentbench") if name in heading]
    assert "100.0 % (72.2 to 100.0)" in ended.stdout


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys; from wardround_harness.cli import make_parser; make_parser().format_help();"
        "heavy = 'mcp fastapi openai anthropic scipy pydantic httpx jsonschema rich jinja2 orjson'.split();"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
