"""`wardround-mcp chart build | load | info`, as a person at a terminal meets them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.server.test_cohort_build import SMALL_CHECKSUM
from wardround_server import cli
from wardround_server.chart.build import build_chart
from wardround_server.chart.cohort import DEFAULT_SEED, make_frames, patient_records


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `wardround-mcp chart ...` in this process."""
    monkeypatch.setattr(sys, "argv", ["wardround-mcp"])

    def run_chart(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = cli.main(["chart", *map(str, arguments)])
        return Outcome(code, *capsys.readouterr())

    return run_chart


@pytest.fixture(scope="module")
def small_chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("charts") / "small.db"
    build_chart(path)
    return path


@pytest.fixture
def resources(tmp_path: Path) -> Path:
    """A folder with the records of the first patient, in two files, one of them packed."""
    first = next(iter(make_frames(DEFAULT_SEED)))
    records = [record.encode() for record in patient_records(first, "small")]
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "a.ndjson").write_bytes(b"\n".join(records[:40]) + b"\n")
    (folder / "b.ndjson.gz").write_bytes(gzip.compress(b"\n".join(records[40:])))
    return folder


def one_line(text: str) -> bool:
    return text.endswith("\n") and text.count("\n") == 1 and "Traceback" not in text


def test_build_writes_the_pinned_chart_and_shows_what_it_holds(run: Run, tmp_path: Path) -> None:
    done = run("build", "-o", tmp_path / "a.db")
    assert done.code == 0
    assert SMALL_CHECKSUM in done.out
    assert "synthetic" in done.out
    assert "Observation" in done.out
    assert "building: 100 of 100 patients (100 %)" in done.err


def test_build_in_json_is_one_object(run: Run, tmp_path: Path) -> None:
    done = run("build", "--output", tmp_path / "a.db", "--seed", "5", "--json")
    facts = json.loads(done.out)
    assert facts["seed"] == 5
    assert facts["patients"] == 100
    assert facts["synthetic"] is True
    assert facts["checksum"] != SMALL_CHECKSUM
    assert facts["resources"] == sum(facts["counts"].values())


def test_options_come_from_the_environment_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_SEED", "6")
    assert json.loads(run("build", "-o", tmp_path / "a.db", "--json").out)["seed"] == 6
    monkeypatch.setenv("WARDROUND_SEED", "six")
    done = run("build", "-o", tmp_path / "a.db")
    assert done.code == 2
    assert "WARDROUND_SEED" in done.err
    assert one_line(done.err)


