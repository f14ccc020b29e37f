"""How an attempt reaches the chart: through an MCP client, or the text protocol's two actions.

A house makes one door per attempt. The loop and the protocols know doors only: whether behind one
stands the server of this process, one of ours elsewhere or anybody's MCP server is no matter to them.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from wardround_tasks.attempt import CreateCall

from .agents.base import Tool, ToolCall

DoorStatus = Literal["open", "completed", "budget_exhausted"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action gave: the text for the model, and how it is recorded.

    `function` is the dotted name of one of the nine, or the name that was called; `arguments` what
    was sent, decoded where it could be; `seconds` the time that the call took.
    """

    ok: bool
    text: str
    function: str
    arguments: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Effects:
    """What an attempt left behind: its create calls in order, and its answer's raw text (None: none)."""

    calls: tuple[CreateCall, ...]
    answer: str | None


class Door(Protocol):
    """One attempt's way to the chart. Every action costs one of its budget.

    Raises ChartError when the chart could not be read: never an empty result, never the model's fault.
    """

    @property
    def status(self) -> DoorStatus: ...

    async def tools(self) -> tuple[Tool, ...]:
        """The tools as the MCP server lists them, `finish` included."""
        ...

    async def call(self, call: ToolCall) -> Outcome:
        """Run one tool call. Whatever a model sends gives an outcome, never an exception."""
        ...

    async def http_get(self, url: str) -> Outcome:
        """The text protocol's GET."""
        ...

    async def http_post(self, url: str, body: str) -> Outcome:
        """The text protocol's POST; the body is recorded, and never sent anywhere."""
        ...

    async def effects(self) -> Effects:
        """What has been written and answered so far, read anew. Raises ChartError as the actions do."""
        ...

    def effects_now(self) -> Effects:
        """What is known of that without asking anyone: for an attempt that was cut short. Never raises."""
        ...


class House(Protocol):
    """Makes doors."""

    @property
    def fhir_base(self) -> str:
        """The base URL that the text protocol's prompt names."""
        ...

    def door(self, *, budget: int | None, finish: bool, native: bool) -> AbstractAsyncContextManager[Door]:
        """A door for one attempt; `budget` None lifts the server's own limit of calls.

        `finish` asks for the tenth tool; `native` says whether tools will be called or the text
        protocol's actions.
        """
        ...
