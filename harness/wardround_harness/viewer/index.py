"""The runs of a folder, found and read as they change, and kept in memory by what lies on disk.

Runs are addressed by ids that this index gave out: nothing that a browser sends is ever made into a
path.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final

import orjson

from wardround_schemas.errors import UserError
from wardround_tasks.task import Task

from ..effort import codes
from ..ledger import OWED
from ..reading import StoredRun, is_run_folder, read_manifest, read_run, task_info
from ..report.page import run_marks
from ..runs import ATTEMPTS, MANIFEST, SUMMARY, key_of
from ..summary import RULES, Key, Line, line_status
from .models import AttemptRow, RunRow, Score

DEPTH: Final = 4
"""How deep below the folder runs are looked for."""

MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, OSError)
"""What reading a file raises that holds other than a run's data."""

Stamp = tuple[int, ...]


def _stamp(path: Path) -> Stamp:
    """What changes when a file does; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return _stamp_of(found)


def _stamp_of(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The attempts of a run as its file held them at one moment: rows in the run's order, and where in the
    file the line of each is (offset, length)."""

    stamp: Stamp
    rows: list[AttemptRow]
    places: dict[Key, tuple[int, int]]


@dataclass(slots=True)
class Entry:
    """A run of the folder with what has been read of it so far."""

    id: str
    name: str
    path: Path
    stamp: Stamp
    row: RunRow
    snapshot: Snapshot | None = None
    texts: Mapping[str, Task] | None = None


class RunIndex:
    """All runs under a folder. Methods may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._entries: dict[str, Entry] = {}
        self._lock = threading.RLock()

    def runs(self) -> list[RunRow]:
        """Every run's row, folders read anew where they changed."""
        with self._lock:
            found: dict[str, Entry] = {}
            for path in self._folders():
                name = path.relative_to(self.folder).as_posix()
                name = path.name if name == "." else name
                # A name that is no UTF-8 could not be sent; its run is still found by its place.
                name = name.encode("utf-8", "replace").decode()
                entry = self._entry(self._free_id(name, found), name, path)
                found[entry.id] = entry
            self._entries = found
            return [entry.row for entry in found.values()]

    def entry(self, run_id: str) -> Entry:
        """A run by its id; UserError where there is none, or it can't be opened."""
        with self._lock:
            if run_id not in self._entries:
                self.runs()
            entry = self._entries.get(run_id)
            if entry is None:
                raise UserError("there is no such run")
            fresh = self._entry(entry.id, entry.name, entry.path)
            self._entries[run_id] = fresh
            if fresh.row.error is not None:
                raise UserError(fresh.row.error)
            return fresh

    def attempts(self, entry: Entry) -> list[AttemptRow]:
        """The rows of a run's attempts, in the run's order."""
        with self._opened(entry) as (_, snapshot):
            return snapshot.rows

    def attempt(self, entry: Entry, key: Key) -> tuple[Line, list[AttemptRow], int]:
        """The line of one attempt, the rows that it is among, and its place there; UserError for none."""
        with self._opened(entry) as (file, snapshot):
            place = snapshot.places.get(key)
            if place is None:
                raise UserError("there is no such attempt")
            file.seek(place[0])
            line = orjson.loads(file.read(place[1]))
        row = next(i for i, row in enumerate(snapshot.rows) if (row.task_id, row.repeat) == key)
        return line, snapshot.rows, row

    @contextmanager
    def _opened(self, entry: Entry) -> Iterator[tuple[IO[bytes], Snapshot]]:
        """A run's attempts file, open, with the snapshot of just this file.

        A run that goes on may put a new file in its place at any time; what is open stays as it was.
        """
        path = entry.path / ATTEMPTS
        # A run that has only begun has no attempts yet.
        with path.open("rb") if path.exists() else BytesIO() as file:
            stamp = _stamp_of(os.fstat(file.fileno())) if not isinstance(file, BytesIO) else ()
            with self._lock:
                if entry.snapshot is None or entry.snapshot.stamp != stamp:
                    entry.snapshot = _read_snapshot(entry, file, stamp)
                snapshot = entry.snapshot
            yield file, snapshot

    def stored(self, entry: Entry) -> StoredRun:
        """The run as comparison and report read it."""
        return read_run(entry.path, name=entry.name)

    def task_texts(self, entry: Entry) -> Mapping[str, Task]:
        """The tasks of a run in full, by id; empty where the set is not at hand. Read once per run."""
        with self._lock:
            if entry.texts is None:
                entry.texts = _head(entry.path, entry.name).task_texts
            return entry.texts

    def scan(self, entry: Entry) -> Iterator[bytes]:
        """The raw lines of a run that are the last word on their task and repeat, for searching."""
        with self._opened(entry) as (file, snapshot):
            file.seek(0)
            raw = file.read()
        for start, length in sorted(snapshot.places.values()):
            yield raw[start : start + length]

    def _folders(self) -> list[Path]:
        if is_run_folder(self.folder):
            return [self.folder]
        found: list[Path] = []
        for root, names, _ in os.walk(self.folder):
            path = Path(root)
            depth = len(path.relative_to(self.folder).parts)
            if depth and is_run_folder(path):
                found.append(path)
                names.clear()
            elif depth >= DEPTH:
                names.clear()
            names[:] = sorted(name for name in names if not name.startswith(".") and name != "journal")
        return found

    @staticmethod
    def _free_id(name: str, taken: Mapping[str, Entry]) -> str:
        """An id that can stand in a URL path as one segment and is no other run's."""
        base = name.replace("/", "~")
        candidate, number = base, 2
        while candidate in taken:
            candidate = f"{base}~{number}"
            number += 1
        return candidate

    def _entry(self, run_id: str, name: str, path: Path) -> Entry:
        stamp = _stamp(path / MANIFEST) + _stamp(path / SUMMARY) + _stamp(path / ATTEMPTS)
        held = self._entries.get(run_id)
        if held is not None and held.path == path and held.stamp == stamp:
            return held
        return Entry(run_id, name, path, stamp, _run_row(run_id, name, path))


