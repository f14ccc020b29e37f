"""`wardround run` from plan to summary: open what the plan names, play what is missing, sum up."""

from __future__ import annotations

import random
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_schemas.formats import export
from wardround_server.backends.base import Backend, ChartInfo, open_backend
from wardround_server.journal import Journal
from wardround_server.service import Service
from wardround_server.settings import ServerSettings
from wardround_tasks.loading import TaskSet, load_tasks
from wardround_tasks.task import Task

from .agents.base import Agent, ProgramAgent
from .agents.registry import open_agent
from .attempts import Bench, Job, Line, ModelPlayer, Player, References, play_job
from .baselines import baseline_scores
from .consent import check_consent
from .costs import FREE, Price, Purse, load_price
from .engine import Engine, Outcome
from .houses import LocalHouse
from .keeping import Keeper
from .ledger import OWED
from .limits import Caller, RateLimiter
from .loop import Budget
from .manifest import FORMAT_VERSION, checksum, library_versions, public_url
from .plan import Lane, RunPlan
from .progress import Progress, Tally
from .prompts import Prompts
from .redact import Redactor, secrets_of
from .remote_house import RemoteHouse, RemoteServer
from .runs import SUMMARY, RunWriter, write_json, write_private
from .summary import Key, line_status, summarise

JOURNAL: Final = "journal"
REPORT: Final = "report.html"
COMPARISON: Final = "compare.json"

NEVER: Final = 10 * 365 * 86_400.0
"""Seconds of idleness after which a run's session would end: it ends with its attempt, not before."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a plan names, opened: the tasks to do, the chart, the agent, the words, the price."""

    plan: RunPlan
    task_set: TaskSet
    tasks: tuple[Task, ...]
    backend: Backend
    chart: ChartInfo
    agent: Agent | ProgramAgent
    prompts: Prompts
    price: Price | None
    remote: RemoteHouse | None = None
    server: RemoteServer | None = None


@asynccontextmanager
async def open_ground(plan: RunPlan) -> AsyncIterator[Ground]:
    """Open and check everything that a plan names; nothing is written yet.

    UserError for whatever of it is wrong, consent to send the chart's records included.
    """
    task_set = load_tasks(plan.tasks)
    tasks = select_tasks(task_set, plan.only, plan.limit)
    prompts = Prompts.load(plan.system_prompt, plan.prompt_file)
    async with AsyncExitStack() as stack:
        backend = await open_backend(plan.fhir, page_size=server_settings(plan).page_size)
        stack.push_async_callback(backend.aclose)
        agent = open_agent(
            plan.model,
            tasks=tasks,
            fhir_base=backend.base_url,
            protocols=plan.lanes,
            base_url=plan.base_url,
            time_limit=plan.time_limit,
        )
        stack.push_async_callback(agent.aclose)
        if isinstance(agent, ProgramAgent):
            check_program(plan)
        remote = open_remote(plan)
        server = None
        if remote is not None:
            stack.push_async_callback(remote.aclose)
            server = await remote.survey()
        synthetic = server.synthetic if server is not None else backend.synthetic
        check_consent(agent, synthetic=synthetic, allowed=plan.allow_chart_to_provider)
        price, chart = price_of(agent, plan), await backend.info()
        yield Ground(plan, task_set, tasks, backend, chart, agent, prompts, price, remote, server)


def check_program(plan: RunPlan) -> None:
    """UserError for what a program as an agent can't do."""
    if plan.lanes != ("native",):
        raise UserError(
            f"--protocol {plan.protocol}: a program speaks MCP alone", mend="use --protocol native"
        )
    if plan.mcp is not None:
        raise UserError(
            "--mcp with command: would hide the program's calls from the run",
            mend="leave --mcp away: the program is given a server of the run's own",
        )


def open_remote(plan: RunPlan) -> RemoteHouse | None:
    """The server that `--mcp` names, None without it."""
    if plan.mcp is None:
        return None
    token: str | None = None
    if plan.mcp_token_file is not None:
        try:
            token = plan.mcp_token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"--mcp-token-file {plan.mcp_token_file} can't be read", mend=str(error)
            ) from error
    return RemoteHouse(plan.mcp, token)


