"""Running a plan from a terminal: the event loop around it, and what is said when it ends."""

from __future__ import annotations

import sys

import anyio
from rich.console import Console

from .ledger import OWED
from .plan import RunPlan
from .run import Report, execute
from .summary import rich_score_table


def run_and_show(plan: RunPlan) -> int:
    """Carry a plan out, print its scores, and give the exit code."""
    report = anyio.run(execute, plan)
    show_report(plan, report, Console())
    return report.exit_code


def show_report(plan: RunPlan, report: Report, console: Console) -> None:
    """Print the score table, the ledger where anything is owed, and where the run folder is."""
    summaries = {f"{plan.model} {lane}": summary for lane, summary in report.summaries.items()}
    console.print(rich_score_table(summaries))
    for lane, summary in report.summaries.items():
        owed = {status: summary["ledger"][status] for status in OWED if summary["ledger"].get(status)}
        if owed:
            listed = ", ".join(f"{count} {status}" for status, count in owed.items())
            print(f"{lane}: owed: {listed}: run again with --resume", file=sys.stderr)
    if report.outcome.stopped is not None:
        print(f"stopped: {report.outcome.stopped}", file=sys.stderr)
    print(plan.out)
