"""An attempt by a program: it runs its own loop against a listener that serves its session alone."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio

from wardround_schemas.errors import UserError

from .agents.base import ProgramAgent
from .attempts import Job
from .doors import Door
from .houses import LocalDoor
from .loop import CallLog, Play, RoundLog
from .prompts import Prompts
from .protocols.text import read_action

if TYPE_CHECKING:
    import uvicorn
    from mcp.server.lowlevel import Server

    from wardround_server.service import Service
    from wardround_server.session import Session


PROMPT: Final = "task"
"""The MCP prompt under which a session serves its task."""


@dataclass(slots=True)
class TaskPrompts:
    """The task of each session as a prompt of its MCP server, for programs that read it there."""

    texts: dict[str, str] = field(default_factory=dict)

    def build(self, session: Session) -> Server[Any]:
        """The MCP server of a session, with its task as the prompt `task`."""
        from wardround_server.mcp import build_mcp_server
        from wardround_server.mcp_prompts import PromptSpec

        text = self.texts.get(session.id)
        if text is None:
            return build_mcp_server(session)
        spec = PromptSpec(PROMPT, "The task", "What is to be done in this session.", lambda arguments: text)
        return build_mcp_server(session, prompts=[spec])


@asynccontextmanager
async def listening(service: Service, prompts: TaskPrompts | None = None) -> AsyncIterator[str]:
    """Serve the sessions of a run on a loopback port of its own; gives the URL that `/mcp/ID` is put after.

    The listener knows the sessions that the run made and nothing else. UserError when it can't be
    started.
    """
    import uvicorn

    from wardround_server.http import build_agent_app

    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        held.bind(("127.0.0.1", 0))
    except OSError as error:
        held.close()
        raise UserError("no loopback port can be had for the agent's MCP server", mend=str(error)) from error
    app = build_agent_app(service, build=(prompts or TaskPrompts()).build)
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="on")
    server = _quiet(uvicorn.Server(config))
    with _silent("mcp"):
        async with _serving(server, held) as base:
            yield base


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep a library's log to itself: a program that hangs up in the middle of a request makes it print
    tracebacks, which may quote a chart. What came of the program stands in the run's record.
    """
    library = logging.getLogger(name)
    before = library.level
    library.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        library.setLevel(before)


@asynccontextmanager
async def _serving(server: uvicorn.Server, held: socket.socket) -> AsyncIterator[str]:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: server.serve(sockets=[held]))
        try:
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event to wait for
                await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{held.getsockname()[1]}"
        finally:
            server.should_exit = True


def _quiet(server: uvicorn.Server) -> uvicorn.Server:
    """The server without handlers of its own for signals: the run has them."""

    @contextlib.contextmanager
    def no_signals() -> Iterator[None]:
        yield

    server.capture_signals = no_signals  # type: ignore[method-assign]
    return server


@dataclass(frozen=True, slots=True)
class ProgramPlayer:
    """Runs a program on each attempt; `base` is the listener's URL, `served` the tasks that it serves."""

    agent: ProgramAgent
    prompts: Prompts
    rounds: int
    base: str
    served: TaskPrompts

    async def __call__(self, job: Job, play: Play, door: Door) -> None:
        """Run the program on the attempt's task and take its end from its session, or from its output.

        An answer by `finish` counts whatever the program does afterwards. Without one the last line
        of its output is the answer, and costs a round as `finish` would.
        """
        if not isinstance(door, LocalDoor):
            raise TypeError("a program needs a session of this process")
        system, user = self.prompts.native(job.task, self.rounds)
        play.metered = False
        started = time.perf_counter()
        text = f"{system}\n\n{user}"
        self.served.texts[door.id] = text
        try:
            result = await self.agent.attempt(text, f"{self.base}/mcp/{door.id}")
        finally:
            del self.served.texts[door.id]
            play.elapsed = time.perf_counter() - started
            play.rounds = [_round_of(log) for log in door.call_logs()]
            play.actions = door.rounds_used
        play.notes.extend(result.notes)
        door.check()
        if door.status == "completed":
            play.status, play.answer = "completed", door.effects_now().answer
        elif door.status == "budget_exhausted":
            play.status = "budget_exhausted"
        elif result.failure is not None:
            play.status, play.error = "agent_error", result.failure
        else:
            _answer_from_output(play, result.text, door)


def _answer_from_output(play: Play, text: str, door: LocalDoor) -> None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        play.status = "invalid_action"
        return
    play.rounds.append(RoundLog(lines[-1], [], None, "end", 0.0, 1, None))
    if door.budget is not None and door.rounds_used >= door.budget:
        play.status = "budget_exhausted"
        return
    action = read_action(lines[-1])
    play.actions += 1
    play.answer = action.body if action is not None and action.kind == "FINISH" else lines[-1]
    play.status = "completed"


def _round_of(log: CallLog) -> RoundLog:
    return RoundLog("", [log], None, "tool_calls", 0.0, 1, None)
