"""Starts runs and kills them, from a process of its own that has imported everything once.

    python -m tests.harness.killing SEED KILLS ARGUMENT...

Runs `wardround ARGUMENT... --resume` KILLS times, each time killing it (SIGKILL) at a random moment,
then once to its end; prints the kills that hit a living process and the last exit code as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from wardround_harness import run, show  # noqa: F401 - imported before forking, so that each start is quick
from wardround_harness.cli import dispatch


def start(arguments: list[str]) -> int:
    """A child that carries the command out; its process id."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            os._exit(dispatch(arguments))
        except BaseException:  # noqa: BLE001 - a forked child must not fall back into its parent's code
            os._exit(70)
    return child


def kill_at(child: int, attempts: Path, size: int, delay: float) -> bool:
    """Kill the child once its file has reached a size, after a delay; False where it ended by itself."""
    while not attempts.exists() or attempts.stat().st_size < size:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.0005)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main() -> None:
    """See the module."""
    seed, kills, *arguments = sys.argv[1:]
    draw = random.Random(int(seed))
    attempts = Path(arguments[arguments.index("-o") + 1]) / "attempts.jsonl"
    hit = 0
    for _ in range(int(kills)):
        before = attempts.stat().st_size if attempts.exists() else 0
        child = start([*arguments, "--resume"])
        hit += kill_at(child, attempts, before + draw.randrange(0, 30_000), draw.random() * 0.03)
    _, status = os.waitpid(start([*arguments, "--resume"]), 0)
    print(json.dumps({"hit": hit, "exit": os.waitstatus_to_exitcode(status)}))


if __name__ == "__main__":
    main()