def test_building_again_takes_the_place_of_a_chart(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert run("build", "-o", path, "--seed", "1").code == 0
    assert run("build", "-o", path).code == 0
    assert SMALL_CHECKSUM in run("info", path).out


@pytest.mark.parametrize("content", [b"", b"my thesis", b"SQLite format 3\0" + bytes(100)])
@pytest.mark.parametrize("command", ["build", "load"])
def test_a_file_that_is_no_chart_is_never_written_over(
    run: Run, tmp_path: Path, resources: Path, command: str, content: bytes
) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    done = run(command, *([resources] if command == "load" else []), "-o", path)
    assert done.code == 2
    assert "is not a chart" in done.err
    assert one_line(done.err)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build"], "-o"),
        (["build", "-o", "{tmp}"], "is a folder"),
        (["build", "-o", "{tmp}/no/such/folder/a.db"], "can't write a chart"),
        (["build", "-o", "{tmp}/a.db", "--scale", "huge"], "--scale"),
        (["build", "-o", "{tmp}/a.db", "--seed", "x"], "not a whole number"),
        (["build", "-o", "{tmp}/a.db", "--seed", "-1"], "--seed"),
        (["info", "{tmp}/missing.db"], "no chart at"),
        (["info", "{tmp}"], "no chart at"),
        (["load", "{tmp}/missing", "-o", "{tmp}/a.db"], "missing"),
        (["load", "-o", "{tmp}/a.db"], "PATH"),
        ([], "COMMAND"),
        (["burn"], "burn"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing_behind(
    run: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = run(*(part.replace("{tmp}", str(tmp_path)) for part in arguments))
    assert done.code == 2
    assert said in done.err
    assert one_line(done.err)
    assert not list(tmp_path.iterdir())


def test_info_tells_counts_span_size_and_checksum(run: Run, small_chart: Path) -> None:
    done = run("info", small_chart)
    assert done.code == 0
    assert done.err == ""
    facts = json.loads(run("info", small_chart, "--json").out)
    assert facts["checksum"] == SMALL_CHECKSUM
    assert facts["size"] == small_chart.stat().st_size
    assert facts["first"].startswith("2018-11")
    assert facts["last"].startswith("2023-11-13T10:")
    assert facts["last"].endswith("+00:00")
    assert set(facts["counts"]) == {"Condition", "MedicationRequest", "Observation", "Patient", "Procedure"}
    for value in (SMALL_CHECKSUM, facts["first"], facts["last"], f"{facts['counts']['Observation']:,}"):
        assert value in done.out


def test_info_does_not_change_the_chart(run: Run, small_chart: Path) -> None:
    before = small_chart.read_bytes()
    run("info", small_chart)
    assert small_chart.read_bytes() == before
    assert [item.name for item in small_chart.parent.iterdir()] == [small_chart.name]


def test_info_of_something_else_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("not a chart")
    done = run("info", path)
    assert done.code == 2
    assert "is not a chart" in done.err
    assert one_line(done.err)


def test_load_reads_a_folder_and_says_what_it_did(run: Run, tmp_path: Path, resources: Path) -> None:
    done = run("load", resources, "-o", tmp_path / "a.db")
    assert done.code == 0
    assert "2 files read" in done.out
    assert "0 left out" in done.out
    assert "not marked as synthetic" in done.out
    facts = json.loads(run("info", tmp_path / "a.db", "--json").out)
    assert facts["patients"] == 1
    assert facts["synthetic"] is False


def test_loading_again_replaces_and_never_doubles(run: Run, tmp_path: Path, resources: Path) -> None:
    first = json.loads(run("load", resources, "-o", tmp_path / "a.db", "--json").out)
    second = json.loads(run("load", resources, "-o", tmp_path / "a.db", "--json").out)
    assert second["resources"] == first["resources"] == first["load"]["added"]
    assert second["checksum"] == first["checksum"]
    assert second["load"]["unchanged"] == first["resources"]


def test_load_names_what_it_left_out_with_file_and_line(run: Run, tmp_path: Path, resources: Path) -> None:
    bad = resources / "c.ndjson"
    bad.write_text('{"resourceType":"Patient","id":"P1"}\nnot json\n{"resourceType":"Patient","id":"P2"}\n')
    done = run("load", resources, "-o", tmp_path / "a.db")
    assert done.code == 0
    assert "1 lines or entries could not be read" in done.err
    assert "c.ndjson" in done.err
    assert "2" in next(line for line in done.err.splitlines() if "c.ndjson" in line)
    assert "1 left out" in done.out
    assert json.loads(run("info", tmp_path / "a.db", "--json").out)["patients"] == 3


def test_load_names_only_the_first_of_many_faults_and_counts_the_rest(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text('{"resourceType":"Patient","id":"P1"}\n' + "junk\n" * 500)
    done = run("load", path, "-o", tmp_path / "a.db")
    assert done.code == 0
    assert len(done.err.splitlines()) < 40
    assert "500 lines or entries" in done.err
    assert "480 of them not named here" in done.err


def test_a_load_without_one_good_resource_makes_no_chart(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text("junk\n")
    done = run("load", path, "-o", tmp_path / "a.db")
    assert done.code == 2
    assert not (tmp_path / "a.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_an_interrupted_build_exits_3_and_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from wardround_server import cli\n"
        "from wardround_server.chart import build\n"
        "def stop(frames=build.make_frames):\n"
        "    def later(seed):\n"
        "        for place, frame in enumerate(frames(seed)):\n"
        "            if place == 30: os.kill(os.getpid(), signal.SIGINT)\n"
        "            yield frame\n"
        "    return later\n"
        "build.make_frames = stop()\n"
        "sys.argv = ['wardround-mcp']\n"
        "sys.exit(cli.main(['chart', 'build', '-o', 'a.db']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "wardround-mcp: interrupted"
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_output_closed_by_its_reader_is_no_error(tmp_path: Path, small_chart: Path) -> None:
    command = f'"{sys.executable}" -m wardround_server.cli chart info "{small_chart}" | head -1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("chart")
    assert done.stderr == ""