def select_tasks(task_set: TaskSet, only: Sequence[str], limit: int | None) -> tuple[Task, ...]:
    """The tasks that a run is to do, in the set's order.

    `only` names tasks (`task9_3`) or whole categories (`task5`); `limit` then keeps the first so
    many. UserError for a name that fits nothing.
    """
    chosen = task_set.tasks
    if only:
        for name in only:
            if not any(name in (task.id, task.category) for task in chosen):
                raise UserError(
                    f"--only {name}: {task_set.name} has no such task",
                    mend="`wardround tasks list` names them",
                )
        chosen = tuple(task for task in chosen if task.id in only or task.category in only)
    return chosen if limit is None else chosen[:limit]


def price_of(agent: Agent | ProgramAgent, plan: RunPlan) -> Price | None:
    """What the agent's tokens cost, None where that is unknown. UserError for --max-cost without a price."""
    if isinstance(agent, Agent) and agent.price_key is None:
        return FREE
    price = load_price(agent.price_key, plan.prices) if agent.price_key is not None else None
    if price is None and plan.max_cost is not None:
        raise UserError(
            f"--max-cost can't be kept: the price of {agent.name} is not known",
            mend="give it in a file with --prices, or leave --max-cost away",
        )
    return price


def server_settings(plan: RunPlan) -> ServerSettings:
    """The settings of the server behind a run: writes are captured, whatever else is asked."""
    return ServerSettings(
        fhir=plan.fhir,
        writes="capture",
        results=plan.results,
        profile=plan.profile,
        journal=plan.out / JOURNAL,
        max_sessions=max(1024, 2 * plan.concurrency),
        session_idle_seconds=NEVER,
    )


def make_manifest(ground: Ground, lane: Lane) -> dict[str, Any]:
    """The manifest of one run folder."""
    plan, agent = ground.plan, ground.agent
    settings = server_settings(plan)
    return {
        "format_version": FORMAT_VERSION,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": plan.model,
        "destination": public_url(agent.destination) if agent.destination is not None else None,
        "protocol": lane,
        "rounds": plan.rounds,
        "round_unit": "turn" if budget_of(ground).by_turn else "call",
        "repeats": plan.repeats,
        "seed": plan.seed,
        "settings": asdict(plan.settings),
        "setting_notes": list(agent.setting_notes(plan.settings)) if isinstance(agent, Agent) else [],
        "tasks": {
            "spec": plan.tasks,
            "name": ground.task_set.name,
            "source": ground.task_set.source,
            "checksum": ground.task_set.checksum,
            "ids": [task.id for task in ground.tasks],
        },
        "chart": {
            "name": ground.chart.name,
            "checksum": ground.chart.checksum,
            "synthetic": ground.backend.synthetic,
            "base_url": public_url(ground.backend.base_url),
            "patients": ground.chart.patients,
        },
        "server": {
            "profile": settings.profile,
            "results": settings.results,
            "names": settings.names,
            "page_size": settings.page_size,
            "max_result_bytes": settings.max_result_bytes,
            "functions_sha256": functions_checksum(ground),
            "mcp": ground.server.url if ground.server is not None else None,
        },
        "prompts": ground.prompts.manifest(),
        "price": asdict(ground.price) if ground.price is not None else None,
        "executor": plan.executor,
        "concurrency": plan.concurrency,
        "versions": library_versions(),
    }


def functions_checksum(ground: Ground) -> str:
    """Checksum of the tools that the agent is shown, as they are listed."""
    if ground.server is None:
        return checksum(export("mcp", ground.plan.profile))
    return checksum([asdict(tool) for tool in ground.server.tools])


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
        with ExitStack() as stack:
            folders = {lane: open_folder(ground, lane, stack) for lane in plan.lanes}
            references = References(ground.backend)
            journal = open_journal(plan, stack)
            service = Service(ground.backend, journal, server_settings(plan))
            outcome = await _play(ground, folders, service, references, signals=signals)
            if outcome.fatal is not None and outcome.fatal.exit_code == 2:
                journal.close()
                take_back(plan, folders)
                raise outcome.fatal
            summaries = {
                lane: await conclude(ground, lane, folder, references) for lane, folder in folders.items()
            }
            if outcome.fatal is not None:
                raise outcome.fatal
        report = Report(summaries, outcome)
        write_reports(plan, whole=report.exit_code == 0)
    return report


