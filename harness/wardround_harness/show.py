"""Running a plan from a terminal: the event loop around it, and what is said when it ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

import anyio
from rich.console import Console

from .ledger import OWED
from .plan import RunPlan
from .run import Report, execute, short_name
from .summary import rich_score_table


def run_and_show(plan: RunPlan) -> int:
    """Carry a plan out, print its scores, and give the exit code."""
    # The SDK warns of each tool that a model makes up; that is in the record, and not for the terminal.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    report = anyio.run(execute, plan)
    show_table({f"{short_name(plan.model)} {lane}": summary for lane, summary in report.summaries.items()})
    show_end(plan, report)
    return report.exit_code


def show_table(summaries: Mapping[str, Mapping[str, Any]]) -> None:
    """Print runs side by side. Into a file or a pipe the table is as wide as it needs to be."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=22 + 34 * 2 * len(summaries))
    console.print(rich_score_table(summaries))


def show_end(plan: RunPlan, report: Report) -> None:
    """Say what is owed, why the run stopped early, and where its folder is."""
    for lane, summary in report.summaries.items():
        owed = {status: summary["ledger"][status] for status in OWED if summary["ledger"].get(status)}
        if owed:
            listed = ", ".join(f"{count} {status}" for status, count in owed.items())
            print(f"{lane}: owed: {listed}: run again with --resume", file=sys.stderr)
    if report.outcome.stopped is not None:
        print(f"stopped: {report.outcome.stopped}", file=sys.stderr)
    print(plan.out)
