"""One task-repeat from its opening message to its line in the run folder."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from wardround_schemas.chart import ChartReader
from wardround_schemas.errors import ChartError
from wardround_tasks.attempt import Attempt
from wardround_tasks.grading import grade, read_reference
from wardround_tasks.reference import Reference
from wardround_tasks.task import Task

from .agents.base import KeyRefused, Transcript, UserMessage
from .costs import CostLimitReached
from .doors import Door, Effects, House
from .ledger import SCORED
from .limits import Caller
from .loop import Budget, Play, Status, run_rounds
from .plan import Lane
from .prompts import Prompts
from .protocols.native import Native
from .protocols.text import Text
from .records import clean_attempt, run_line

logger = logging.getLogger(__name__)

Line = dict[str, Any]
NOTHING = Effects((), None)


@dataclass(frozen=True, slots=True)
class Job:
    """One task, one repeat (from 0), one protocol."""

    task: Task
    repeat: int
    lane: Lane


class References:
    """What the chart says about each task, read once however many attempts ask."""

    def __init__(self, chart: ChartReader) -> None:
        self._chart = chart
        self._known: dict[str, Reference] = {}
        self._reading: dict[str, anyio.Lock] = {}

    async def get(self, task: Task) -> Reference:
        """The reference of a task. ChartError passes through, and the next caller tries again."""
        async with self._reading.setdefault(task.id, anyio.Lock()):
            if task.id not in self._known:
                self._known[task.id] = await read_reference(task, self._chart)
            return self._known[task.id]


@dataclass(frozen=True, slots=True)
class Bench:
    """What all attempts of a run share.

    `player` takes an attempt through an open door: the round loop with a model, or a program.
    """

    house: House
    player: Player
    references: References
    budget: Budget


class Player(Protocol):
    """Takes one attempt from its first message to its end, recording it in `play`."""

    async def __call__(self, job: Job, play: Play, door: Door) -> None: ...


@dataclass(frozen=True, slots=True)
class ModelPlayer:
    """The round loop. `functions` is the text protocol's list for its prompt."""

    caller: Caller
    prompts: Prompts
    budget: Budget
    fhir_base: str
    functions: list[dict[str, Any]]

    async def __call__(self, job: Job, play: Play, door: Door) -> None:
        """Open the transcript in the job's protocol and run the rounds."""
        budget, transcript = self.budget, play.transcript
        if job.lane == "native":
            tools = await door.tools()
            system, user = self.prompts.native(job.task, budget.rounds, by_turn=budget.by_turn)
            transcript.system = system
            transcript.messages.append(UserMessage(user))
            await run_rounds(play, self.caller, Native(), door, tools, budget)
            return
        opening = self.prompts.text_message(job.task, budget.rounds, self.fhir_base, self.functions)
        transcript.messages.append(UserMessage(opening))
        await run_rounds(play, self.caller, Text(), door, (), budget)


async def play_job(job: Job, bench: Bench, keep: Callable[[Line], Awaitable[None]]) -> None:
    """Play and judge one job, and `keep` its line.

    A line is kept whatever happens, cancellation included, except when the key is refused: then
    nothing is recorded and KeyRefused passes through. CostLimitReached passes through after the
    attempt was kept as interrupted.
    """
    play = Play(Transcript("", task_id=job.task.id, repeat=job.repeat, protocol=job.lane))
    held = _Held()
    try:
        reference = await bench.references.get(job.task)
        await _play(job, bench, play, held)
        line = judged_line(job, play, held.effects, reference)
    except KeyRefused:
        raise
    except CostLimitReached as error:
        play.status, play.error = "interrupted", str(error)
        await keep(_owed_line(job, play, held))
        raise
    except anyio.get_cancelled_exc_class():
        play.status, play.error = "interrupted", play.error or "stopped before its end"
        await keep(_owed_line(job, play, held))
        raise
    except ChartError as error:
        play.status, play.error = "chart_error", str(error)
        await keep(_owed_line(job, play, held))
    except Exception as error:  # a fault of ours is owed, never scored: the run goes on without it
        # The message may quote a chart or a key: it goes to the record, which is private and redacted.
        logger.warning("attempt on %s failed inside the harness: %s", job.task.id, type(error).__name__)
        logger.debug("in full", exc_info=error)
        play.status, play.error = "harness_error", f"{type(error).__name__}: {error}"
        await keep(_owed_line(job, play, held))
    else:
        await keep(line)


@dataclass(slots=True)
class _Held:
    """What the attempt left behind, as far as it came."""

    effects: Effects = NOTHING


async def _play(job: Job, bench: Bench, play: Play, held: _Held) -> None:
    """Open a door, run the rounds, take the effects.

    What goes wrong inside the door is raised outside it: a task group within the door would wrap
    it, and whoever waits for it would not know it again.
    """
    failure: Exception | None = None
    native = job.lane == "native"
    limit = None if bench.budget.by_turn else bench.budget.rounds
    async with bench.house.door(budget=limit, finish=native, native=native) as door:
        try:
            await bench.player(job, play, door)
            await door.effects()
        except Exception as error:  # noqa: BLE001 - raised again below
            failure = error
        finally:
            held.effects = door.effects_now()
    if failure is not None:
        raise failure


def lost_line(job: Job, status: Status, error: str) -> Line:
    """The line of an attempt of which nothing is known but how it was lost: it is owed."""
    play = Play(Transcript("", task_id=job.task.id, protocol=job.lane), status=status, error=error)
    return _owed_line(job, play, _Held())


def _attempt(job: Job, play: Play, effects: Effects) -> Attempt:
    return clean_attempt(
        Attempt(
            task_id=job.task.id,
            status=play.status,
            answer=play.answer,
            mentions_post=play.mentions_post,
            calls=effects.calls,
        )
    )


def _owed_line(job: Job, play: Play, held: _Held) -> Line:
    return run_line(repeat=job.repeat, play=play, attempt=_attempt(job, play, held.effects), verdicts=None)


def judged_line(job: Job, play: Play, effects: Effects, reference: Reference) -> Line:
    """The line of an attempt that came to an end: judged if its status is a scored one, else owed."""
    attempt = _attempt(job, play, effects)
    verdicts = grade(job.task, attempt, reference) if play.status in SCORED else None
    return run_line(repeat=job.repeat, play=play, attempt=attempt, verdicts=verdicts)
