"""A model that says what a test tells it to, and a door whose calls the test sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from wardround_harness.agents.base import (
    ProviderError,
    Settings,
    Tool,
    ToolCall,
    Transcript,
    Turn,
    Usage,
)
from wardround_harness.doors import DoorStatus, Effects, Outcome

SOME = Usage(input_tokens=100, output_tokens=10)


def calls(*named: tuple[str, Any], text: str = "", stop: str = "tool_calls") -> Turn:
    """A turn that calls tools."""
    return Turn(
        text=text,
        calls=tuple(ToolCall(f"id{i}", name, arguments) for i, (name, arguments) in enumerate(named)),
        usage=SOME,
        stop=stop,  # type: ignore[arg-type]
    )


def says(text: str, stop: str = "end") -> Turn:
    """A turn of text."""
    return Turn(text=text, usage=SOME, stop=stop)  # type: ignore[arg-type]


FINISH = calls(("finish", {"answers": [1]}))


@dataclass
class FakeModel:
    """Gives its replies one after the other; one that is an exception is raised."""

    replies: list[Turn | Exception]
    name: str = "fake/model"
    destination: str | None = None
    price_key: str | None = "fake/model"
    seen: list[Transcript] = field(default_factory=list)

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        self.seen.append(transcript)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        return None


@dataclass
class HangingModel(FakeModel):
    """Never answers; says when it was asked."""

    replies: list[Turn | Exception] = field(default_factory=list)
    asked: anyio.Event = field(default_factory=anyio.Event)

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError


@dataclass
class FakeDoor:
    """Counts calls as a session does: refuses past the budget, ends with `finish`."""

    budget: int | None = 8
    status: DoorStatus = "open"
    used: int = 0
    made: list[tuple[str, Any]] = field(default_factory=list)
    answer: str | None = None
    respond: Callable[[str, Any], tuple[bool, str]] = lambda name, arguments: (True, f"result of {name}")

    async def tools(self) -> tuple[Tool, ...]:
        return (Tool("lab_search", "", {"type": "object"}), Tool("finish", "", {"type": "object"}))

    async def call(self, call: ToolCall) -> Outcome:
        return self._act(call.name, call.arguments_raw)

    async def http_get(self, url: str) -> Outcome:
        return self._act("GET", {"url": url})

    async def http_post(self, url: str, body: str) -> Outcome:
        return self._act("POST", {"url": url, "body": body})

    async def effects(self) -> Effects:
        return self.effects_now()

    def effects_now(self) -> Effects:
        return Effects((), self.answer)

    def _act(self, name: str, arguments: Any) -> Outcome:
        if self.budget is not None and self.used >= self.budget:
            self.status = "budget_exhausted"
            return Outcome(False, "the budget is used up", name, arguments, 0.0)
        self.used += 1
        self.made.append((name, arguments))
        if name == "finish":
            self.status, self.answer = "completed", "[1]"
            return Outcome(True, "finished", name, arguments, 0.0)
        ok, text = self.respond(name, arguments)
        return Outcome(ok, text, name, arguments, 0.0)


def failing(kind: str, *, status: int | None = None, retryable: bool = True, **more: Any) -> ProviderError:
    """A provider's failure."""
    return ProviderError("it failed", kind=kind, retryable=retryable, status=status, **more)  # type: ignore[arg-type]


@dataclass
class FakeTime:
    """A clock that moves when something sleeps, and remembers for how long."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


def most(low: float, high: float) -> float:
    """The longest jitter."""
    return high


def texts(transcript: Transcript) -> Sequence[str]:
    """The texts of a transcript's messages that have one."""
    return [message.text for message in transcript.messages if hasattr(message, "text")]
