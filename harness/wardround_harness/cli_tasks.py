"""`wardround grade` and `wardround tasks`: task sets, and verdicts on attempts that anyone made."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError

if TYPE_CHECKING:
    from wardround_server.backends.base import Backend
    from wardround_tasks.reference import Reference

TASKS_HELP = "bundled, a task FILE, or medagentbench:FILE"
FHIR_HELP = "embedded, a chart FILE.db, a FILE or FOLDER of resources, or a server's URL"


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register `grade` and `tasks`; each sets `run`, a function of the parsed arguments."""
    grade = subparsers.add_parser("grade", help="judge attempts under both rule sets")
    grade.add_argument("attempts", metavar="ATTEMPTS.jsonl", help="one attempt a line")
    _option(grade, "--tasks", default="bundled", help=TASKS_HELP)
    _option(grade, "--fhir", default="embedded", help=FHIR_HELP)
    _option(
        grade, "--output", "-o", required=True, metavar="VERDICTS.jsonl", help="one verdict line an attempt"
    )
    grade.set_defaults(run=run_grade)


def _option(parser: argparse.ArgumentParser, *flags: str, **kwargs: object) -> None:
    parser.add_argument(*flags, **kwargs)  # type: ignore[arg-type]


def run_grade(args: argparse.Namespace) -> int:
    """`wardround grade`: read everything, judge, then write the verdicts in one step."""
    return asyncio.run(_grade(args))


async def _grade(args: argparse.Namespace) -> int:
    from wardround_tasks.grading import grade, read_reference
    from wardround_tasks.loading import load_attempts, load_tasks

    task_set = load_tasks(args.tasks)
    attempts = load_attempts(args.attempts, task_set)
    references: dict[str, Reference] = {}
    lines: list[str] = []
    async with opened(args.fhir) as chart:
        for _, attempt in attempts:
            task = task_set.by_id[attempt.task_id]
            if task.id not in references:
                references[task.id] = await read_reference(task, chart)
            lines.append(json.dumps(grade(task, attempt, references[task.id]).to_json()))
    write_private(args.output, lines)
    print(f"{len(lines)} verdicts in {args.output}", file=sys.stderr)
    return 0


@asynccontextmanager
async def opened(spec: str) -> AsyncIterator[Backend]:
    """A chart for reading, closed afterwards."""
    from wardround_server.backends import open_backend

    backend = await open_backend(spec)
    try:
        yield backend
    finally:
        await backend.aclose()


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


Command = Callable[[argparse.Namespace], Awaitable[int]]
