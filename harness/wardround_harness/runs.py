"""Run folders: one line on disk per finished task and repeat, through kills, resumes and full disks.

    manifest.json        what the run is; written once, whole, before anything else
    attempts.jsonl       a line per task and repeat, appended and fsynced as each is done
    superseded.jsonl     lines of owed attempts that a resume has made up; their cost was paid all the same
    summary.json         written when a run stops, whole or not
    lock                 held while a process works on the folder

All are created readable by their owner alone: they may hold chart data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import orjson

from wardround_schemas.errors import UserError

from .ledger import SCORED
from .records import encode_line
from .redact import NOTHING_SECRET
from .summary import Key, line_status, settle

MANIFEST: Final = "manifest.json"
ATTEMPTS: Final = "attempts.jsonl"
SUPERSEDED: Final = "superseded.jsonl"
SUMMARY: Final = "summary.json"
LOCK: Final = "lock"
TORN: Final = "attempts.torn"

Line = dict[str, Any]


def write_private(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a whole file or nothing, readable by its owner alone.

    The data (whole, or in pieces) goes to a temporary file beside it, is synced, and takes the name
    in one step.
    """
    beside = path.with_name(f"{path.name}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document whole, indented, with a newline at its end."""
    write_private(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. UserError when it is missing or is not one."""
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"there is no {path}", mend="give the folder that `wardround run -o` wrote") from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise UserError(f"{path} can't be read", mend=str(error)) from error
    if not isinstance(value, dict):
        raise UserError(f"{path} is not a JSON object")
    return value


def read_lines(path: Path) -> Iterator[Line]:
    """The whole lines of a JSONL file, oldest first; what follows the last newline is passed over.

    UserError names the line that is not a JSON object. An absent file has no lines.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            try:
                line = orjson.loads(raw)
            except orjson.JSONDecodeError as error:
                raise UserError(f"{path} line {number} is not JSON", mend=str(error)) from error
            if not _is_line(line):
                raise UserError(f"{path} line {number} is not a line of a run")
            yield line


def _is_line(value: object) -> bool:
    """Whether a value has what every reader of lines relies on."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("task_id"), str)
        and isinstance(value.get("repeat", 0), int)
        and isinstance(value.get("attempt", {}), dict)
    )


def _raw_lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb") as file:
            yield from file


def _places(path: Path) -> Iterator[Line]:
    """What settling needs of each line, and where the line stands: `at` is its offset, `size` its length."""
    at = 0
    for raw, line in zip(_raw_lines(path), read_lines(path), strict=False):
        yield {
            "task_id": line["task_id"],
            "repeat": line.get("repeat", 0),
            "attempt": {"status": line_status(line)},
            "at": at,
            "size": len(raw),
        }
        at += len(raw)


def _pieces(file: IO[bytes], places: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for place in places:
        file.seek(place["at"])
        yield file.read(place["size"])


def key_of(line: Mapping[str, Any]) -> Key:
    """Which task and repeat a line is of."""
    return str(line["task_id"]), int(line.get("repeat", 0))


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(file: IO[bytes]) -> bool:
    """Take an exclusive lock that ends with the process; False when another holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class RunWriter:
    """A run folder that this process writes, and no other does.

    `done` are the tasks and repeats that have a scored line; `spent` the cost in US dollars of
    all lines so far.
    """

    def __init__(
        self,
        path: Path,
        manifest: dict[str, Any],
        lock: IO[bytes],
        *,
        created: bool,
        redact: Callable[[bytes], bytes] = NOTHING_SECRET,
    ) -> None:
        self.path = path
        self._redact = redact
        self.manifest = manifest
        self.created = created
        self._lock = lock
        self._recover()
        self.done: set[Key] = set()
        self.spent = 0.0
        self.worth_keeping = False
        for line in self.lines():
            self.spent += float(line.get("cost_usd") or 0.0)
            if line_status(line) in SCORED:
                self.done.add(key_of(line))
        self._attempts = os.open(path / ATTEMPTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    @classmethod
    def open(
        cls,
        path: Path,
        manifest: dict[str, Any],
        *,
        resume: bool,
        redact: Callable[[bytes], bytes] = NOTHING_SECRET,
    ) -> RunWriter:
        """Create a run folder, or go on in one. What is written passes through `redact` first.

        UserError when another process holds it, when it holds a run and `resume` is False, or when
        its manifest is of another run: the message says in what they differ.
        """
        from .manifest import differences

        manifest = orjson.loads(redact(orjson.dumps(manifest)))
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.fdopen(os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as error:
            raise UserError(f"{path} can't be written", mend=str(error.strerror)) from error
        if not _lock(lock):
            lock.close()
            raise UserError(f"{path} is in use by another run", mend="wait for it, or give another -o")
        try:
            held = read_json(path / MANIFEST) if (path / MANIFEST).exists() else None
            if held is None:
                if (path / ATTEMPTS).exists():
                    raise UserError(f"{path} has attempts but no {MANIFEST}", mend="give another -o")  # noqa: TRY301
                write_json(path / MANIFEST, manifest)
                return cls(path, manifest, lock, created=True, redact=redact)
            if not resume:
                raise UserError(  # noqa: TRY301
                    f"{path} already holds a run", mend="add --resume to go on with it, or give another -o"
                )
            if differ := differences(held, manifest):
                raise UserError(  # noqa: TRY301
                    f"{path} holds a different run: {'; '.join(differ)}",
                    mend="give the same options, or another -o",
                )
            return cls(path, held, lock, created=False, redact=redact)
        except BaseException:
            lock.close()
            raise

    def lines(self) -> Iterator[Line]:
        """Every line so far, superseded ones first: what a run's usage and cost are made of."""
        yield from read_lines(self.path / SUPERSEDED)
        yield from read_lines(self.path / ATTEMPTS)

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Put finished attempts on disk; they are there for good when this returns.

        UserError (exit 3) when the disk refuses them: the file is then as it was before.
        """
        fresh = {key_of(line) for line in lines if line_status(line) in SCORED}
        if doubled := fresh & self.done:
            raise ValueError(f"{sorted(doubled)} have a scored line already")
        data = self._redact(b"".join(map(encode_line, lines)))
        before = os.fstat(self._attempts).st_size
        try:
            written = os.write(self._attempts, data)
            if written != len(data):
                raise OSError(f"{written} of {len(data)} bytes written")  # noqa: TRY301
            os.fsync(self._attempts)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._attempts, before)
            raise UserError(
                f"{self.path / ATTEMPTS} can't be written: {error}",
                mend="make room, then `--resume` goes on",
                exit_code=3,
            ) from error
        self.done |= fresh
        if fresh or any(line.get("rounds") for line in lines):
            self.worth_keeping = True

    def note_settings(self, notes: Iterable[str]) -> None:
        """Add what turned out in the run about settings that the model does not take to the manifest."""
        held = list(self.manifest.get("setting_notes") or ())
        fresh = [note for note in dict.fromkeys(notes) if note not in held]
        if fresh:
            self.manifest = {**self.manifest, "setting_notes": [*held, *fresh]}
            text = orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            write_private(self.path / MANIFEST, self._redact(text))

    def settle(self, order: Mapping[Key, int]) -> None:
        """Bring `attempts.jsonl` into the run's order, one line per task and repeat.

        Lines that a later one has made up move to `superseded.jsonl`, before they leave
        `attempts.jsonl`; a kill between the two leaves a copy, which the next settling drops.
        """
        places = list(_places(self.path / ATTEMPTS))
        kept = sorted(settle(places).values(), key=lambda place: order.get(key_of(place), len(order)))
        if [place["at"] for place in kept] == [place["at"] for place in places]:
            return
        chosen = {place["at"] for place in kept}
        moved = [place for place in places if place["at"] not in chosen]
        os.close(self._attempts)
        with (self.path / ATTEMPTS).open("rb") as file:
            if moved:
                before = list(_raw_lines(self.path / SUPERSEDED))
                fresh = [raw for raw in _pieces(file, moved) if raw not in set(before)]
                write_private(self.path / SUPERSEDED, before + fresh)
            write_private(self.path / ATTEMPTS, _pieces(file, kept))
        self._attempts = os.open(self.path / ATTEMPTS, os.O_WRONLY | os.O_APPEND, 0o600)

    def discard(self) -> None:
        """Take back a folder that this process made, if no model said anything in it."""
        self.close()
        if self.created and not self.worth_keeping:
            for name in (MANIFEST, ATTEMPTS, LOCK):
                (self.path / name).unlink(missing_ok=True)
            with suppress(OSError):
                self.path.rmdir()

    def close(self) -> None:
        """Let go of the folder."""
        if self._attempts >= 0:
            os.close(self._attempts)
            self._attempts = -1
        self._lock.close()

    def _recover(self) -> None:
        """Mend what a kill in the middle of a write left: a last line without its newline.

        A line that is whole but for the newline gets it; anything else is set aside in
        `attempts.torn`, and its task runs again.
        """
        path = self.path / ATTEMPTS
        if not path.exists():
            return
        with path.open("r+b") as file:
            data = file.read()
            end = data.rfind(b"\n") + 1
            tail = data[end:]
            if not tail:
                return
            try:
                whole = isinstance(orjson.loads(tail), dict)
            except orjson.JSONDecodeError:
                whole = False
            if whole:
                file.write(b"\n")
            else:
                torn = os.open(self.path / TORN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(torn, "ab") as aside:
                    aside.write(tail + b"\n")
                file.truncate(end)
            file.flush()
            os.fsync(file.fileno())
