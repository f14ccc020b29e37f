"""Building the synthetic chart file, and the embedded one in the user's cache."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from tests.server.cohort_data import small_cohort
from wardround_schemas.errors import UserError
from wardround_server.chart import build
from wardround_server.chart.build import build_chart, cache_folder, embedded_chart_name, ensure_embedded_chart
from wardround_server.chart.cohort import make_frames
from wardround_server.chart.params import SEARCHED_TYPES
from wardround_server.chart.schema import columns_of, layout
from wardround_server.chart.store import Chart
from wardround_server.chart.writer import ChartWriter, digest_of, train_dictionary

TEXT_COLUMNS = {"text": "param, folded, exact", "span": "param, low, high, off, off2"}
SMALL_CHECKSUM = "0c6d07b7f654311ff744b8c8e78c88318b842817be7fd81e40a264829bef57c2"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an empty folder for temporary files."""
    monkeypatch.setenv("WARDROUND_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "cache"


@pytest.fixture
def no_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that nobody can make, not even root: a file stands where its parent would."""
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    monkeypatch.setenv("WARDROUND_CACHE_DIR", str(blocker / "cache"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first patients, where a test is about files and not about what is in them."""
    monkeypatch.setattr(build, "make_frames", lambda seed: make_frames(seed)[:12])


class Built(NamedTuple):
    """The small chart, built once for this module, and what the building told."""

    path: Path
    counts: dict[str, int]
    steps: list[tuple[int, int]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    path, steps = tmp_path_factory.mktemp("built") / "small.db", list[tuple[int, int]]()
    counts = build_chart(path, progress=lambda done, total: steps.append((done, total)))
    return Built(path, counts, steps)


def is_whole(path: Path) -> bool:
    """Whether a chart can be read to its end and holds what its checksum says."""
    with Chart(path) as chart:
        total = 0
        for kind, name, body in chart.fetch(
            "SELECT t.name, r.id, r.body FROM resource r JOIN resource_type t ON t.key = r.type"
        ):
            total += digest_of(kind, name, chart.body(body))
        return chart.checksum == f"{total % 2**256:064x}" and chart.counts.get("Patient", 0) > 1


def test_the_small_chart_has_the_pinned_checksum(built: Built) -> None:
    with Chart(built.path) as chart:
        assert chart.checksum == SMALL_CHECKSUM
        assert chart.counts == built.counts
        assert chart.meta["synthetic"] == 1
        assert chart.meta["scale"] == "small"
    assert sum(built.counts.values()) == len(small_cohort())
    assert is_whole(built.path)


def test_the_chart_gives_back_the_cohorts_bytes(built: Built) -> None:
    with Chart(built.path) as chart:
        for resource in small_cohort()[::97]:
            stored = chart.read(resource["resourceType"], resource["id"])
            assert stored is not None
            assert orjson.loads(stored) == resource


def test_progress_counts_the_patients(built: Built) -> None:
    assert built.steps == [(done, 100) for done in range(1, 101)]


def test_another_seed_gives_another_chart(tmp_path: Path) -> None:
    build_chart(tmp_path / "b.db", seed=7)
    with Chart(tmp_path / "b.db") as chart:
        assert chart.checksum != SMALL_CHECKSUM
        assert chart.meta["seed"] == 7


@pytest.mark.usefixtures("few")
def test_an_interrupted_build_leaves_the_older_chart_and_nothing_else(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    path = tmp_path / "a.db"
    build_chart(path)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        build_chart(path, seed=2, progress=interrupt)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["a.db"]


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a search can see in a chart: every row, its sets of values written out, by resource."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    with Chart(path) as chart:
        names = {seq: (kind, name) for seq, kind, name in chart.fetch("SELECT seq, type, id FROM resource")}
        sets: dict[str, dict[int, tuple[Any, ...]]] = {}
        for table in ("token", "reference"):
            rows: dict[int, list[Any]] = {}
            for key, *values in chart.fetch(f"SELECT * FROM {table} ORDER BY rowid"):
                rows.setdefault(key, []).append(tuple(values))
            sets[table] = {key: tuple(values) for key, values in rows.items()}
        for resource_type in SEARCHED_TYPES:
            shape = layout(resource_type)
            tables = {
                columns[-1]: "reference" if param.kind == "reference" else "token"
                for param in shape.params.values()
                if (columns := columns_of(param)) and param.kind != "date"
            }
            found[resource_type] = [
                (
                    names[seq],
                    *(
                        sets[tables[column]].get(value) if column in tables else value
                        for column, value in zip(shape.columns, values, strict=True)
                    ),
                )
                for seq, *values in chart.fetch(f"SELECT * FROM {shape.table} ORDER BY seq")
            ]
        for table in ("text", "span"):
            found[table] = sorted(
                (*values, names[seq])
                for seq, *values in chart.fetch(f"SELECT seq, {TEXT_COLUMNS[table]} FROM {table}")
            )
        found["type"] = sorted(chart.fetch("SELECT key, name FROM resource_type"))
    return found


def test_two_processes_make_the_chart_that_one_makes(built: Built, tmp_path: Path) -> None:
    two = tmp_path / "two.db"
    steps: list[int] = []
    counts = build_chart(two, processes=2, progress=lambda done, _: steps.append(done))
    assert counts == built.counts
    assert is_whole(two)
    found = contents(two)
    assert sum(map(len, found.values())) > 10_000
    assert found == contents(built.path)
    assert steps == sorted(set(steps))
    assert steps[-1] == 100
    assert [item.name for item in tmp_path.iterdir()] == ["two.db"]
    with Chart(two) as chart, Chart(built.path) as other:
        assert chart.checksum == other.checksum


@pytest.mark.usefixtures("few")
def test_a_helper_that_cannot_run_costs_time_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false") or "false")
    build_chart(tmp_path / "a.db", processes=2)
    assert is_whole(tmp_path / "a.db")
    assert [item.name for item in tmp_path.iterdir()] == ["a.db"]


def test_an_interrupt_ends_the_helper_too_and_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_chart(tmp_path / "a.db", processes=2, progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_parts_that_share_a_resource_are_refused(tmp_path: Path) -> None:
    part = tmp_path / "part.db"
    patient = {"resourceType": "Patient", "id": "P1"}
    dictionary = train_dictionary([orjson.dumps({**patient, "id": f"P{n}"}) * 9 for n in range(300)])
    with ChartWriter(part, dictionary=dictionary) as writer:
        writer.put(patient)

    def join() -> None:
        with ChartWriter(tmp_path / "a.db", dictionary=dictionary) as writer:
            writer.put(patient)
            writer.absorb(part)

    with pytest.raises(sqlite3.IntegrityError):
        join()
    assert [item.name for item in tmp_path.iterdir()] == ["part.db"]


def test_a_folder_that_does_not_exist_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't write a chart"):
        build_chart(tmp_path / "missing" / "a.db")


@pytest.mark.usefixtures("few")
def test_the_embedded_chart_is_built_once_and_kept(cache: Path) -> None:
    path = ensure_embedded_chart()
    assert path == cache / embedded_chart_name()
    assert is_whole(path)
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
    built = path.stat().st_mtime_ns
    assert ensure_embedded_chart() == path
    assert path.stat().st_mtime_ns == built
    assert [item.name for item in cache.iterdir()] == [path.name]


@pytest.mark.usefixtures("few")
def test_a_damaged_embedded_chart_is_built_anew(cache: Path) -> None:
    path = ensure_embedded_chart()
    content = path.read_bytes()
    for damaged in (b"", b"not a chart", content[: len(content) // 2]):
        path.write_bytes(damaged)
        assert ensure_embedded_chart() == path
        assert path.read_bytes() != damaged
        assert is_whole(path)


@pytest.mark.usefixtures("no_cache", "few")
def test_a_cache_that_cannot_be_written_is_gone_round(tmp_path: Path) -> None:
    path = ensure_embedded_chart()
    assert path.is_relative_to(tmp_path / "tmp")
    assert is_whole(path)
    assert ensure_embedded_chart() == path


@pytest.mark.skipif(os.name != "posix", reason="folders that all users share are POSIX's")
@pytest.mark.usefixtures("no_cache", "few")
def test_a_temporary_folder_that_others_could_have_prepared_is_not_trusted(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trap = tmp_path / "tmp" / f"wardround-{os.getuid()}"
    trap.symlink_to(elsewhere)
    path = ensure_embedded_chart()
    assert not list(elsewhere.iterdir())
    assert is_whole(path)
    trap.unlink()
    trap.mkdir()
    trap.chmod(0o777)
    assert ensure_embedded_chart().parent != trap
    assert not list(trap.iterdir())


@pytest.mark.usefixtures("no_cache")
def test_where_nothing_can_be_written_the_error_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UserError("can't write a chart", mend="name a file in a folder you can write")

    monkeypatch.setattr(build, "build_chart", refuse)
    with pytest.raises(UserError, match="can't write"):
        ensure_embedded_chart()


def test_processes_that_start_at_once_all_find_a_whole_chart(cache: Path) -> None:
    program = (
        "from wardround_server.chart.build import ensure_embedded_chart as e;"
        "from wardround_server.chart.store import Chart;"
        "print(Chart(e()).checksum)"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for process in started:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out.strip() == SMALL_CHECKSUM
    assert [item.name for item in cache.iterdir()] == [embedded_chart_name()]


def test_the_cache_follows_xdg_and_its_own_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WARDROUND_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "wardround"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder() == Path("~/.cache/wardround").expanduser()
    monkeypatch.setenv("WARDROUND_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
