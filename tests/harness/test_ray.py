"""Attempts over Ray: the same records as at home, even when a worker is killed in the middle.

Needs the extra `wardround[ray]`; skipped where it is not installed.
"""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.harness.test_run import plan, without_times
from wardround_harness.run import execute
from wardround_harness.runs import ATTEMPTS, read_lines
from wardround_schemas.errors import UserError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="the extra wardround[ray] is not installed")

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


async def test_a_run_over_two_workers_one_of_them_killed_is_the_run_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wardround_harness.executors import ray as over_ray

    real, killed, kept = over_ray._Sender, [], 0

    class Killing(real):  # type: ignore[misc, valid-type]
        """Kills the first worker once twenty lines have come back."""

        async def play(self, job: Any, keep: Any) -> None:
            async def counting(line: Any) -> None:
                nonlocal kept
                await keep(line)
                kept += 1
                if kept == 20:
                    pid = await self._workers[0].pid.remote()
                    killed.append(pid)
                    os.kill(pid, signal.SIGKILL)

            await super().play(job, counting)

    monkeypatch.setattr(over_ray, "_Sender", Killing)
    monkeypatch.setattr(ray, "init", lambda real_init=ray.init, **more: real_init(num_cpus=2, **more))
    over = await execute(plan(tmp_path / "ray", only=(), limit=60, executor="ray"), signals=False)
    monkeypatch.undo()
    home = await execute(plan(tmp_path / "home", only=(), limit=60), signals=False)
    assert len(killed) == 1
    assert over.summaries == home.summaries
    first, second = (
        [without_times(line) for line in read_lines(tmp_path / n / ATTEMPTS)] for n in ("ray", "home")
    )
    assert first == second


async def test_a_cost_limit_is_refused_over_many_processes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="many processes"):
        await execute(plan(tmp_path / "r", executor="ray", max_cost=1.0), signals=False)
    assert not (tmp_path / "r").exists()


async def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Ray cluster"):
        await execute(plan(tmp_path / "r", executor="ray", ray_address="127.0.0.1:1"), signals=False)
