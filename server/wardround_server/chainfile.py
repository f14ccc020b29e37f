"""An append-only file of JSON lines, each naming the SHA-256 of the line before it.

Several processes may append to the same file: every commit takes a lock, looks at what others have
appended since, and only then writes. A line counts once it is on disk with its newline; whatever a
crash left behind the last newline is moved to a file beside it.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import plainjson

logger = logging.getLogger(__name__)

Line = dict[str, Any]
Build = Callable[[str | None], Line]
"""Makes a line from the hash of the one before it."""

_TAIL_BLOCK = 64 * 1024


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Hold the whole file against other processes, and against other descriptors of this one."""
    if os.name == "nt":  # pragma: no cover - Windows has no flock
        import msvcrt

        # A byte far past any end: mandatory locks there do not stop readers.
        os.lseek(descriptor, 2**40, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
        try:
            yield
        finally:
            os.lseek(descriptor, 2**40, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def line_hash(line: bytes) -> str:
    """SHA-256 of a line's bytes without its newline, in hexadecimal."""
    return hashlib.sha256(line).hexdigest()


class ChainFile:
    """One such file, open for appending. Not safe for two threads at once; `Journal` gives it one."""

    def __init__(self, path: Path) -> None:
        """Open or create `path` (mode 0600, its folder 0700) and set a torn last line aside.

        Raises OSError when the file can't be opened for writing.
        """
        self.path = path
        self.warnings: list[str] = []
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_new = not path.exists()
        flags = (
            os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        )
        self._descriptor = os.open(path, flags, 0o600)
        self._end = 0
        self._last: str | None = None
        if is_new:
            _sync_folder(path.parent)
        with locked(self._descriptor):
            self._catch_up()

    def commit(self, builds: Sequence[Build]) -> list[Line | Exception]:
        """Append lines and return them once they are on disk; in the place of one that can't be made, why.

        A line that can't be made or be written as JSON stays out by itself. Of the others either all
        are in the file or none is. Raises OSError when the disk refuses; nothing is left behind then.
        """
        with locked(self._descriptor):
            self._catch_up()
            lines: list[Line | Exception] = []
            chunks: list[bytes] = []
            last = self._last
            for build in builds:
                try:
                    line = build(last)
                    encoded = plainjson.dumps(line)
                except Exception as error:  # noqa: BLE001 - handed to the one call whose line it is
                    lines.append(error)
                    continue
                last = line_hash(encoded)
                lines.append(line)
                chunks.append(encoded + b"\n")
            data = b"".join(chunks)
            if not data:
                return lines
            try:
                _write_all(self._descriptor, data)
                _sync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._end)
                raise
            self._end += len(data)
            self._last = last
            return lines

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _catch_up(self) -> None:
        """Learn the last line's hash, whoever wrote it; set a torn end aside. The lock is held."""
        size = os.fstat(self._descriptor).st_size
        if size == self._end:
            return
        last_newline = self._find_newline_before(size)
        if last_newline + 1 < size:
            self._set_aside(last_newline + 1, size)
            size = last_newline + 1
        self._end = size
        self._last = self._hash_of_last_line(size)

    def _find_newline_before(self, end: int) -> int:
        """Offset of the last newline in the first `end` bytes, -1 where there is none."""
        position = end
        while position > 0:
            start = max(0, position - _TAIL_BLOCK)
            found = _read_at(self._descriptor, start, position - start).rfind(b"\n")
            if found >= 0:
                return start + found
            position = start
        return -1

    def _hash_of_last_line(self, end: int) -> str | None:
        if end == 0:
            return None
        start = self._find_newline_before(end - 1) + 1
        return line_hash(_read_at(self._descriptor, start, end - 1 - start))

    def _set_aside(self, start: int, end: int) -> None:
        """Move what a crash left of a line to FILE.torn, so that the chain goes on from whole lines."""
        torn = self.path.with_name(self.path.name + ".torn")
        target = os.open(torn, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _write_all(target, _read_at(self._descriptor, start, end - start) + b"\n")
            _sync(target)
        finally:
            os.close(target)
        os.ftruncate(self._descriptor, start)
        _sync(self._descriptor)
        note = f"{self.path}: the last line was torn; its {end - start} bytes are in {torn.name}"
        self.warnings.append(note)
        logger.warning("%s", note)


def read_lines(path: Path, containing: bytes = b"") -> Iterator[tuple[bytes, Line]]:
    """Every whole line of a chain file with its bytes; readable while others append.

    `containing` passes over lines without these bytes, unparsed. A last line without its newline is
    still being written and is left out. Raises ValueError, with the line's number, for a whole line
    that is not a JSON object.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            if containing not in raw:
                continue
            try:
                line = plainjson.loads(raw)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not JSON: {error}") from error
            if not isinstance(line, dict):
                raise ValueError(f"{path}, line {number}: not a JSON object")  # noqa: TRY004 - the file's fault
            yield raw[:-1], line


def check_chain(path: Path) -> list[str]:
    """What is wrong with the chain of a file: one sentence per broken link, [] when whole."""
    faults: list[str] = []
    last: str | None = None
    try:
        for number, (raw, line) in enumerate(read_lines(path), 1):
            if line.get("previous") != last:
                faults.append(f"{path.name}, line {number}: does not follow the line before it")
            last = line_hash(raw)
    except ValueError as error:
        faults.append(str(error))
    return faults


def _read_at(descriptor: int, start: int, length: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    parts: list[bytes] = []
    while length > 0:
        part = os.read(descriptor, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync(descriptor: int) -> None:
    # fdatasync also brings the file's new length to disk, which is all that a reader needs.
    getattr(os, "fdatasync", os.fsync)(descriptor)


def _sync_folder(folder: Path) -> None:
    """Bring a new file's name to disk, where the system can."""
    if os.name == "nt":  # pragma: no cover
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
