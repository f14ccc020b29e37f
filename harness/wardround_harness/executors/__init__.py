"""Where attempts run: in this process, or spread over a Ray cluster. Records and resume are the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from ..attempts import Job, Line, References
from ..ground import Ground

Keep: TypeAlias = Callable[[Line], Awaitable[None]]
PlayJob: TypeAlias = Callable[[Job, Keep], Awaitable[None]]
"""Plays a job and keeps its line; raises KeyRefused and CostLimitReached as `attempts.play_job` does."""


@asynccontextmanager
async def open_executor(ground: Ground, references: References, spent: float) -> AsyncIterator[PlayJob]:
    """The executor that the plan names. `spent` is what the run has cost so far, in US dollars."""
    if ground.plan.executor == "ray":
        from .ray import open_ray

        async with open_ray(ground) as play:
            yield play
        return
    from .local import open_here

    async with open_here(ground, references, spent) as play:
        yield play
