# mypy: disable-error-code="import-not-found,untyped-decorator,no-any-return,misc,unused-ignore"
"""The tasks as an Inspect AI task (`wardround[inspect]`): `inspect eval wardround/bundled --model ...`.

Inspect asks the model, keeps the log and aggregates; the round loop, the tools over the MCP server, the
capture of writes and both rule sets are those of `wardround run`. Task parameters (`-T name=value`):
tasks, fhir, protocol, rounds, profile, results, allow_chart_to_provider.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from inspect_ai import Task, task
from inspect_ai._util.registry import RegistryInfo, registry_add, registry_info
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCallError, ToolInfo, ToolParams

from wardround_schemas.errors import UserError
from wardround_schemas.formats import export
from wardround_server.backends.base import open_backend
from wardround_server.journal import Journal
from wardround_server.service import Service
from wardround_server.settings import ServerSettings
from wardround_tasks.loading import load_tasks

from .agents.base import (
    Message,
    Settings,
    Stop,
    Tool,
    ToolCall,
    Transcript,
    Turn,
    Usage,
    UserMessage,
)
from .attempts import Bench, Job, Line, ModelPlayer, Player, References, play_job
from .costs import Purse
from .doors import Door
from .houses import LocalHouse
from .ledger import SCORED
from .limits import Caller, RateLimiter, RetryPolicy
from .loop import Budget, Play
from .plan import Lane
from .prompts import Prompts
from .summary import RULES

NAME: Final = "wardround/bundled"
LINE: Final = "wardround"
"""Where a sample's store keeps its run line."""

STOPS: Final[dict[str, Stop]] = {
    "stop": "end",
    "tool_calls": "tool_calls",
    "max_tokens": "max_tokens",
    "model_length": "context_limit",
    "content_filter": "content_filter",
}


class InspectModel:
    """The model that Inspect runs, as an agent: Inspect retries, caches and logs its requests.

    `output` is its last answer, `failure` what Inspect raised instead of one.
    """

    name = "inspect"
    destination: str | None = None
    price_key: str | None = None

    def __init__(self) -> None:
        self.output: ModelOutput | None = None
        self.failure: Exception | None = None

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """One generation. What the model said goes back as Inspect's own message, reasoning included."""
        infos = [ToolInfo(name=t.name, description=t.description, parameters=params_of(t)) for t in tools]
        config = GenerateConfig(parallel_tool_calls=settings.parallel_tools) if tools else GenerateConfig()
        try:
            self.output = await get_model().generate(chat_of(transcript), tools=infos, config=config)
        except Exception as error:
            self.failure = error
            raise
        return turn_of(self.output)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """Settings are Inspect's own."""
        return ("settings are those given to inspect",)

    async def aclose(self) -> None:
        """Inspect closes its model."""


def params_of(tool: Tool) -> ToolParams:
    """A tool's input schema in Inspect's terms."""
    return ToolParams.model_validate(dict(tool.input_schema))


def chat_of(transcript: Transcript) -> list[ChatMessage]:
    """A transcript as Inspect's messages."""
    chat: list[ChatMessage] = [ChatMessageSystem(content=transcript.system)] if transcript.system else []
    for message in transcript.messages:
        chat.extend(_messages(message))
    return chat


def _messages(message: Message) -> list[ChatMessage]:
    if isinstance(message, UserMessage):
        return [ChatMessageUser(content=message.text)]
    if isinstance(message, Turn):
        assistant: ChatMessageAssistant = message.payload
        return [assistant]
    return [
        ChatMessageTool(
            content=result.text,
            tool_call_id=result.call_id,
            function=result.name,
            error=ToolCallError("unknown", result.text) if result.is_error else None,
        )
        for result in message.results
    ]


def turn_of(output: ModelOutput) -> Turn:
    """An answer of Inspect's model as a turn. Arguments that could not be read stay a fault of the call."""
    said = output.message
    calls = tuple(
        ToolCall(
            call.id, call.function, call.arguments if call.parse_error is None else f"({call.parse_error})"
        )
        for call in said.tool_calls or ()
    )
    return Turn(
        text=said.text,
        calls=calls,
        usage=usage_of(output.usage) if output.usage is not None else None,
        stop=STOPS.get(output.stop_reason, "other"),
        payload=said,
    )


def usage_of(usage: ModelUsage) -> Usage:
    """Inspect counts input without what was read from or written to a cache."""
    read, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    return Usage(
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cached_input_tokens=read,
        reasoning_tokens=usage.reasoning_tokens or 0,
        cache_write_tokens=written,
    )


