"""Bringing lines to disk without holding up the attempts that are still under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread

Line = Mapping[str, Any]


class _Waiting:
    """A line on its way to the disk, and what became of it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.done = anyio.Event()
        self.error: Exception | None = None


class Keeper:
    """Writes lines in a thread; those that arrive during a write share the next one.

    `append` puts any number of lines on disk for good, or raises and leaves none of them. It is
    never called twice at once.
    """

    def __init__(self, append: Callable[..., None]) -> None:
        self._append = append
        self._waiting: list[_Waiting] = []
        self._writing = False

    async def __call__(self, line: Line) -> None:
        """Return once the line is on disk, even when cancelled meanwhile; raises what `append` raised."""
        mine = _Waiting(line)
        self._waiting.append(mine)
        with anyio.CancelScope(shield=True):
            if self._writing:
                await mine.done.wait()
            else:
                await self._write_all()
        if mine.error is not None:
            raise mine.error

    async def _write_all(self) -> None:
        self._writing = True
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                error: Exception | None = None
                try:
                    await anyio.to_thread.run_sync(self._append, *[waiting.line for waiting in batch])
                except Exception as raised:  # noqa: BLE001 - raised again by everyone whose line it was
                    error = raised
                for waiting in batch:
                    waiting.error = error
                    waiting.done.set()
        finally:
            self._writing = False
