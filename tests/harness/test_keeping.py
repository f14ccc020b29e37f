"""Keeping lines: each is on disk before its attempt goes on, and one write may carry many."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from wardround_harness.keeping import Keeper

pytestmark = pytest.mark.anyio


class Disk:
    """Takes lines, as slowly as a test wants."""

    def __init__(self) -> None:
        self.writes: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self.fails = False

    def append(self, *lines: dict[str, Any]) -> None:
        self.go.wait(10)
        if self.fails:
            raise OSError("no space")
        self.writes.append([line["task_id"] for line in lines])


async def test_lines_that_arrive_during_a_write_share_the_next_one() -> None:
    disk = Disk()
    disk.go.clear()
    keep = Keeper(disk.append)
    async with anyio.create_task_group() as group:
        for name in "abcde":
            group.start_soon(keep, {"task_id": name})
        await anyio.lowlevel.checkpoint()
        disk.go.set()
    assert disk.writes == [["a"], ["b", "c", "d", "e"]]


async def test_a_cancelled_attempt_still_has_its_line_on_disk() -> None:
    disk = Disk()
    disk.go.clear()
    keep = Keeper(disk.append)
    async with anyio.create_task_group() as group:
        group.start_soon(keep, {"task_id": "a"})
        group.start_soon(keep, {"task_id": "b"})
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
        disk.go.set()
    assert sorted(name for batch in disk.writes for name in batch) == ["a", "b"]


async def test_a_failed_write_is_raised_by_everyone_whose_line_it_was() -> None:
    disk = Disk()
    disk.fails = True
    keep = Keeper(disk.append)
    raised: list[str] = []

    async def one(name: str) -> None:
        with pytest.raises(OSError, match="no space"):
            await keep({"task_id": name})
        raised.append(name)

    async with anyio.create_task_group() as group:
        for name in "abc":
            group.start_soon(one, name)
    assert sorted(raised) == ["a", "b", "c"]
    disk.fails = False
    await keep({"task_id": "d"})
    assert disk.writes == [["d"]]
