"""`command:TEMPLATE`: any program that can speak MCP, started once per task.

The template is split into arguments once, by the rules of a POSIX shell's words, before anything is
put into it; no shell ever sees it. Within each argument {prompt}, {mcp_url} and {mcp_config} are then
replaced, so that a task's text stays one argument whatever it holds. A program whose template has
no {prompt} gets the prompt on its standard input.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from wardround_schemas.errors import UserError

from .base import ProgramResult

logger = logging.getLogger(__name__)

PLACEHOLDERS: Final = ("prompt", "mcp_url", "mcp_config")
_PLACEHOLDER: Final = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
KEPT: Final = 65_536
"""Bytes of output that are kept: the end counts."""
GRACE: Final = 2.0
"""Seconds between asking a program's process group to end and ending it."""


def split_template(template: str) -> tuple[str, ...]:
    """The template's arguments. UserError where it is empty, has an open quote or names no program."""
    try:
        words = tuple(shlex.split(template))
    except ValueError as error:
        raise UserError(
            f"the command {template!r} can't be split: {error}", mend="close the quote"
        ) from error
    if not words:
        raise UserError("command: names no program", mend="command:'my-agent --mcp {mcp_url} {prompt}'")
    if shutil.which(words[0]) is None:
        raise UserError(f"there is no program {words[0]!r}", mend="give its path, or put it on PATH")
    return words


def fill_arguments(words: tuple[str, ...], values: Mapping[str, str]) -> list[str]:
    """The arguments with their placeholders filled, each in one pass: a value is never looked at again."""
    return [_PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in words]


@dataclass(slots=True)
class _Tail:
    """The end of a stream."""

    data: bytes = b""

    async def drain(self, stream: ByteReceiveStream | None) -> None:
        if stream is None:
            return
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in stream:
                self.data = (self.data + chunk)[-KEPT:]

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


class Command:
    """A program as an agent. Where it sends what it reads is not known, nor what it costs."""

    destination: str | None = None
    price_key: str | None = None

    def __init__(self, name: str, template: str, *, time_limit: float) -> None:
        self.name = name
        self._words = split_template(template)
        self._time_limit = time_limit

    async def attempt(self, prompt: str, mcp_url: str) -> ProgramResult:
        """Run the program on one task, within the time limit, in a process group of its own.

        The whole group is ended when the program has ended, when its time is up and when the run is
        stopped.
        """
        with tempfile.TemporaryDirectory(prefix="wardround-") as folder:
            config = Path(folder) / "mcp.json"
            config.touch(mode=0o600)
            config.write_text(json.dumps(mcp_config(mcp_url)), encoding="utf-8")
            values = {"prompt": prompt, "mcp_url": mcp_url, "mcp_config": str(config)}
            arguments = fill_arguments(self._words, values)
            on_stdin = None if any("{prompt}" in word for word in self._words) else prompt
            return await self._run(arguments, on_stdin, {"WARDROUND_MCP_URL": mcp_url})

    async def aclose(self) -> None:
        """Nothing runs between attempts."""

    async def _run(
        self, arguments: list[str], on_stdin: str | None, extra: Mapping[str, str]
    ) -> ProgramResult:
        out, err = _Tail(), _Tail()
        code: int | None = None
        with anyio.move_on_after(self._time_limit) as limit:
            async with _started(arguments, extra) as process, anyio.create_task_group() as group:
                group.start_soon(out.drain, process.stdout)
                group.start_soon(err.drain, process.stderr)
                group.start_soon(_say, process, on_stdin)
                code = await process.wait()
                # What the program left running may hold its output open: its group ends with it.
                end_group(process.pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        if limit.cancelled_caught:
            return ProgramResult(out.text, f"time limit of {self._time_limit:g} s reached")
        if code != 0:
            # Its own words go to the log alone: they may hold what a run folder must not.
            logger.warning("%s ended with %s: %s", arguments[0], code, err.text.strip()[-500:])
            return ProgramResult(out.text, f"exit code {code}")
        return ProgramResult(out.text)


def mcp_config(mcp_url: str) -> dict[str, object]:
    """The configuration file that most MCP clients read."""
    return {"mcpServers": {"wardround": {"type": "http", "url": mcp_url}}}


async def _say(process: Process, text: str | None) -> None:
    if process.stdin is None:
        return
    with suppress(
        anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, ConnectionResetError
    ):
        if text is not None:
            await process.stdin.send(text.encode())
        await process.stdin.aclose()


@asynccontextmanager
async def _started(arguments: list[str], extra: Mapping[str, str]) -> AsyncIterator[Process]:
    """A program that is running, and whose process group has ended when this is left."""
    process = await anyio.open_process(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **extra},
        start_new_session=sys.platform != "win32",
    )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            await process.aclose()


async def _end(process: Process) -> None:
    """Ask the group to end, and end it if it has not within the grace."""
    if process.returncode is None:
        end_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(GRACE):
            await process.wait()
    if sys.platform != "win32":
        end_group(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()
    await process.wait()


def end_group(pid: int, number: signal.Signals) -> None:
    """Signal a process group that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)
