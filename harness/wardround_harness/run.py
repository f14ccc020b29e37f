"""`wardround run` from plan to summary: open what the plan names, play what is missing, sum up."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_tasks.task import Task

from .agents.base import Agent
from .attempts import Job, Line, References
from .baselines import baseline_scores
from .engine import Engine, Outcome
from .executors import open_executor
from .ground import JOURNAL, Ground, make_manifest, open_ground
from .keeping import Keeper
from .ledger import OWED
from .plan import Lane, RunPlan
from .progress import Progress, Tally
from .redact import Redactor, secrets_of
from .runs import SUMMARY, RunWriter, write_json, write_private
from .summary import Key, line_status, summarise

REPORT: Final = "report.html"
COMPARISON: Final = "compare.json"


def make_jobs(tasks: Sequence[Task], repeats: int, lanes: Sequence[Lane], seed: int) -> list[Job]:
    """Every job of a run. With two protocols the seed draws their order, so that neither comes first."""
    jobs = [Job(task, repeat, lane) for repeat in range(repeats) for task in tasks for lane in lanes]
    if len(lanes) > 1:
        random.Random(seed).shuffle(jobs)  # noqa: S311 - an order of work, not a secret
    return jobs


@dataclass(slots=True)
class Report:
    """What came of a run: its folders' summaries by protocol, how it ended, and its exit code."""

    summaries: dict[Lane, dict[str, Any]]
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def exit_code(self) -> int:
        """0 whole, 3 while anything is owed."""
        owed = any(summary["ledger"].get(status) for summary in self.summaries.values() for status in OWED)
        return 3 if owed else 0


async def execute(plan: RunPlan, *, signals: bool = True) -> Report:
    """Carry a plan out and leave its run folders summed up.

    Raises UserError for bad input before anything is written, for a refused key (exit 2), and for
    a disk that takes no more (exit 3).
    """
    async with open_ground(plan) as ground:
        folders: dict[Lane, RunWriter] = {}
        references = References(ground.backend)
        with ExitStack() as stack:
            try:
                for lane in plan.lanes:
                    folders[lane] = open_folder(ground, lane, stack)
                outcome = await play_missing(ground, folders, references, signals=signals)
                if outcome.fatal is not None:
                    raise outcome.fatal
            except UserError as error:
                if error.exit_code == 2:
                    take_back(plan, folders)
                raise
            summaries = {
                lane: await conclude(ground, lane, folder, references) for lane, folder in folders.items()
            }
        report = Report(summaries, outcome)
        write_reports(plan, whole=report.exit_code == 0)
    return report


async def play_missing(
    ground: Ground, folders: Mapping[Lane, RunWriter], references: References, *, signals: bool
) -> Outcome:
    """Play the jobs that the folders lack, keeping each line as it comes; how that ended."""
    plan = ground.plan
    jobs = make_jobs(ground.tasks, plan.repeats, plan.lanes, plan.seed)
    missing = [job for job in jobs if (job.task.id, job.repeat) not in folders[job.lane].done]
    spent = sum(folder.spent for folder in folders.values())
    tally = Tally(len(jobs), already=len(jobs) - len(missing))
    keepers = {lane: Keeper(folder.append) for lane, folder in folders.items()}
    async with open_executor(ground, references, spent) as play_job:
        with Progress(short_name(plan.model), tally) as progress:

            async def play(job: Job) -> None:
                async def keep(line: Line) -> None:
                    await keepers[job.lane](line)
                    progress.add(line)

                await play_job(job, keep)

            return await Engine(play, plan.concurrency).run(missing, signals=signals)


def open_folder(ground: Ground, lane: Lane, stack: ExitStack) -> RunWriter:
    """The run folder of a protocol, closed with the stack."""
    plan = ground.plan
    redact = Redactor(secrets_of(urls=(plan.fhir, plan.base_url, plan.mcp), files=plan.secret_files))
    manifest = make_manifest(ground, lane)
    folder = RunWriter.open(plan.folder(lane), manifest, resume=plan.resume, redact=redact)
    stack.callback(folder.close)
    return folder


def take_back(plan: RunPlan, folders: Mapping[Lane, RunWriter]) -> None:
    """Leave nothing half-written: remove what this run made if no model said anything in it."""
    fresh = all(folder.created and not folder.worth_keeping for folder in folders.values())
    if fresh:
        shutil.rmtree(plan.out / JOURNAL, ignore_errors=True)
    for folder in folders.values():
        folder.discard()
    if fresh:
        with suppress(OSError):
            plan.out.rmdir()


def write_reports(plan: RunPlan, *, whole: bool) -> None:
    """`report.html` of each run folder and, of both protocols and once whole, `compare.json`."""
    from .compare import compare_runs
    from .reading import read_run
    from .report import render_report

    runs = [read_run(plan.folder(lane), name=lane, results=False) for lane in plan.lanes]
    for run in runs:
        write_private(run.path / REPORT, render_report([run]).encode())
    if len(runs) == 2 and whole:
        # Same tasks and same chart by construction, though a remote chart has no checksum to show it.
        comparison = compare_runs(runs[1], runs[0], seed=plan.seed, allow_different=True)
        write_json(plan.out / COMPARISON, comparison)


async def conclude(ground: Ground, lane: Lane, folder: RunWriter, references: References) -> dict[str, Any]:
    """Put a run folder in order and write its summary."""
    plan = ground.plan
    order: dict[Key, int] = {
        (job.task.id, job.repeat): place
        for place, job in enumerate(make_jobs(ground.tasks, plan.repeats, (lane,), plan.seed))
    }
    folder.settle(order)
    if isinstance(ground.agent, Agent):
        folder.note_settings(ground.agent.setting_notes(plan.settings))
    summary = summarise(
        list(_slim(folder.lines())),
        ground.tasks,
        repeats=plan.repeats,
        expected=len(order),
        baselines=await baseline_scores(ground.tasks, references),
    )
    write_json(folder.path / SUMMARY, summary)
    return summary


def short_name(model: str) -> str:
    """A model's name short enough for a line of progress and the head of a table."""
    return model if len(model) <= 40 else model[:37] + "..."


def _slim_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Failures are kept: harms are counted from them."""
    return {"passed": verdict["passed"], "failures": verdict["failures"]}


def _slim(lines: Iterator[Line]) -> Iterator[Line]:
    """What a summary needs of each line: a run of thousands is many megabytes of what was said."""
    for line in lines:
        verdicts = line.get("verdicts")
        yield {
            "task_id": line["task_id"],
            "repeat": line.get("repeat", 0),
            "attempt": {"status": line_status(line)},
            "usage": line.get("usage"),
            "cost_usd": line.get("cost_usd"),
            "verdicts": verdicts and {name: _slim_verdict(each) for name, each in verdicts.items()},
        }
