"""`wardround-mcp chart`: build the synthetic chart, load resources into one, say what one holds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAULTS_SHOWN = 20
"""Faults of a load that are named on standard error; `--json` gives all that the loader noted."""


def add_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """Register `chart build`, `chart load` and `chart info`; each sets `run`, a function of the arguments."""
    chart = commands.add_parser("chart", help="build, load or describe a chart file")
    inner = chart.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser, required=True)
    build = inner.add_parser(
        "build",
        help="write the synthetic chart",
        description="Write the synthetic cohort of 100 invented patients to a chart file.",
    )
    _add_output(build)
    build.option(
        "--scale",
        choices=("small", "paper"),
        default="small",
        help="about 10,000 resources, or MedAgentBench's 785,207 records (default: small)",
    )
    build.option("--seed", type=_seed, help="of another cohort (default: that of the bundled tasks)")
    _add_json(build)
    build.set_defaults(run=run_build)
    load = inner.add_parser(
        "load",
        help="read FHIR resources into a chart",
        description="Read NDJSON, Bundles, single resources, .gz, or folders of them, into a chart.",
    )
    load.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or folder to read")
    _add_output(load)
    _add_json(load)
    load.set_defaults(run=run_load)
    info = inner.add_parser("info", help="counts, patients, time span, size and checksum of a chart")
    info.add_argument("file", type=Path, metavar="FILE", help="a chart file")
    _add_json(info)
    info.set_defaults(run=run_info)


def run_build(args: argparse.Namespace) -> int:
    """`chart build`: writes the file whole, or not at all."""
    from .chart.build import build_chart
    from .chart.cohort import DEFAULT_SEED

    output: Path = args.output
    _refuse_other_files(output)
    seed = DEFAULT_SEED if args.seed is None else args.seed
    with _Progress("building", "patients") as progress:
        build_chart(output, scale=args.scale, seed=seed, progress=progress)
    _show(describe(output), as_json=args.json)
    return 0


def run_load(args: argparse.Namespace) -> int:
    """`chart load`: what can't be read is named and left out; what can is kept."""
    from .chart.load import load_paths

    output: Path = args.output
    _refuse_other_files(output)
    with _Progress("loading", "files") as progress:
        report = load_paths(args.paths, output, progress=lambda done, total, _: progress(done, total))
    for fault in report.faults[:FAULTS_SHOWN]:
        print(f"left out: {fault}", file=sys.stderr)
    if report.faulty:
        more = report.faulty - min(len(report.faults), FAULTS_SHOWN)
        rest = f", {more:,} of them not named here" if more else ""
        print(
            f"{report.faulty:,} lines or entries could not be read and were left out{rest}", file=sys.stderr
        )
    facts = describe(output)
    facts["load"] = {
        "files": report.files,
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "faulty": report.faulty,
        "faults": [str(fault) for fault in report.faults],
        "not_searchable": report.read_only_types,
    }
    _show(facts, as_json=args.json)
    if not args.json:
        print(
            f"\n{report.files:,} files read: {report.added:,} resources added, {report.replaced:,} replaced, "
            f"{report.unchanged:,} unchanged, {report.faulty:,} left out"
        )
    return 0


def run_info(args: argparse.Namespace) -> int:
    """`chart info`."""
    _show(describe(args.file), as_json=args.json)
    return 0


def describe(path: Path) -> dict[str, Any]:
    """Facts about a chart file, none of which is about a person; UserError where it is no chart."""
    from .chart.store import Chart

    with Chart(path) as chart:
        counts = dict(sorted(chart.counts.items()))
        first, last = (_instant(chart.meta.get(name)) for name in ("first", "last"))
        return {
            "file": str(path),
            "name": chart.meta.get("name") or "",
            "synthetic": bool(chart.meta.get("synthetic")),
            "seed": chart.meta.get("seed"),
            "patients": counts.get("Patient", 0),
            "resources": sum(counts.values()),
            "counts": counts,
            "first": first,
            "last": last,
            "size": path.stat().st_size,
            "checksum": chart.checksum,
        }


def _instant(milliseconds: object) -> str | None:
    if not isinstance(milliseconds, int):
        return None
    return (EPOCH + timedelta(milliseconds=milliseconds)).isoformat()


def _show(facts: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    span = f"{facts['first']} to {facts['last']}" if facts["first"] else "no dated records"
    rows = [
        ("chart", facts["file"]),
        ("name", facts["name"] or "-"),
        ("people", "synthetic" if facts["synthetic"] else "not marked as synthetic"),
        ("patients", f"{facts['patients']:,}"),
        ("records", span),
        ("size", f"{facts['size'] / 1e6:,.1f} MB"),
        ("checksum", facts["checksum"]),
    ]
    for label, value in rows:
        print(f"{label:<10} {value}")
    print()
    width = max((len(name) for name in facts["counts"]), default=0)
    for name, count in (*facts["counts"].items(), ("total", facts["resources"])):
        print(f"{name:<{max(width, 10)}} {count:>12,}")


class _Progress:
    """A line of progress on standard error: rewritten on a terminal, a few plain lines elsewhere."""

    def __init__(self, verb: str, unit: str) -> None:
        self._verb, self._unit = verb, unit
        self._live = sys.stderr.isatty()
        self._shown = 0
        self._open = False

    def __enter__(self) -> Callable[[int, int], None]:
        return self._step

    def __exit__(self, *_: object) -> None:
        if self._open:
            print(file=sys.stderr)

    def _step(self, done: int, total: int) -> None:
        share = 100 * done // max(total, 1)
        mark = share if self._live else share // 20
        if mark == self._shown:
            return
        self._shown = mark
        text = f"{self._verb}: {done:,} of {total:,} {self._unit} ({share} %)"
        if self._live:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(text, file=sys.stderr, flush=True)


def _add_output(parser: Parser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        dest="output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the chart file to write",
    )


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="describe the chart as JSON")


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not 0 <= seed < 1 << 63:
        raise argparse.ArgumentTypeError("a seed is from 0 to 2**63 - 1")
    return seed


def _refuse_other_files(path: Path) -> None:
    """A build may take the place of a chart, of whatever format, but of no other file."""
    from .chart.schema import APPLICATION_ID

    if path.is_dir():
        raise UserError(f"{path} is a folder", mend="name the file to write")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            header = file.read(72)
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}", mend="name another file") from error
    # The SQLite file format: a magic string, and the application id at offset 68.
    if not header.startswith(b"SQLite format 3\0") or header[68:72] != APPLICATION_ID.to_bytes(4, "big"):
        raise UserError(f"{path} exists and is not a chart", mend="remove it, or name another file")
