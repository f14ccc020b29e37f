"""Attempts in this process, on one event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ..attempts import Job, Line, References, play_job
from ..bench import open_bench
from ..ground import JOURNAL, Ground


@asynccontextmanager
async def open_here(
    ground: Ground, references: References, spent: float
) -> AsyncIterator[Callable[[Job, Callable[[Line], Awaitable[None]]], Awaitable[None]]]:
    """A bench in this process; captures are journaled in the run folder."""
    plan = ground.plan
    async with open_bench(
        ground, references, journal=plan.out / JOURNAL, spent=spent, concurrency=plan.concurrency
    ) as bench:

        async def play(job: Job, keep: Callable[[Line], Awaitable[None]]) -> None:
            await play_job(job, bench, keep)

        yield play
