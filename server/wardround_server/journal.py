"""The journal: every create call of every session, on disk before anyone is told "accepted".

A folder with two chain files: `captures.jsonl`, one capture a line, and `deliveries.jsonl`, one
line for each capture that was sent to a FHIR server. A thread of its own writes and syncs, so that
the event loop never waits for the disk; calls that arrive meanwhile share the next sync.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wardround_schemas.errors import UserError

from . import plainjson
from .capture import Capture, now_text
from .chainfile import Build, ChainFile, Line, check_chain, read_lines

CAPTURES = "captures.jsonl"
DELIVERIES = "deliveries.jsonl"
_MAX_BATCH = 512


DeliveryState = Literal["sent", "refused", "unsent", "unknown"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a capture that was sent: the server's answer, or why there is none.

    `state` says whether the FHIR server took the order (`unsent`: it did not reach the server,
    `unknown`: the answer was lost); `status` is its HTTP status, `id` and `location` are those of the
    created resource, `error` says what went wrong.
    """

    session: str
    seq: int
    state: DeliveryState
    status: int | None = None
    id: str | None = None
    location: str | None = None
    error: str | None = None
    at: str = ""

    def to_json(self) -> dict[str, Any]:
        """The line as an object, without its place in the chain."""
        return {
            "at": self.at or now_text(),
            "session": self.session,
            "seq": self.seq,
            "state": self.state,
            "status": self.status,
            "id": self.id,
            "location": self.location,
            "error": self.error,
        }


@dataclass(slots=True)
class _Job:
    file: str
    build: Build
    done: Future[Line]


class Journal:
    """The open journal of one process. Several processes may share a folder."""

    def __init__(self, folder: Path) -> None:
        """Open or create the journal in `folder`; a torn last line is set aside and warned of.

        Raises UserError when the folder can't be written.
        """
        self.folder = folder
        try:
            self._files = {name: ChainFile(folder / name) for name in (CAPTURES,)}
        except OSError as error:
            raise UserError(
                f"the journal in {folder} can't be written: {error.strerror or error}",
                mend="name a folder of yours with --journal",
            ) from error
        self.warnings = [note for file in self._files.values() for note in file.warnings]
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def append(self, capture: Capture) -> Capture:
        """Write one capture; returns it with its place in the chain once it is on disk.

        Raises OSError when the disk refuses, ValueError for what JSON can't hold: the capture is not in
        the journal then.
        """

        def build(previous: str | None) -> Line:
            return capture.chained(previous).to_json()

        line = await self._submit(CAPTURES, build)
        return capture.chained(line["previous"])

    async def append_delivery(self, delivery: Delivery) -> None:
        """Write down what became of a capture that was sent. Raises OSError when the disk refuses."""
        entry = delivery.to_json()

        def build(previous: str | None) -> Line:
            return {**entry, "previous": previous}

        await self._submit(DELIVERIES, build)

    def captures(self, session: str | None = None) -> Iterator[Capture]:
        """The captures on disk, of one session or of all, in the order in which they were written."""
        return read_captures(self.folder, session)

    def is_writable(self) -> bool:
        """Whether the journal is open and its folder still takes lines."""
        return not self._closed and os.access(self.folder / CAPTURES, os.W_OK)

    def close(self) -> None:
        """Write what is waiting and let go of the files. Further appends are refused."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
        for file in self._files.values():
            file.close()

    async def _submit(self, name: str, build: Build) -> Line:
        if self._closed:
            raise OSError("the journal is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="wardround-journal", daemon=True)
            self._thread.start()
        job = _Job(name, build, Future())
        # Running from the start: a caller who is cancelled must not take its line out of the journal.
        job.done.set_running_or_notify_cancel()
        self._jobs.put(job)
        return await asyncio.wrap_future(job.done)

    def _write(self) -> None:
        """The writer's thread: one sync for all that has gathered."""
        while True:
            job = self._jobs.get()
            if job is None:
                return
            batch = [job]
            ends = False
            while len(batch) < _MAX_BATCH and not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    ends = True
                    break
                batch.append(more)
            for name in dict.fromkeys(job.file for job in batch):
                self._commit(name, [job for job in batch if job.file == name])
            if ends:
                return

    def _commit(self, name: str, jobs: list[_Job]) -> None:
        try:
            file = self._files.get(name)
            if file is None:
                file = self._files[name] = ChainFile(self.folder / name)
            lines = file.commit([job.build for job in jobs])
        except Exception as error:  # noqa: BLE001 - handed to each waiting call, which reports it
            for job in jobs:
                job.done.set_exception(error)
            return
        for job, line in zip(jobs, lines, strict=True):
            if isinstance(line, Exception):
                job.done.set_exception(line)
            else:
                job.done.set_result(line)


def read_captures(folder: Path, session: str | None = None) -> Iterator[Capture]:
    """The captures in a journal's folder. Raises UserError for a line that is no capture."""
    # The name as the line holds it: a session is found in a long journal without parsing all of it.
    wanted = b'"session":' + plainjson.dumps(session) if session is not None else b""
    for number, line in enumerate(_lines(folder / CAPTURES, wanted), 1):
        if session is not None and line.get("session") != session:
            continue
        try:
            yield Capture.from_json(line)
        except (KeyError, TypeError) as error:
            raise UserError(
                f"{folder / CAPTURES}, line {number}: not a capture: {error}",
                mend="the file was changed by hand or is of another version",
            ) from error


def read_deliveries(folder: Path) -> dict[tuple[str, int], Delivery]:
    """The last delivery of each capture, by session and number."""
    found: dict[tuple[str, int], Delivery] = {}
    for line in _lines(folder / DELIVERIES):
        fields = {name: line.get(name) for name in Delivery.__dataclass_fields__}
        delivery = Delivery(**fields)  # type: ignore[arg-type]
        found[(delivery.session, delivery.seq)] = delivery
    return found


def check_journal(folder: Path) -> list[str]:
    """What is wrong with the chains of a journal: one sentence each, [] when they are whole."""
    return [
        fault
        for name in (CAPTURES, DELIVERIES)
        if (folder / name).exists()
        for fault in check_chain(folder / name)
    ]


def _lines(path: Path, containing: bytes = b"") -> Iterator[Line]:
    try:
        for _, line in read_lines(path, containing):
            yield line
    except FileNotFoundError:
        return
    except ValueError as error:
        raise UserError(str(error), mend="the journal was changed by hand or by another program") from error
