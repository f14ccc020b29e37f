"""What the harness itself costs: speed, its share of it, waiting in parallel, memory.

    python -m benchmarks.harness [--json FILE]

Targets: 300 oracle attempts in at most 15 s on two cores; with a provider that answers in 500 ms,
`--concurrency 32` reaches 90 % of the ideal rate; resident memory after 3,000 builtin attempts at most
1.2 times that after 300. Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from wardround_harness import attempts, ground, houses, run
from wardround_harness.agents.base import Agent, Settings, Tool, Transcript, Turn
from wardround_harness.agents.registry import open_agent
from wardround_harness.keeping import Keeper
from wardround_harness.plan import RunPlan
from wardround_harness.runs import ATTEMPTS, read_lines
from wardround_tasks import grading

LATENCY = 0.5
CONNECTIONS = "MCP connections and tool lists"
LOOP = "the round loop itself"
CONCURRENCY = 32


class Slow:
    """An agent whose every turn takes as long as a provider's."""

    def __init__(self, inner: Agent) -> None:
        self._inner = inner
        self.name, self.destination, self.price_key = inner.name, inner.destination, inner.price_key
        self.turns = 0

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        self.turns += 1
        await anyio.sleep(LATENCY)
        return await self._inner.turn(transcript, tools, settings)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextmanager
def replaced(place: Any, name: str, value: Any) -> Iterator[None]:
    """One attribute, for a while."""
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


def timed(spent: dict[str, float], label: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that adds what it takes to `spent`."""

    def measured(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[label] += time.perf_counter() - started

    return measured


def timed_async(
    spent: dict[str, float], label: str, function: Callable[..., Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    """The same for an async function; true while nothing runs beside it."""

    async def measured(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return await function(*args, **kwargs)
        finally:
            spent[label] += time.perf_counter() - started

    return measured


def carried_out(folder: Path, **more: Any) -> float:
    """Seconds that a run takes, from reading its tasks to its report."""
    started = time.perf_counter()
    plan = RunPlan(**{"model": "builtin/oracle", "out": folder, **more})
    report = anyio.run(lambda: run.execute(plan, signals=False))
    if report.exit_code:
        raise SystemExit(f"the run is not whole: {report.summaries}")
    return time.perf_counter() - started


def measure_speed(folder: Path) -> dict[str, Any]:
    """300 oracle attempts, eight at once; then one at a time, taken apart."""
    result: dict[str, Any] = {"seconds": carried_out(folder / "fast")}
    spent: dict[str, float] = defaultdict(float)
    with (
        replaced(
            attempts, "read_reference", timed_async(spent, "reading references", grading.read_reference)
        ),
        replaced(attempts, "grade", timed(spent, "grading", grading.grade)),
        replaced(Keeper, "__call__", timed_async(spent, "writing lines", Keeper.__call__)),
        replaced(Client, "__aenter__", timed_async(spent, CONNECTIONS, Client.__aenter__)),
        replaced(Client, "__aexit__", timed_async(spent, CONNECTIONS, Client.__aexit__)),
        replaced(houses, "listed_tools", timed_async(spent, CONNECTIONS, houses.listed_tools)),
        replaced(run, "conclude", timed_async(spent, "summary and baselines", run.conclude)),
        replaced(run, "write_reports", timed(spent, "report", run.write_reports)),
        replaced(run, "play_missing", timed_async(spent, "playing", run.play_missing)),
    ):
        total = carried_out(folder / "apart", concurrency=1)
    lines = list(read_lines(folder / "apart" / ATTEMPTS))
    rounds = [entry for line in lines for entry in line["rounds"]]
    spent["tool calls over MCP"] = sum(call["seconds"] for entry in rounds for call in entry["calls"])
    spent["the agent"] = sum(entry["seconds"] for entry in rounds)
    inside = (
        "reading references",
        "grading",
        "writing lines",
        "tool calls over MCP",
        "the agent",
        CONNECTIONS,
    )
    spent[LOOP] = spent["playing"] - sum(spent[name] for name in inside)
    spent["opening chart and tasks"] = total - sum(
        spent[name] for name in ("playing", "summary and baselines", "report")
    )
    del spent["playing"]
    return result | {
        "one_at_a_time": {"seconds": total, "rounds": len(rounds), "parts": dict(spent)},
        "loop_ms_per_round": 1000 * spent[LOOP] / len(rounds),
    }


def measure_waiting(folder: Path) -> dict[str, Any]:
    """The rate with a provider of 500 ms, as a share of what 32 at once could reach."""
    opened: list[Slow] = []

    def slowly(*args: Any, **kwargs: Any) -> Agent:
        agent = open_agent(*args, **kwargs)
        assert isinstance(agent, Agent)
        opened.append(Slow(agent))
        return opened[-1]

    seconds: dict[str, float] = defaultdict(float)
    with (
        replaced(ground, "open_agent", slowly),
        replaced(run, "play_missing", timed_async(seconds, "playing", run.play_missing)),
    ):
        carried_out(folder / "slow", concurrency=CONCURRENCY, repeats=3)
    turns = opened[0].turns
    return {
        "turns": turns,
        "seconds": seconds["playing"],
        "share_of_ideal": turns * LATENCY / CONCURRENCY / seconds["playing"],
    }


def resident() -> int:
    """Bytes of this process in memory now (its highest where the system tells no more)."""
    gc.collect()
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_memory(folder: Path) -> dict[str, Any]:
    """Resident memory after 300 attempts and after 3,000 more; both with repeats, so that both load SciPy."""
    carried_out(folder / "300", limit=150, repeats=2)
    few = resident()
    carried_out(folder / "3000", repeats=10)
    return {"after_300": few, "after_3000": resident(), "ratio": resident() / few}


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory = measure_memory(folder)
        speed = measure_speed(folder)
        waiting = measure_waiting(folder)
    show(speed, waiting, memory)
    if args.json is not None:
        args.json.write_text(json.dumps({"speed": speed, "waiting": waiting, "memory": memory}, indent=2))
    missed = [
        name
        for name, held in (
            ("300 attempts in 15 s", speed["seconds"] <= 15),
            ("90 % of the ideal rate", waiting["share_of_ideal"] >= 0.9),
            ("memory within 1.2 times", memory["ratio"] <= 1.2),
        )
        if not held
    ]
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


def show(speed: dict[str, Any], waiting: dict[str, Any], memory: dict[str, Any]) -> None:
    """Print the three measurements."""
    apart = speed["one_at_a_time"]
    print(f"300 oracle attempts, 8 at once: {speed['seconds']:.1f} s")
    print(f"one at a time: {apart['seconds']:.1f} s, {apart['rounds']} rounds, of which")
    for label, seconds in sorted(apart["parts"].items(), key=lambda item: -item[1]):
        print(f"  {label:40} {seconds:6.2f} s {100 * seconds / apart['seconds']:5.1f} %")
    print(f"the round loop itself: {speed['loop_ms_per_round']:.2f} ms a round")
    print(
        f"a provider of {1000 * LATENCY:.0f} ms, {CONCURRENCY} at once: {waiting['turns']} turns in "
        f"{waiting['seconds']:.1f} s, {100 * waiting['share_of_ideal']:.0f} % of the ideal rate"
    )
    mb = 1024 * 1024
    print(
        f"resident after 300 attempts {memory['after_300'] / mb:.0f} MB, after 3,000 more "
        f"{memory['after_3000'] / mb:.0f} MB: {memory['ratio']:.2f} times"
    )


if __name__ == "__main__":
    sys.exit(main())
