"""`wardround grade` and `wardround tasks`: task sets, and verdicts on attempts that anyone made."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

if TYPE_CHECKING:
    from wardround_server.backends import Backend
    from wardround_tasks.reference import Reference
    from wardround_tasks.survey import CodeMap, Progress

TASKS_HELP = "bundled, a task FILE, or medagentbench:FILE"
FHIR_HELP = "embedded, a chart FILE.db, a FILE or FOLDER of resources, or a server's URL"
SIGN_IN = {
    "token_file": "file with the FHIR server's bearer token",
    "client_id": "client id for SMART Backend Services",
    "key_file": "file with the private key of that client",
    "token_url": "token endpoint for that client",
    "cert": "client certificate, PEM with its key",
}
"""Options of a remote FHIR server, each after --fhir-."""
SHOWN_FINDINGS = 20


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Register `grade` and `tasks`; each sets `run`, a function of the parsed arguments."""
    grade = subparsers.add_parser("grade", help="judge attempts under both rule sets")
    grade.add_argument("attempts", metavar="ATTEMPTS.jsonl", help="one attempt a line")
    grade.option("--tasks", default="bundled", metavar="T", help=TASKS_HELP)
    _fhir_options(grade)
    grade.add_argument(
        "-o", "--output", required=True, metavar="VERDICTS.jsonl", help="one verdict line an attempt"
    )
    grade.set_defaults(run=run_grade)
    tasks = subparsers.add_parser("tasks", help="list, show, generate, check and certify tasks")
    parts = tasks.add_subparsers(dest="part", metavar="list|show|generate|check|certify", required=True)
    _add_reading(parts)
    _add_making(parts)


def _fhir_options(parser: Parser) -> None:
    parser.option("--fhir", default="embedded", metavar="F", help=FHIR_HELP)
    for name, meaning in SIGN_IN.items():
        parser.option(f"--fhir-{name.replace('_', '-')}", metavar="X", help=meaning)


def _add_reading(parts: argparse._SubParsersAction[Parser]) -> None:
    listing = parts.add_parser("list", help="ids, kinds, difficulties and branches of a set")
    listing.option("--tasks", default="bundled", metavar="T", help=TASKS_HELP)
    listing.set_defaults(run=run_list)
    show = parts.add_parser("show", help="one task in full")
    show.add_argument("task_id", metavar="ID")
    show.option("--tasks", default="bundled", metavar="T", help=TASKS_HELP)
    show.add_argument("--json", action="store_true", help="the task's record")
    show.set_defaults(run=run_show)


def _add_making(parts: argparse._SubParsersAction[Parser]) -> None:
    generate = parts.add_parser("generate", help="make a fresh set from any chart or FHIR server")
    _fhir_options(generate)
    generate.option("--seed", type=int, required=True, metavar="N", help="same seed and data, same tasks")
    generate.option(
        "--codes", metavar="FILE", help="JSON map from MG, GLU, K, A1C, BP, ... to the server's codes"
    )
    generate.option("--now", metavar="TIME", help="set all tasks at this dateTime with a zone")
    generate.add_argument("-o", "--output", required=True, metavar="FILE")
    generate.set_defaults(run=run_generate)
    check = parts.add_parser("check", help="prove that a set is solvable on a chart")
    check.add_argument("file", metavar="FILE", help=TASKS_HELP)
    _fhir_options(check)
    check.set_defaults(run=run_check)
    certify = parts.add_parser("certify", help="try the graders on right, wrong and mutated attempts")
    certify.add_argument("--markdown", action="store_true", help="the table of docs/grading.md")
    certify.set_defaults(run=run_certify)


def run_grade(args: argparse.Namespace) -> int:
    """`wardround grade`: read everything, judge, then write the verdicts in one step."""
    return asyncio.run(_grade(args))


async def _grade(args: argparse.Namespace) -> int:
    from wardround_tasks.check import unknown_patients
    from wardround_tasks.grading import grade, read_reference
    from wardround_tasks.loading import load_attempts, load_tasks

    task_set = load_tasks(args.tasks)
    attempts = load_attempts(args.attempts, task_set)
    references: dict[str, Reference] = {}
    lines: list[str] = []
    passed: Counter[str] = Counter()
    say = progress_line("attempts graded")
    async with opened(args) as chart:
        for done, attempt in enumerate(attempts, start=1):
            task = task_set.by_id[attempt.task_id]
            if task.id not in references:
                references[task.id] = await read_reference(task, chart)
            verdicts = grade(task, attempt, references[task.id])
            passed["medagentbench"] += verdicts.medagentbench.passed
            passed["clinical"] += verdicts.clinical.passed
            lines.append(json.dumps(verdicts.to_json()))
            say(done, len(attempts))
        strangers = await unknown_patients([task_set.by_id[task_id] for task_id in references], chart)
    if strangers:
        some = f"{len(strangers)} of the tasks' patients are not in this chart ({strangers[0]}, ...)"
        print(f"{some}: is --fhir right?", file=sys.stderr)
    write_private(args.output, lines)
    scores = ", ".join(f"{rules} {count} passed" for rules, count in passed.items())
    print(f"{len(lines)} verdicts in {args.output}" + (f": {scores}" if scores else ""), file=sys.stderr)
    return 0