class OwedAttempt(Exception):
    """An attempt that is no result of the model's: the sample errs, and is not scored."""


@task(name="bundled")
def bundled(
    tasks: str = "bundled",
    fhir: str = "embedded",
    protocol: Lane = "native",
    rounds: int = 8,
    profile: Literal["medagentbench", "r4"] = "medagentbench",
    results: Literal["fhir", "compact"] = "fhir",
    allow_chart_to_provider: bool = False,
) -> Task:
    """MedAgentBench's kind of tasks over captured FHIR tools, judged under both rule sets.

    `tasks` is bundled, a FILE or medagentbench:FILE; `fhir` a chart as `wardround run` takes it. For
    research and development; not a medical device.
    """
    samples = [
        Sample(
            id=one.id,
            input=one.instruction,
            metadata={"category": one.category, "kind": one.kind, "difficulty": one.difficulty},
        )
        for one in load_tasks(tasks).tasks
    ]
    settings = ServerSettings(fhir=fhir, profile=profile, results=results)
    return Task(
        dataset=MemoryDataset(samples, name=tasks),
        solver=take_rounds(tasks, settings, protocol, rounds, allowed=allow_chart_to_provider),
        scorer=both_rule_sets(),
        version=1,
    )


@solver(name="wardround_rounds")
def take_rounds(
    tasks: str, settings: ServerSettings, protocol: Lane, rounds: int, *, allowed: bool
) -> Solver:
    """The round loop of `wardround run` around Inspect's model."""
    known = load_tasks(tasks).by_id

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = InspectModel()
        with tempfile.TemporaryDirectory(prefix="wardround-") as folder:
            mine = replace(settings, journal=Path(folder))
            async with _opened(mine, allowed=allowed) as service:
                player = Overheard(_player(model, service, rounds))
                bench = Bench(LocalHouse(service), player, References(service.backend), Budget(rounds))
                line = await _line_of(Job(known[str(state.sample_id)], 0, protocol), bench)
        state.messages = chat_of(player.transcript)
        if model.failure is not None:
            raise model.failure
        if line["attempt"]["status"] not in SCORED:
            raise OwedAttempt(f"{line['attempt']['status']}: {line.get('error')}")
        if model.output is not None:
            state.output = model.output
        state.store.set(LINE, line)
        state.completed = True
        return state

    return solve


@asynccontextmanager
async def _opened(settings: ServerSettings, *, allowed: bool) -> AsyncIterator[Service]:
    backend = await open_backend(settings.fhir, page_size=settings.page_size)
    try:
        if not (backend.synthetic or allowed):
            raise UserError(
                "the chart is not marked synthetic, and where the model is can't be told",
                mend="add -T allow_chart_to_provider=true if its records may go there",
            )
        journal = Journal(settings.journal)
        try:
            yield Service(backend, journal, settings)
        finally:
            journal.close()
    finally:
        await backend.aclose()


def _player(model: InspectModel, service: Service, rounds: int) -> ModelPlayer:
    return ModelPlayer(
        caller=Caller(model, Settings(), RateLimiter(1), Purse(None), RetryPolicy(tries=1)),
        prompts=Prompts.load(),
        budget=Budget(rounds),
        fhir_base=service.backend.base_url,
        functions=export("medagentbench", service.settings.profile),
    )


async def _line_of(job: Job, bench: Bench) -> Line:
    kept: list[Line] = []

    async def keep(line: Line) -> None:
        kept.append(line)

    await play_job(job, bench, keep)
    return kept[0]


class Overheard:
    """A player whose transcript can be read afterwards."""

    def __init__(self, inner: Player) -> None:
        self._inner = inner
        self.transcript = Transcript("")

    async def __call__(self, job: Job, play: Play, door: Door) -> None:
        """Play, and hold on to the transcript."""
        self.transcript = play.transcript
        await self._inner(job, play, door)


@scorer(metrics={rules: [accuracy(), stderr()] for rules in RULES})
def both_rule_sets() -> Scorer:
    """1 or 0 under each rule set, with every failure in the metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        line = state.store.get(LINE)
        verdicts: dict[str, Any] = line["verdicts"]
        return Score(
            value={rules: int(verdicts[rules]["passed"]) for rules in RULES},
            answer=line["attempt"]["answer"],
            metadata={
                "status": line["attempt"]["status"],
                "rounds": line["rounds_by_call"],
                "verdicts": verdicts,
            },
        )

    return score


# A task's name begins with its module's package, which is not the distribution's name that people know.
registry_add(bundled, RegistryInfo(type="task", name=NAME, metadata=registry_info(bundled).metadata))
