"""Progress: plain lines where nobody watches, and what they say."""

from __future__ import annotations

import io
from typing import Any

from wardround_harness.progress import Progress, Tally


def line(*, passed: bool = True, status: str = "completed", cost: float | None = 0.5) -> dict[str, Any]:
    """A run line as far as progress looks at it."""
    verdicts = {"medagentbench": {"passed": False}, "clinical": {"passed": passed}}
    owed = status == "provider_error"
    return {
        "task_id": "t",
        "attempt": {"status": status},
        "cost_usd": cost,
        "verdicts": None if owed else verdicts,
    }


def test_a_line_says_done_rate_scores_owed_cost_and_time_left() -> None:
    tally = Tally(total=10, already=2)
    tally.add(line())
    tally.add(line(passed=False))
    tally.add(line(status="provider_error"))
    assert tally.describe(6.0) == (
        "5/10 · 0.5/s · passed so far: medagentbench 0.0 %, clinical 50.0 % · 1 owed · $1.50 · 10 s left"
    )


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    tally = Tally(total=2)
    tally.add(line(cost=None))
    tally.add(line())
    assert "cost unknown" in tally.describe(1.0)


def test_a_pipe_gets_a_line_each_tenth_and_one_at_the_end() -> None:
    stream, now = io.StringIO(), [0.0]
    with Progress("m", Tally(total=100), stream=stream, clock=lambda: now[0]) as progress:
        for _ in range(25):
            now[0] += 0.01
            progress.add(line())
    said = stream.getvalue().splitlines()
    assert [text.split()[1] for text in said] == ["10/100", "20/100", "25/100"]


def test_a_slow_run_says_something_every_half_minute() -> None:
    stream, now = io.StringIO(), [0.0]
    with Progress("m", Tally(total=1000), stream=stream, clock=lambda: now[0]) as progress:
        for _ in range(3):
            now[0] += 31.0
            progress.add(line())
    assert len(stream.getvalue().splitlines()) == 3


def test_a_terminal_gets_a_live_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with Progress("model", Tally(total=2), stream=stream) as progress:
        progress.add(line())
        progress.add(line())
    assert "2/2" in stream.getvalue()
