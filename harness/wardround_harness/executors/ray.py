"""Attempts over a Ray cluster (`wardround[ray]`).

Each worker is an actor that sets up the same bench from the same plan and plays what it is sent; the
lines come back and are kept by the one process that holds the run folder, so records and resume are
those of a local run. A worker that dies is started again by Ray, and what it was playing is played
again: nothing of it had been kept.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import anyio

from wardround_schemas.errors import UserError

from ..agents.base import KeyRefused
from ..attempts import Job, Line, References, lost_line, play_job
from ..bench import open_bench
from ..ground import Ground, open_ground
from ..plan import Lane, RunPlan

PLAYED_AGAIN: Final = 5
"""Times that a call is sent again after its worker died; after that the attempt is owed."""

Play = Callable[[Job, Callable[[Line], Awaitable[None]]], Awaitable[None]]


class Worker:
    """A bench in a process of Ray's.

    `checksums` are the driver's, of the tasks and the chart; `folder` is where it was started.
    """

    def __init__(
        self, plan: RunPlan, checksums: tuple[str, str | None], concurrency: int, folder: str
    ) -> None:
        if Path(folder).is_dir():
            os.chdir(folder)
        self._plan = plan
        self._checksums = checksums
        self._concurrency = concurrency
        self._ready: asyncio.Future[Any] | None = None
        self._keeping_open: asyncio.Task[None] | None = None

    async def play(self, task_id: str, repeat: int, lane: Lane) -> dict[str, Any]:
        """Play a job: {"line": ...}, {"refused": ...} for a refused key, {"error": ...} for bad input."""
        try:
            bench, tasks = await self._bench()
        except UserError as error:
            return {"error": str(error)}
        kept: list[Line] = []

        async def keep(line: Line) -> None:
            kept.append(line)

        try:
            await play_job(Job(tasks[task_id], repeat, lane), bench, keep)
        except KeyRefused as error:
            return {"refused": str(error)}
        return {"line": kept[0]}

    def pid(self) -> int:
        """The worker's process."""
        return os.getpid()

    async def _bench(self) -> Any:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._keeping_open = asyncio.create_task(self._hold_open(self._ready))
        return await asyncio.shield(self._ready)

    async def _hold_open(self, ready: asyncio.Future[Any]) -> None:
        """Open everything in a task of its own, which keeps it open until the worker ends."""
        try:
            async with open_ground(self._plan) as ground:
                check_same(self._checksums, (ground.task_set.checksum, ground.chart.checksum))
                with tempfile.TemporaryDirectory(prefix="wardround-") as journal:
                    async with open_bench(
                        ground,
                        References(ground.backend),
                        journal=Path(journal),
                        spent=0.0,
                        concurrency=self._concurrency,
                    ) as bench:
                        ready.set_result((bench, {task.id: task for task in ground.tasks}))
                        await asyncio.get_running_loop().create_future()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)


def check_same(wanted: tuple[str, str | None], found: tuple[str, str | None]) -> None:
    """UserError where a worker's tasks or chart are not the driver's: it would play another run."""
    if wanted != found:
        raise UserError(
            "a Ray worker sees other tasks or another chart than this process",
            mend="give paths that name the same files on every node",
        )


@asynccontextmanager
async def open_ray(ground: Ground) -> AsyncIterator[Play]:
    """Workers on the cluster that `--ray-address` names, or on a local one that is started for the run.

    UserError where Ray is not installed or can't be reached, and for what can't be held over many
    processes.
    """
    plan = ground.plan
    if plan.max_cost is not None:
        raise UserError(
            "--max-cost can't be kept over many processes", mend="leave it away, or use --executor local"
        )
    ray = _connected(plan)
    try:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        count = max(1, min(plan.concurrency, cpus))
        share = math.ceil(plan.concurrency / count)
        actor = ray.remote(Worker).options(
            num_cpus=1, max_restarts=-1, max_task_retries=PLAYED_AGAIN, max_concurrency=share + 1
        )
        sent = replace(plan, executor="local", ray_address=None)
        checksums = (ground.task_set.checksum, ground.chart.checksum)
        workers = [actor.remote(sent, checksums, share, os.getcwd()) for _ in range(count)]
        yield _Sender(ray, workers).play
    finally:
        ray.shutdown()


def _connected(plan: RunPlan) -> Any:
    # Ray reports its use to its makers unless told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UserError("--executor ray needs Ray", mend="pip install 'wardround[ray]'") from error
    try:
        check_reachable(plan.ray_address)
        ray.init(
            address=plan.ray_address, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
    except Exception as error:
        raise UserError(
            f"no Ray cluster at {plan.ray_address or 'this machine'}: {type(error).__name__}: {error}",
            mend="start one with `ray start --head`, or leave --ray-address away",
        ) from error
    return ray


def check_reachable(address: str | None) -> None:
    """OSError where nothing listens at HOST:PORT: Ray itself would wait for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


class _Sender:
    """Sends each job to the worker that has least to do."""

    def __init__(self, ray: Any, workers: list[Any]) -> None:
        self._ray = ray
        self._workers = workers
        self._busy = [0] * len(workers)

    async def play(self, job: Job, keep: Callable[[Line], Awaitable[None]]) -> None:
        """Play a job on a worker and keep its line; owed where the worker was lost for good."""
        place = self._busy.index(min(self._busy))
        self._busy[place] += 1
        sent = self._workers[place].play.remote(job.task.id, job.repeat, job.lane)
        try:
            result = await sent
        except anyio.get_cancelled_exc_class():
            self._ray.cancel(sent)
            await keep(lost_line(job, "interrupted", "stopped before its end"))
            raise
        except self._ray.exceptions.RayError as error:
            await keep(lost_line(job, "harness_error", f"its Ray worker was lost: {type(error).__name__}"))
            return
        finally:
            self._busy[place] -= 1
        if "error" in result:
            raise UserError(result["error"])
        if "refused" in result:
            raise KeyRefused(result["refused"])
        await keep(result["line"])
