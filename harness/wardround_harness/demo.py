"""`python -m wardround_harness.demo --runs DIR`: the whole product in one go, on synthetic data.

Takes `builtin/oracle` and `builtin/null` through the bundled tasks over the MCP server and the
embedded chart, prints both scores side by side, and leaves run folders and an HTML report.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from wardround_schemas.options import Parser, run_program

MODELS = ("builtin/oracle", "builtin/null")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The demo's options."""
    parser = Parser(prog="python -m wardround_harness.demo", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where to write (runs)"
    )
    parser.add_argument("--tasks", default="bundled", help="the task set (bundled)")
    return parser.parse_args(arguments)


def show_demo(runs: Path, tasks: str) -> int:
    """Run both builtins, print the table, write the report; 0, or 3 where anything is owed."""
    import anyio

    from .plan import RunPlan
    from .reading import read_run
    from .report import render_report
    from .run import REPORT, Report, execute
    from .runs import write_private
    from .show import show_end, show_table

    folder = runs / datetime.now().astimezone().strftime("demo-%Y%m%d-%H%M%S")
    reports: dict[str, Report] = {}
    for model in MODELS:
        plan = RunPlan(model=model, out=folder / model.removeprefix("builtin/"), tasks=tasks)
        reports[model] = anyio.run(execute, plan)
        show_end(plan, reports[model])
    show_table({model: report.summaries["native"] for model, report in reports.items()})
    stored = [read_run(folder / model.removeprefix("builtin/"), results=False) for model in MODELS]
    write_private(folder / REPORT, render_report(stored, title="wardround demo").encode())
    print(f"Report: {folder / REPORT}")
    print("Synthetic patients; for research and development, not a medical device.")
    return max(report.exit_code for report in reports.values())


def main() -> int:
    """Entry point."""

    def work() -> int:
        args = parse(sys.argv[1:])
        return show_demo(args.runs, args.tasks)

    return run_program(work)


if __name__ == "__main__":
    sys.exit(main())
