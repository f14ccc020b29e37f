"""The engine: order, concurrency, and each way in which a run stops before its end."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
import pytest

from wardround_harness.agents.base import KeyRefused
from wardround_harness.attempts import Job
from wardround_harness.costs import CostLimitReached
from wardround_harness.engine import Engine
from wardround_schemas.errors import UserError
from wardround_tasks.task import Facts, Task

pytestmark = pytest.mark.anyio


def jobs(count: int) -> list[Job]:
    """Jobs named t0, t1, ..."""
    return [
        Job(
            Task(f"t{i}", "task2", "query", "medium", "", "x", "", "2023-11-13T10:15:00Z", None, Facts()),
            0,
            "native",
        )
        for i in range(count)
    ]


async def test_every_job_is_played_once_in_order_of_starting() -> None:
    started: list[str] = []

    async def play(job: Job) -> None:
        started.append(job.task.id)
        await anyio.lowlevel.checkpoint()

    outcome = await Engine(play, 4).run(jobs(20), signals=False)
    assert started == [f"t{i}" for i in range(20)]
    assert (outcome.stopped, outcome.fatal) == (None, None)


async def test_no_job_at_all_is_no_error() -> None:
    async def play(job: Job) -> None:
        raise AssertionError

    assert (await Engine(play, 4).run([], signals=False)).stopped is None


async def test_no_more_attempts_are_under_way_than_asked() -> None:
    now, gate = 0, anyio.Event()

    async def play(job: Job) -> None:
        nonlocal now
        now += 1
        await gate.wait()

    async with anyio.create_task_group() as group:
        engine = Engine(play, 3)
        group.start_soon(lambda: engine.run(jobs(9), signals=False))
        await anyio.wait_all_tasks_blocked()
        assert now == 3
        gate.set()
    assert now == 9


async def test_a_refused_key_ends_everything_at_once() -> None:
    cancelled: list[str] = []

    async def play(job: Job) -> None:
        if job.task.id == "t2":
            raise KeyRefused("no")
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(job.task.id)

    outcome = await Engine(play, 3).run(jobs(10), signals=False)
    assert outcome.fatal is not None
    assert outcome.fatal.exit_code == 2
    assert sorted(cancelled) == ["t0", "t1"]


async def test_a_disk_that_takes_no_more_ends_the_run_with_its_own_exit_code() -> None:
    async def play(job: Job) -> None:
        raise UserError("disk full", exit_code=3)

    outcome = await Engine(play, 2).run(jobs(5), signals=False)
    assert outcome.fatal is not None
    assert outcome.fatal.exit_code == 3


async def test_a_cost_limit_lets_what_is_under_way_end_and_starts_nothing_new() -> None:
    gate, ended = anyio.Event(), []

    async def play(job: Job) -> None:
        if job.task.id == "t1":
            gate.set()
            raise CostLimitReached("enough")
        await gate.wait()
        await anyio.lowlevel.checkpoint()
        ended.append(job.task.id)

    outcome = await Engine(play, 2).run(jobs(10), signals=False)
    assert outcome.stopped == "--max-cost: enough"
    assert outcome.fatal is None
    assert ended == ["t0"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_cancels_what_is_under_way(number: signal.Signals) -> None:
    state: dict[str, Any] = {"cancelled": 0}

    async def play(job: Job) -> None:
        if job.task.id == "t1":
            os.kill(os.getpid(), number)
        try:
            await anyio.sleep_forever()
        finally:
            state["cancelled"] += 1

    outcome = await Engine(play, 2).run(jobs(10))
    assert outcome.stopped == f"{number.name} received"
    assert state["cancelled"] == 2