def _read_snapshot(entry: Entry, file: IO[bytes], stamp: Stamp) -> Snapshot:
    run = _head(entry.path, entry.name)
    known = {task.id: task for task in run.tasks}
    rows: dict[Key, AttemptRow] = {}
    places: dict[Key, tuple[int, int]] = {}
    start = 0
    for number, raw in enumerate(file, 1):
        if not raw.endswith(b"\n"):
            break
        try:
            line = orjson.loads(raw)
            key = key_of(line)
            row = _attempt_row(line, known)
        except (UserError, *MALFORMED) as error:
            raise UserError(f"{entry.name}/{ATTEMPTS} line {number} is not a run line") from error
        held = rows.get(key)
        if held is None or held.owed or not row.owed:
            rows[key] = row
            places[key] = start, len(raw)
        start += len(raw)
    order = {task_id: place for place, task_id in enumerate(known)}
    ordered = sorted(rows.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0][1]))
    return Snapshot(stamp, [row for _, row in ordered], places)


def _head(path: Path, name: str) -> StoredRun:
    """A run without its lines: enough for its tasks and marks."""
    manifest, checksum = read_manifest(path)
    return StoredRun(path, name, manifest, checksum, ())


def _run_row(run_id: str, name: str, path: Path) -> RunRow:
    try:
        run = _head(path, name)
        fresh = _stamp(path / SUMMARY)[:1] >= _stamp(path / ATTEMPTS)[:1]
        summary = run.stored_summary if fresh else None
        if summary is None:
            run = read_run(path, name=name)
            summary = run.summary
        return _row_of(run_id, run, summary)
    except (UserError, *MALFORMED) as error:
        text = (
            str(error) if isinstance(error, UserError) else f"the run's files are not as expected: {error!r}"
        )
        return RunRow(
            id=run_id,
            name=name,
            model="",
            protocol="",
            created_at="",
            tasks=0,
            repeats=0,
            task_set="",
            scores={},
            ledger={},
            owed=0,
            input_tokens=0,
            output_tokens=0,
            cost_usd=None,
            marks=[],
            error=text,
        )


def _row_of(run_id: str, run: StoredRun, summary: Mapping[str, Any]) -> RunRow:
    ledger = {str(status): int(count) for status, count in summary["ledger"].items()}
    return RunRow(
        id=run_id,
        name=run.name,
        model=run.model,
        protocol=run.protocol,
        created_at=str(run.manifest.get("created_at", "")),
        tasks=len(run.tasks),
        repeats=run.repeats,
        task_set=str((run.manifest.get("tasks") or {}).get("name", "")),
        scores={rules: Score(**summary["scores"][rules]["overall"]) for rules in RULES},
        ledger=ledger,
        owed=sum(ledger.get(status, 0) for status in OWED),
        input_tokens=int(summary["usage"]["input_tokens"]),
        output_tokens=int(summary["usage"]["output_tokens"]),
        cost_usd=summary["cost_usd"],
        marks=run_marks(run, ledger),
    )


def _attempt_row(line: Line, known: Mapping[str, Any]) -> AttemptRow:
    task_id, repeat = key_of(line)
    task = known.get(task_id) or task_info(task_id)
    status = line_status(line)
    verdicts = line.get("verdicts") or {}
    usage = line.get("usage") or {}
    found = [code for rules in RULES for code in codes(line, rules)]
    return AttemptRow(
        task_id=task_id,
        repeat=repeat,
        category=task.category,
        kind=task.kind,
        difficulty=task.difficulty,
        status=status,
        owed=status in OWED,
        medagentbench=(verdicts.get("medagentbench") or {}).get("passed"),
        clinical=(verdicts.get("clinical") or {}).get("passed"),
        codes=list(dict.fromkeys(found)),
        notes=codes(line, "clinical", "notes"),
        rounds_by_call=int(line.get("rounds_by_call") or 0),
        rounds_by_turn=int(line.get("rounds_by_turn") or 0),
        tokens=int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0),
        cost_usd=line.get("cost_usd"),
        seconds=float(line.get("seconds") or 0),
    )
