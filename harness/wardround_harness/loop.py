"""The round loop: one attempt of one agent on one task, the same for both protocols.

A round is one action; a turn is one answer of the model. With parallel tools off each action of a
turn costs a round, with them on a turn does; both counts are kept. The loop knows nothing of FHIR
and nothing of any provider.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from wardround_schemas.errors import ChartError

from .agents.base import Message, ProviderError, Stop, Tool, Transcript, Turn, Usage
from .doors import Door
from .legible import legible
from .limits import Answered, Caller

Status = Literal[
    "completed",
    "invalid_action",
    "budget_exhausted",
    "context_limit",
    "truncated",
    "refused",
    "agent_error",
    "provider_error",
    "chart_error",
    "harness_error",
    "interrupted",
]

ODD_STOPS: Final[dict[Stop, Status]] = {
    "refusal": "refused",
    "content_filter": "refused",
    "context_limit": "context_limit",
    # Calls of a turn that was cut may be cut themselves and still parse: none of them is run.
    "max_tokens": "truncated",
}


@dataclass(frozen=True, slots=True)
class CallLog:
    """One action as it is recorded. `result` is None where only its size in bytes is known."""

    function: str
    arguments: Any
    ok: bool
    result: str | None
    seconds: float
    result_bytes: int = 0


@dataclass(slots=True)
class RoundLog:
    """One turn and the actions that came of it."""

    text: str
    calls: list[CallLog]
    usage: Usage | None
    stop: Stop
    seconds: float
    tries: int
    cost: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Acted:
    """What a protocol made of a turn.

    `actions` is how many rounds it took, refused ones included; `reply` what the model is told;
    `finished` whether the answer is given, `answer` its raw text where the protocol itself holds it.
    """

    actions: int
    reply: Message | None = None
    finished: bool = False
    answer: str | None = None
    notes: tuple[str, ...] = ()


class Dialect(Protocol):
    """A protocol between model and harness: how a turn is read, acted on and replied to."""

    async def act(self, turn: Turn, door: Door, log: list[CallLog], allowed: int | None) -> Acted:
        """Carry out the turn's actions, at most `allowed` of them, adding each to `log` as it is done."""
        ...


@dataclass(slots=True)
class Play:
    """An attempt as far as it has come; whoever cancels it still finds here what was done."""

    transcript: Transcript
    rounds: list[RoundLog] = field(default_factory=list)
    status: Status = "interrupted"
    answer: str | None = None
    actions: int = 0
    error: str | None = None
    notes: list[str] = field(default_factory=list)
    metered: bool = True
    elapsed: float | None = None

    @property
    def usage(self) -> Usage:
        """Tokens of all turns whose provider counted them."""
        return sum((log.usage for log in self.rounds if log.usage is not None), Usage())

    @property
    def cost(self) -> float | None:
        """US dollars of all turns, None when any of them is unknown, or none is metered."""
        if not self.metered:
            return None
        total = 0.0
        for log in self.rounds:
            if log.cost is None:
                return None
            total += log.cost
        return total

    @property
    def mentions_post(self) -> bool:
        """Whether the letters POST stand in any message of the text protocol: the original counts a write."""
        return self.transcript.protocol == "text" and any("POST" in log.text for log in self.rounds)

    @property
    def seconds(self) -> float:
        """Time spent in the model's requests and the calls, waits between retries left out.

        Of a program the time from its start to its end, `elapsed`.
        """
        if self.elapsed is not None:
            return self.elapsed
        return sum(log.seconds + sum(call.seconds for call in log.calls) for log in self.rounds)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many rounds an attempt has, and whether a round is a call or a turn."""

    rounds: int
    by_turn: bool = False

    def calls_left(self, play: Play) -> int | None:
        """Actions that may still be done, None when turns are counted."""
        return None if self.by_turn else self.rounds - play.actions

    def spent(self, play: Play) -> bool:
        """Whether no round is left."""
        return (len(play.rounds) if self.by_turn else play.actions) >= self.rounds


async def run_rounds(
    play: Play, caller: Caller, dialect: Dialect, door: Door, tools: tuple[Tool, ...], budget: Budget
) -> None:
    """Take an attempt from its opening transcript to its end, recording everything in `play`.

    Ends with `play.status` set. Provider and chart failures end it as owed, not as the model's; KeyRefused,
    CostLimitReached and cancellation pass through with the play as far as it came.
    """
    try:
        while True:
            answered = await caller.turn(play.transcript, tools)
            status = await _round(play, answered, dialect, door, budget)
            if status is not None:
                play.status = status
                return
    except ProviderError as error:
        play.status, play.error = "provider_error", f"{error.kind}: {error}"
    except ChartError as error:
        play.status, play.error = "chart_error", str(error)


def legible_turn(turn: Turn) -> Turn:
    """The turn with text and names that can be written down; arguments are the session's to judge."""
    if turn.text.isascii() and all(call.name.isascii() for call in turn.calls):
        return turn
    calls = tuple(replace(call, name=legible(call.name)) for call in turn.calls)
    return replace(turn, text=legible(turn.text), calls=calls)


async def _round(
    play: Play, answered: Answered, dialect: Dialect, door: Door, budget: Budget
) -> Status | None:
    """Record one turn and do what it asks; the attempt's status if that ended it."""
    turn = legible_turn(answered.turn)
    log = RoundLog(
        turn.text, [], turn.usage, turn.stop, answered.seconds, answered.tries, answered.cost, turn.notes
    )
    play.rounds.append(log)
    play.transcript.messages.append(turn)
    if (odd := ODD_STOPS.get(turn.stop)) is not None:
        return odd
    acted = await dialect.act(turn, door, log.calls, budget.calls_left(play))
    play.actions += acted.actions
    log.notes += acted.notes
    if acted.finished:
        play.answer = acted.answer
        return "completed"
    if acted.actions == 0:
        return "invalid_action"
    if door.status == "budget_exhausted" or budget.spent(play):
        return "budget_exhausted"
    if acted.reply is not None:
        play.transcript.messages.append(acted.reply)
    return None
