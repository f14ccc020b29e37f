"""Reading run folders that are finished, or stopped half way, or made by an older version.

Nothing here writes. A torn last line (the process was killed while writing) is set aside and said so;
any other damage is the user's to know: one line naming file and line number.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_tasks.categories import find_category
from wardround_tasks.task import Task

from .runs import ATTEMPTS, MANIFEST, SUMMARY, SUPERSEDED, read_json, read_lines
from .summary import Key, Line, settle, summarise

NEWEST_FORMAT: Final = 1
"""The newest run-folder format that this version reads."""

_ID = re.compile(r"(task[0-9]+)(?:_|$)")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What the id of a task says of it."""

    id: str
    category: str
    kind: str
    difficulty: str


def task_info(task_id: str, known: Mapping[str, Task] | None = None) -> TaskInfo:
    """Category, kind and difficulty of a task: from the set where it is at hand, else from the id.

    Ids of the original and bundled sets name their category (`task5_12`), a plugin's may; UserError for
    one that neither the set nor its own form explains.
    """
    if known and task_id in known:
        task = known[task_id]
        return TaskInfo(task_id, task.category, task.kind, task.difficulty)
    match = _ID.match(task_id)
    named = match[1] if match else task_id.rpartition("_")[0]
    category = find_category(named) if named else None
    if category is None:
        raise UserError(
            f"which category is task {task_id!r} of?", mend="put the task file where the manifest names it"
        )
    traits = category.traits
    return TaskInfo(task_id, traits.id, traits.kind, traits.difficulty)


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies on disk.

    `lines` are those of `attempts.jsonl`; `superseded` the owed attempts that a resume has made up,
    which count for usage and cost alone. `torn`: the last line was cut off and is not among `lines`.
    """

    path: Path
    name: str
    manifest: Mapping[str, Any]
    manifest_sha256: str
    lines: Sequence[Line]
    superseded: Sequence[Line] = ()
    torn: bool = False

    @cached_property
    def settled(self) -> dict[Key, Line]:
        """One line per task and repeat that has any."""
        return settle(self.lines)

    @property
    def model(self) -> str:
        """The model as it was named to `--model`."""
        return str(self.manifest.get("model", "unknown model"))

    @property
    def protocol(self) -> str:
        """native or text."""
        return str(self.manifest.get("protocol", "native"))

    @property
    def repeats(self) -> int:
        """How often each task was to be done."""
        return int(self.manifest.get("repeats", 1))

    @property
    def task_checksum(self) -> str:
        """Checksum of the task set; empty where the manifest has none."""
        return str((self.manifest.get("tasks") or {}).get("checksum") or "")

    @property
    def chart_checksum(self) -> str:
        """Checksum of the chart's content; empty where the manifest has none."""
        return str((self.manifest.get("chart") or {}).get("checksum") or "")

    @cached_property
    def tasks(self) -> list[TaskInfo]:
        """The tasks that the run was to do, in its order."""
        ids = (self.manifest.get("tasks") or {}).get("ids")
        if not ids:
            ids = dict.fromkeys(task_id for task_id, _ in self.settled)
        known = self.task_texts if any(_ID.match(str(task_id)) is None for task_id in ids) else None
        return [task_info(str(task_id), known) for task_id in ids]

    @cached_property
    def task_texts(self) -> Mapping[str, Task]:
        """The tasks in full, by id; empty where their set is not at hand or has changed since."""
        return _task_texts(str((self.manifest.get("tasks") or {}).get("spec") or ""), self.task_checksum)

    @cached_property
    def stored_summary(self) -> dict[str, Any] | None:
        """`summary.json` as stored, None where the run stopped before writing one."""
        path = self.path / SUMMARY
        return read_json(path) if path.is_file() else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary, worked out anew from the lines, so that it can't disagree with them.

        The baselines, which the lines don't hold, are those of `summary.json`.
        """
        stored = self.stored_summary or {}
        return summarise(
            [*self.superseded, *self.lines],
            self.tasks,
            repeats=self.repeats,
            expected=len(self.tasks) * self.repeats,
            baselines=stored.get("baselines"),
        )


def _task_texts(spec: str, checksum: str) -> Mapping[str, Task]:
    from wardround_tasks.loading import load_tasks

    if not spec:
        return {}
    try:
        found = load_tasks(spec)
    except UserError:
        # A task file that has moved takes its texts with it; the run itself still opens.
        return {}
    return found.by_id if found.checksum == checksum else {}


def is_run_folder(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> tuple[dict[str, Any], str]:
    """A run's manifest and its SHA-256; UserError for one of a format newer than this version."""
    manifest = read_json(folder / MANIFEST)
    found = manifest.get("format_version", 1)
    if not isinstance(found, int) or not 1 <= found <= NEWEST_FORMAT:
        raise UserError(
            f"{folder} is of run-folder format {found}", mend=f"this version reads up to {NEWEST_FORMAT}"
        )
    return manifest, hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def _is_torn(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) != b"\n"


def _without_results(line: Line) -> Line:
    for entry in line.get("rounds") or ():
        for call in entry.get("calls") or ():
            call.pop("result", None)
    return line


def read_run(folder: Path, *, name: str | None = None, results: bool = True) -> StoredRun:
    """Open a run folder. UserError where it is none, is damaged, or is of a newer format.

    Without `results` the texts that the tools gave are left out: most of a run's bytes, of which
    scores and reports need none.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder", mend="name the folder that `wardround run -o` wrote")
    if not is_run_folder(folder):
        inner = sorted(child.name for child in folder.iterdir() if is_run_folder(child))
        mend = f"name one of its runs: {', '.join(inner)}" if inner else f"it has no {MANIFEST}"
        raise UserError(f"{folder} is not a run folder", mend=mend)
    manifest, checksum = read_manifest(folder)
    return StoredRun(
        path=folder,
        name=name or folder.resolve().name,
        manifest=manifest,
        manifest_sha256=checksum,
        lines=[line if results else _without_results(line) for line in read_lines(folder / ATTEMPTS)],
        superseded=list(read_lines(folder / SUPERSEDED)),
        torn=_is_torn(folder / ATTEMPTS),
    )


def run_folders(path: Path) -> list[Path]:
    """The run folder that a path names, or the two that `--protocol both` wrote under it."""
    if not is_run_folder(path):
        both = [path / "native", path / "text"]
        if all(is_run_folder(part) for part in both):
            return both
    return [path]


def distinct_names(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs, renamed by as much of their path as tells them apart."""
    named = list(runs)
    for depth in range(2, 10):
        counts = Counter(run.name for run in named)
        if all(count == 1 for count in counts.values()):
            return named
        named = [
            replace(run, name="/".join(run.path.resolve().parts[-depth:])) if counts[run.name] > 1 else run
            for run in named
        ]
    doubled = next(name for name, count in Counter(run.name for run in named).items() if count > 1)
    raise UserError(f"run {doubled} is given twice", mend="name each run once")
