"""Many attempts at once: started in order, kept as they end, stopped cleanly."""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskStatus

from wardround_schemas.errors import UserError

from .agents.base import KeyRefused
from .attempts import Job
from .costs import CostLimitReached

Play = Callable[[Job], Awaitable[None]]


@dataclass(slots=True)
class Outcome:
    """How the run of a list of jobs ended: whole, or why not. `fatal` is an error that ends the program."""

    stopped: str | None = None
    fatal: UserError | None = None


@dataclass(slots=True)
class Engine:
    """Plays jobs, at most `concurrency` at once, in their order."""

    play: Play
    concurrency: int
    outcome: Outcome = field(default_factory=Outcome)

    async def run(self, jobs: Sequence[Job], *, signals: bool = True) -> Outcome:
        """Play every job.

        An interrupt (SIGINT, SIGTERM) cancels what is under way, which keeps it as interrupted. A
        cost limit lets it stop by itself; no new job starts. A refused key or a disk that takes no
        more ends everything at once.
        """
        queue = iter(jobs)
        async with anyio.create_task_group() as group:
            if signals:
                await group.start(self._watch_signals, group.cancel_scope)
            async with anyio.create_task_group() as workers:
                for _ in range(max(1, min(self.concurrency, len(jobs)))):
                    workers.start_soon(self._work, queue, group.cancel_scope)
            group.cancel_scope.cancel()
        return self.outcome

    async def _work(self, queue: Iterator[Job], scope: anyio.CancelScope) -> None:
        for job in queue:
            if self.outcome.stopped is not None:
                return
            try:
                await self.play(job)
            except CostLimitReached as error:
                self.outcome.stopped = f"--max-cost: {error}"
            except KeyRefused as error:
                self._end(UserError(f"the provider refused the key: {error}", mend="check the key"), scope)
            except UserError as error:
                self._end(error, scope)

    def _end(self, error: UserError, scope: anyio.CancelScope) -> None:
        if self.outcome.fatal is None:
            self.outcome.fatal = error
        self.outcome.stopped = str(error)
        scope.cancel()

    async def _watch_signals(
        self, scope: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        if sys.platform == "win32":
            task_status.started()
            return
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            task_status.started()
            async for number in received:
                self.outcome.stopped = f"{signal.Signals(number).name} received"
                scope.cancel()
