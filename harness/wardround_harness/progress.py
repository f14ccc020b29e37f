"""What a person sees while a run is under way: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from .ledger import OWED, SCORED
from .summary import RULES, line_status

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PLAIN_SHARE = 0.1
PLAIN_SECONDS = 30.0


@dataclass(slots=True)
class Tally:
    """Counts so far: attempts done in this process, passes under each rule set, statuses, cost."""

    total: int
    already: int = 0
    done: int = 0
    passes: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    cost: float | None = 0.0

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line."""
        status = line_status(line)
        self.done += 1
        self.statuses[status] += 1
        cost = line.get("cost_usd")
        self.cost = None if cost is None or self.cost is None else self.cost + float(cost)
        if status in SCORED:
            self.scored += 1
            for rules in RULES:
                self.passes[rules] += bool(line["verdicts"][rules]["passed"])

    def describe(self, elapsed: float) -> str:
        """One line: done of total, rate, passes under both rule sets, owed, cost, time left."""
        rate = self.done / elapsed if elapsed > 0 else 0.0
        left = self.total - self.already - self.done
        parts = [f"{self.already + self.done}/{self.total}", f"{rate:.1f}/s"]
        if self.scored:
            passed = ", ".join(f"{rules} {100 * self.passes[rules] / self.scored:.1f} %" for rules in RULES)
            parts.append(f"passed so far: {passed}")
        if owed := sum(self.statuses[status] for status in OWED):
            parts.append(f"{owed} owed")
        parts.append("cost unknown" if self.cost is None else f"${self.cost:.2f}")
        if rate > 0 and left > 0:
            parts.append(f"{left / rate:.0f} s left")
        return " · ".join(parts)


class Progress(AbstractContextManager["Progress"]):
    """Shows a tally as it grows, on standard error."""

    def __init__(
        self,
        label: str,
        tally: Tally,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label = label
        self.tally = tally
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._started = clock()
        self._said = self._started
        self._said_done = 0
        self._rich: RichProgress | None = None
        self._bar: TaskID | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress

            console = Console(file=self._stream)
            self._rich = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[text]}"),
                console=console,
            )
            self._rich.start()
            self._bar = self._rich.add_task(
                self._label, total=self.tally.total, completed=self.tally.already, text=""
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rich is not None:
            self._rich.stop()
        elif self.tally.done != self._said_done:
            self._say()

    def add(self, line: Mapping[str, Any]) -> None:
        """An attempt has ended."""
        self.tally.add(line)
        elapsed = self._clock() - self._started
        if self._rich is not None and self._bar is not None:
            self._rich.update(
                self._bar, completed=self.tally.already + self.tally.done, text=self.tally.describe(elapsed)
            )
            return
        fresh = self.tally.done - self._said_done
        if fresh >= max(1, PLAIN_SHARE * self.tally.total) or self._clock() - self._said >= PLAIN_SECONDS:
            self._say()

    def _say(self) -> None:
        self._said, self._said_done = self._clock(), self.tally.done
        print(
            f"{self._label}: {self.tally.describe(self._said - self._started)}", file=self._stream, flush=True
        )
