"""What a plan names, opened and checked: tasks, chart, agent, words, price; and the manifest of that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_schemas.formats import export
from wardround_server.backends.base import Backend, ChartInfo, open_backend
from wardround_server.service import remote_auth
from wardround_server.settings import ServerSettings
from wardround_tasks.loading import TaskSet, load_tasks
from wardround_tasks.task import Task

from .agents.base import Agent, ProgramAgent
from .agents.registry import open_agent
from .consent import check_consent
from .costs import FREE, Price, load_price
from .loop import Budget
from .manifest import FORMAT_VERSION, checksum, library_versions, public_url
from .plan import Lane, RunPlan
from .prompts import Prompts
from .remote_house import RemoteHouse, RemoteServer

JOURNAL: Final = "journal"
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
        settings = server_settings(plan)
        backend = await open_backend(plan.fhir, remote_auth(settings), page_size=settings.page_size)
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
        fhir_token_file=plan.fhir_token_file,
        fhir_client_id=plan.fhir_client_id,
        fhir_key_file=plan.fhir_key_file,
        fhir_token_url=plan.fhir_token_url,
        fhir_cert=plan.fhir_cert,
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


def budget_of(ground: Ground) -> Budget:
    """The rounds of an attempt. A program's turns can't be seen, so its calls are counted."""
    by_turn = ground.plan.settings.parallel_tools and isinstance(ground.agent, Agent)
    return Budget(ground.plan.rounds, by_turn=by_turn)