def open_folder(ground: Ground, lane: Lane, stack: ExitStack) -> RunWriter:
    """The run folder of a protocol, closed with the stack."""
    plan = ground.plan
    files = () if plan.mcp_token_file is None else (plan.mcp_token_file,)
    redact = Redactor(secrets_of(urls=(plan.fhir, plan.base_url, plan.mcp), files=files))
    manifest = make_manifest(ground, lane)
    folder = RunWriter.open(plan.folder(lane), manifest, resume=plan.resume, redact=redact)
    stack.callback(folder.close)
    return folder


def open_journal(plan: RunPlan, stack: ExitStack) -> Journal:
    """The journal of the run's captures, closed with the stack."""
    journal = Journal(plan.out / JOURNAL)
    stack.callback(journal.close)
    return journal


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


async def _play(
    ground: Ground,
    folders: Mapping[Lane, RunWriter],
    service: Service,
    references: References,
    *,
    signals: bool,
) -> Outcome:
    plan = ground.plan
    jobs = make_jobs(ground.tasks, plan.repeats, plan.lanes, plan.seed)
    missing = [job for job in jobs if (job.task.id, job.repeat) not in folders[job.lane].done]
    spent = sum(folder.spent for folder in folders.values())
    tally = Tally(len(jobs), already=len(jobs) - len(missing))
    async with open_player(ground, service, spent) as player:
        bench = make_bench(ground, service, references, player)
        with Progress(short_name(plan.model), tally) as progress:
            return await _play_jobs(missing, bench, folders, progress, plan, signals=signals)


async def _play_jobs(
    jobs: Sequence[Job],
    bench: Bench,
    folders: Mapping[Lane, RunWriter],
    progress: Progress,
    plan: RunPlan,
    *,
    signals: bool,
) -> Outcome:
    keepers = {lane: Keeper(folder.append) for lane, folder in folders.items()}

    async def play(job: Job) -> None:
        async def keep(line: Line) -> None:
            await keepers[job.lane](line)
            progress.add(line)

        await play_job(job, bench, keep)

    return await Engine(play, plan.concurrency).run(jobs, signals=signals)


def make_bench(ground: Ground, service: Service, references: References, player: Player) -> Bench:
    """What the attempts of a run share."""
    house = ground.remote if ground.remote is not None else LocalHouse(service)
    return Bench(house, player, references, budget_of(ground))


def budget_of(ground: Ground) -> Budget:
    """The rounds of an attempt. A program's turns can't be seen, so its calls are counted."""
    by_turn = ground.plan.settings.parallel_tools and isinstance(ground.agent, Agent)
    return Budget(ground.plan.rounds, by_turn=by_turn)


@asynccontextmanager
async def open_player(ground: Ground, service: Service, spent: float) -> AsyncIterator[Player]:
    """The round loop around a model, or a listener for a program. `spent` is what the run has cost so far."""
    plan, agent = ground.plan, ground.agent
    if isinstance(agent, Agent):
        purse = Purse(ground.price, plan.max_cost, spent)
        yield ModelPlayer(
            caller=Caller(agent, plan.settings, RateLimiter(plan.concurrency), purse),
            prompts=ground.prompts,
            budget=budget_of(ground),
            fhir_base=ground.backend.base_url,
            functions=export("medagentbench", plan.profile),
        )
        return
    from .programs import ProgramPlayer, listening

    async with listening(service) as base:
        yield ProgramPlayer(agent, ground.prompts, plan.rounds, base)


async def conclude(ground: Ground, lane: Lane, folder: RunWriter, references: References) -> dict[str, Any]:
    """Put a run folder in order and write its summary."""
    plan = ground.plan
    order: dict[Key, int] = {
        (job.task.id, job.repeat): place
        for place, job in enumerate(make_jobs(ground.tasks, plan.repeats, (lane,), plan.seed))
    }
    folder.settle(order)
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
            "verdicts": verdicts and {name: {"passed": each["passed"]} for name, each in verdicts.items()},
        }
