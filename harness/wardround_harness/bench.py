"""The bench of a process: server, sessions and agent, set up to play any job of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from wardround_schemas.formats import export
from wardround_server.journal import Journal
from wardround_server.service import Service

from .agents.base import Agent
from .attempts import Bench, ModelPlayer, Player, References
from .costs import Purse
from .ground import Ground, budget_of, server_settings
from .houses import LocalHouse
from .limits import Caller, RateLimiter


@asynccontextmanager
async def open_bench(
    ground: Ground, references: References, *, journal: Path, spent: float, concurrency: int
) -> AsyncIterator[Bench]:
    """Set up a bench in this process.

    `journal` is the folder of the captures, `spent` what the run has cost so far in US dollars,
    `concurrency` how many requests may be under way at once.
    """
    opened = Journal(journal)
    try:
        service = Service(ground.backend, opened, server_settings(ground.plan))
        house = ground.remote if ground.remote is not None else LocalHouse(service)
        async with open_player(ground, service, spent, concurrency) as player:
            yield Bench(house, player, references, budget_of(ground))
    finally:
        opened.close()


@asynccontextmanager
async def open_player(
    ground: Ground, service: Service, spent: float, concurrency: int
) -> AsyncIterator[Player]:
    """The round loop around a model, or a listener for a program. `spent` is what the run has cost so far."""
    plan, agent = ground.plan, ground.agent
    if isinstance(agent, Agent):
        purse = Purse(ground.price, plan.max_cost, spent)
        yield ModelPlayer(
            caller=Caller(agent, plan.settings, RateLimiter(concurrency), purse),
            prompts=ground.prompts,
            budget=budget_of(ground),
            fhir_base=ground.backend.base_url,
            functions=export("medagentbench", plan.profile),
        )
        return
    from .programs import ProgramPlayer, TaskPrompts, listening

    served = TaskPrompts()
    async with listening(service, served) as base:
        yield ProgramPlayer(agent, ground.prompts, plan.rounds, base, served)
