"""The commands that look at finished runs: compare, report, view, leaderboard.

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
    """Register report, compare, view and leaderboard; each sets `run`, a function of the arguments."""
    _add_compare(subparsers)
    _add_report(subparsers)
    _add_view(subparsers)
    _add_leaderboard(subparsers)


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


def _add_view(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("view", help="look at runs in a web browser")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a folder of runs, or one run")
    parser.option("--port", type=int, default=8422, help="loopback port, 0 for a free one (8422)")
    parser.option("--open", action="store_true", help="open the browser")
    parser.set_defaults(run=run_view)


def _add_leaderboard(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("leaderboard", help="a folder of summaries as a static page and JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    add = actions.add_parser("add", help="add a run; refused where it does not reconcile")
    add.add_argument("folder", metavar="RUN", type=Path, help="the run folder")
    add.option(
        "--entries", metavar="FOLDER", type=Path, default=Path("leaderboard"), help="where entries are kept"
    )
    add.set_defaults(run=run_leaderboard_add)
    build = actions.add_parser("build", help="write index.html and leaderboard.json")
    build.option(
        "--entries", metavar="FOLDER", type=Path, default=Path("leaderboard"), help="where entries are kept"
    )
    build.add_argument(
        "-o", dest="output", metavar="FOLDER", type=Path, required=True, help="folder to write"
    )
    build.set_defaults(run=run_leaderboard_build)


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


def run_view(args: argparse.Namespace) -> int:
    """`wardround view`: serve the viewer until interrupted."""
    if not args.folder.is_dir():
        raise UserError(f"{args.folder} is not a folder", mend="name a folder of runs")
    from .viewer.serve import serve

    return serve(args.folder, port=args.port, open_browser=args.open)


def run_leaderboard_add(args: argparse.Namespace) -> int:
    """`wardround leaderboard add`: check a run and keep its summary as an entry."""
    from .leaderboard import add_entry

    print(add_entry(args.folder, args.entries))
    return 0


def run_leaderboard_build(args: argparse.Namespace) -> int:
    """`wardround leaderboard build`: write the page and the JSON."""
    from .leaderboard import build_site

    print(build_site(args.entries, args.output))
    return 0