def run_list(args: argparse.Namespace) -> int:
    """`wardround tasks list`: one line a task."""
    from wardround_tasks.loading import load_tasks

    task_set = load_tasks(args.tasks)
    for task in task_set.tasks:
        mrn = task.patient.mrn if task.patient is not None else "-"
        print(f"{task.id:10} {task.kind:6} {task.difficulty:6} {mrn:12} {task.branch}")
    print(f"{len(task_set.tasks)} tasks, {task_set.name}, {task_set.checksum}", file=sys.stderr)
    return 0


def run_show(args: argparse.Namespace) -> int:
    """`wardround tasks show`: what an agent is told, and the branch that it is in."""
    from wardround_tasks.loading import load_tasks

    task = load_tasks(args.tasks).by_id.get(args.task_id)
    if task is None:
        raise UserError(f"there is no task {args.task_id!r}", mend="'wardround tasks list' names them")
    if args.json:
        print(json.dumps(task.to_json(), indent=2, ensure_ascii=False))
        return 0
    print(f"{task.id}: {task.kind}, {task.difficulty} (assigned), branch {task.branch}\n")
    print(f"{task.instruction.strip()}\n\n{task.context.strip()}")
    return 0


def run_generate(args: argparse.Namespace) -> int:
    """`wardround tasks generate`: a set from a chart, and what the chart could not supply."""
    return asyncio.run(_generate(args))


async def _generate(args: argparse.Namespace) -> int:
    from wardround_tasks.generate import generate_tasks, generated_document
    from wardround_tasks.instants import parse_instant

    now = None if args.now is None else parse_instant(args.now)
    if args.now is not None and now is None:
        raise UserError(
            f"--now {args.now!r} is not a dateTime with a zone", mend="such as 2023-11-13T10:15:00+00:00"
        )
    codes = read_codes(args.codes)
    async with opened(args) as chart:
        made = await generate_tasks(chart, args.seed, codes, now=now, progress=progress_line("patients read"))
    for short in made.shortages:
        stand_in = f", {short.filled} others of its kind instead" if short.filled else ""
        print(
            f"{short.category} {short.branch}: {short.supplied} of {short.wanted}{stand_in}", file=sys.stderr
        )
    if not made.tasks:
        raise UserError("the chart supplies no task at all", mend="map its codes with --codes")
    write_private(args.output, generated_document(made, args.seed).rstrip("\n").split("\n"))
    print(f"{len(made.tasks)} tasks in {args.output}", file=sys.stderr)
    return 0


def read_codes(path: str | None) -> CodeMap:
    """The code map of a file, the benchmark's own codes without one."""
    from wardround_tasks.survey import CodeMap

    if path is None:
        return CodeMap()
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}", mend="give a JSON file") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not JSON", mend='write {"MG": "...", "K": "..."}') from None
    return CodeMap.from_json(record, path)


def run_check(args: argparse.Namespace) -> int:
    """`wardround tasks check`: 0 where every task is solvable and computed alike twice, else 1."""
    return asyncio.run(_check(args))


async def _check(args: argparse.Namespace) -> int:
    from wardround_tasks.check import OURS, check_tasks
    from wardround_tasks.loading import load_tasks

    from .oracle_check import oracle_findings

    task_set = load_tasks(args.file)
    async with opened(args) as chart:
        findings = await check_tasks(task_set.tasks, chart, progress=progress_line("tasks checked"))
        findings += await oracle_findings(
            task_set, chart, progress=progress_line("tasks tried by the oracle")
        )
    for finding in findings[:SHOWN_FINDINGS]:
        print(f"{finding.task_id}: {finding.problem}")
    if len(findings) > SHOWN_FINDINGS:
        print(f"... and {len(findings) - SHOWN_FINDINGS} more")
    broken = len({finding.task_id for finding in findings})
    others = sum(task.category not in OURS for task in task_set.tasks)
    if others:
        print(f"of {others} tasks of plugins' categories the reference solutions alone were tried")
    print(f"{len(task_set.tasks) - broken} of {len(task_set.tasks)} tasks are solvable and agree")
    return 1 if findings else 0


def run_certify(args: argparse.Namespace) -> int:
    """`wardround tasks certify`: 0 where every harmful mutant dies and every survivor is known, else 1."""
    from wardround_tasks.certify import certify, markdown, plain

    certificate = certify()
    print(markdown(certificate) if args.markdown else plain(certificate))
    return 0 if certificate.holds else 1


@asynccontextmanager
async def opened(args: argparse.Namespace) -> AsyncIterator[Backend]:
    """The chart of --fhir, signed in to where it is a server, closed afterwards."""
    from wardround_server.backends import open_backend

    auth = None
    if "://" in args.fhir:
        from wardround_server.backends.auth import RemoteAuth

        told = {name: getattr(args, f"fhir_{name}") for name in SIGN_IN}
        auth = RemoteAuth.from_environment(
            token_file=_path(told["token_file"]),
            client_id=told["client_id"],
            key_file=_path(told["key_file"]),
            token_url=told["token_url"],
            cert_file=_path(told["cert"]),
        )
    backend = await open_backend(args.fhir, auth)
    try:
        yield backend
    finally:
        await backend.aclose()


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def progress_line(what: str) -> Progress:
    """Says on standard error, where that is a terminal, how far a long reading has come."""
    shown = sys.stderr.isatty()

    def say(done: int, total: int) -> None:
        if shown:
            print(f"\r{done}/{total} {what}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return say


def write_private(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file that only its owner can read, whole or not at all."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in lines)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise UserError(
            f"can't write {path}: {error.strerror}", mend="name a file in a folder that exists"
        ) from None
