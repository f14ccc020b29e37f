"""The commands that look at finished runs: compare, report.

Parsing imports nothing heavy; each command imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[Parser]


def add_commands(subparsers: Subparsers) -> None:
    """Register report and compare; each sets `run`, a function of the arguments."""
    _add_compare(subparsers)
    _add_report(subparsers)


def _add_compare(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("compare", help="compare two runs over the same tasks, with statistics")
    parser.add_argument("run_a", metavar="RUN_A", type=Path, help="the run to compare against")
    parser.add_argument("run_b", metavar="RUN_B", type=Path, help="the run that is judged")
    parser.option("--margin", type=float, default=0.05, help="loss of pass rate still called no worse (0.05)")
    parser.option("--seed", type=int, default=0, help="seed of the bootstrap (0)")
    parser.option("--json", metavar="FILE", type=Path, help="write everything to FILE")
    parser.option(
        "--allow-different",
        action="store_true",
        help="compare what both have done, though tasks or charts differ or attempts are owed",
    )
    parser.set_defaults(run=run_compare)


def _add_report(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("report", help="write one HTML file about one or more runs")
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run folders")
    parser.add_argument(
        "-o", dest="output", metavar="FILE", type=Path, required=True, help="the file to write"
    )
    parser.option("--margin", type=float, default=0.05, help="loss of pass rate still called no worse (0.05)")
    parser.option("--title", default="", help="a title of your own")
    parser.set_defaults(run=run_report)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} can't be written: {error.strerror}", mend="name a folder that exists"
        ) from error


def run_compare(args: argparse.Namespace) -> int:
    """`wardround compare`: print the comparison, and write it where `--json` says."""
    from rich.console import Console

    from .compare import compare_runs
    from .compare_text import print_comparison
    from .reading import distinct_names, read_run
    from .runs import write_json

    a, b = distinct_names([read_run(args.run_a), read_run(args.run_b)])
    result = compare_runs(a, b, margin=args.margin, seed=args.seed, allow_different=args.allow_different)
    print_comparison(result, Console())
    if args.json is not None:
        with _writing(args.json):
            write_json(args.json, result)
    return 0


def run_report(args: argparse.Namespace) -> int:
    """`wardround report`: write one HTML file that needs nothing else."""
    from .reading import distinct_names, read_run, run_folders
    from .report import render_report
    from .runs import write_private

    runs = distinct_names([read_run(path) for named in args.runs for path in run_folders(named)])
    html = render_report(runs, margin=args.margin, title=args.title or None)
    with _writing(args.output):
        write_private(args.output, html.encode())
    print(args.output)
    return 0
