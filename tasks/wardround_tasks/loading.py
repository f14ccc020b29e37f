"""Loading task sets and attempts; what is broken is named in one line: file, place and field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from wardround_schemas.errors import UserError
from wardround_schemas.plugins import plugin_categories

from .attempt import Attempt
from .categories import find_category
from .jsontext import NotJSON, read_json, read_record
from .medagentbench import task_from_original
from .task import FieldError, Task

FORMAT: Final = "wardround-tasks/1"
Source = Literal["bundled", "file", "medagentbench"]


@dataclass(frozen=True)
class TaskSet:
    """Tasks in their order, the set's name, where it came from, and a checksum of what they say."""

    name: str
    tasks: tuple[Task, ...]
    checksum: str
    source: Source

    @cached_property
    def by_id(self) -> dict[str, Task]:
        """The tasks by id."""
        return {task.id: task for task in self.tasks}


def load_tasks(spec: str) -> TaskSet:
    """Load "bundled", a FILE of this project's format, or "medagentbench:FILE".

    A file of ours is a JSON list of tasks, an object with the list under "tasks", or one task a
    line. Raises UserError, one line, for a file that can't be read or a task that is broken.
    """
    if spec == "bundled":
        text = files("wardround_tasks").joinpath("data/bundled.json").read_text(encoding="utf-8")
        return _task_set("bundled", "bundled", "the bundled tasks", _entries(text, "bundled"), Task.from_json)
    original, colon, path = spec.partition(":")
    if colon and original == "medagentbench":
        name, text = _read(path, "the original's test_data_v1.json or test_data_v2.json")
        return _task_set(name, "medagentbench", path, _entries(text, path), task_from_original)
    name, text = _read(spec, "a task file, 'bundled' or 'medagentbench:FILE'")
    entries = _entries(text, spec)
    if entries and isinstance(entries[0], dict) and "category" not in entries[0] and "context" in entries[0]:
        raise UserError(f"{spec} looks like an original file", mend=f"write medagentbench:{spec}")
    return _task_set(name, "file", spec, entries, Task.from_json)


def checksum_of(tasks: Iterable[Task]) -> str:
    """SHA-256 over the tasks' records in order: whatever else a file holds, equal tasks are equal."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(json.dumps(task.to_json(), sort_keys=True, ensure_ascii=True).encode("ascii"))
        digest.update(b"\n")
    return f"sha256:{digest.hexdigest()}"


def tasks_document(tasks: Sequence[Task], **about: Any) -> str:
    """A task file's text: format, whatever is said `about` the set, and one task a line."""
    head = json.dumps({"format": FORMAT, **about}, ensure_ascii=False, indent=1)[:-2]
    lines = ",\n".join(json.dumps(task.to_json(), ensure_ascii=False) for task in tasks)
    return f'{head},\n "tasks": [\n{lines}\n]\n}}\n'


def load_attempts(path: str, task_set: TaskSet) -> list[Attempt]:
    """The attempts of a JSON Lines file in order; task ids may repeat.

    Raises UserError naming the line for text that is not JSON, a broken field, or a task that the set
    does not have.
    """
    _, text = _read(path, "a JSON Lines file of attempts")
    attempts = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            attempt = Attempt.from_json(read_record(line))
        except NotJSON as error:
            raise UserError(f"{where} is not JSON ({error})", mend="one attempt a line") from None
        except FieldError as error:
            raise UserError(f"{where}: {error}") from None
        if attempt.task_id not in task_set.by_id:
            raise UserError(
                f"{where}: there is no task {attempt.task_id[:80]!r} in {task_set.name}",
                mend="name the attempts' own task set with --tasks",
            )
        attempts.append(attempt)
    return attempts


def _read(path: str, wanted: str) -> tuple[str, str]:
    try:
        return Path(path).name, Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start})", mend=f"give {wanted}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"can't read {path or 'an empty path'}: {reason}", mend=f"give {wanted}") from None


def _entries(text: str, path: str) -> list[Any]:
    if not text.strip():
        raise UserError(f"{path} is empty", mend="give a file with tasks")
    try:
        document = read_json(text)
    except NotJSON as error:
        lines = list(_lines(text))
        if lines:
            return lines
        raise UserError(f"{path} is not JSON ({error})") from None
    if isinstance(document, dict):
        if "category" in document:
            return [document]
        if document.get("format") not in (None, FORMAT):
            raise UserError(f"{path} has format {document['format']!r}", mend=f"this version reads {FORMAT}")
        document = document.get("tasks")
    if not isinstance(document, list):
        raise UserError(f"{path} holds no list of tasks", mend='give a JSON list, or an object with "tasks"')
    return document


def _lines(text: str) -> Iterator[Any]:
    """The values of a JSON Lines text, none at all where a line is not JSON."""
    values = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            values.append(read_json(line))
        except NotJSON:
            return
    yield from values


def _task_set(
    name: str, source: Source, path: str, entries: list[Any], read: Callable[[object], Task]
) -> TaskSet:
    tasks: list[Task] = []
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        try:
            task = read(entry)
            usable(task)
        except FieldError as error:
            raise UserError(f"{path}: task {index} (of 0 to {len(entries) - 1}): {error}") from None
        if task.id in seen:
            raise UserError(f"{path}: tasks {seen[task.id]} and {index} both have the id {task.id!r}")
        seen[task.id] = index
        tasks.append(task)
    if not tasks:
        raise UserError(f"{path} holds no tasks")
    return TaskSet(name, tuple(tasks), checksum_of(tasks), source)


def usable(task: Task) -> None:
    """Raise FieldError where a task lacks what the graders of its category need."""
    category = find_category(task.category)
    if category is None:
        others = "".join(f", {name}" for name in plugin_categories())
        raise FieldError("category", f"is {task.category[:40]!r}, not one of task1 to task10{others}")
    for field, wanted, given in (
        ("kind", category.traits.kind, task.kind),
        ("difficulty", category.traits.difficulty, task.difficulty),
    ):
        if wanted != given:
            raise FieldError(field, f"is {given}, but {task.category} is {wanted}")
    if task.patient is None and category.traits.needs_patient:
        raise FieldError("patient", f"is missing, and {task.category} needs one")
    if category.traits.needs_solution and not task.solution:
        raise FieldError("solution", f"is missing, and {task.category} needs it")
    for name in category.traits.codes:
        if not task.facts.codes.get(name):
            raise FieldError(f"facts.codes.{name}", f"is missing, and {task.category} needs it")
    for name in category.traits.texts:
        if not task.facts.texts.get(name):
            raise FieldError(f"facts.texts.{name}", f"is missing, and {task.category} needs it")
    if not isinstance(task.facts.values.get("asks_value", True), bool):
        raise FieldError("facts.values.asks_value", "is neither true nor false")
