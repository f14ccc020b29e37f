"""The native protocol: the provider's own tool calls, carried to the MCP server and back."""

from __future__ import annotations

from ..agents.base import ToolMessage, ToolResult, Turn
from ..doors import Door
from ..loop import Acted, CallLog

FINISH = "finish"


class Native:
    """Runs every tool call of a turn in order; `finish` ends the attempt."""

    async def act(self, turn: Turn, door: Door, log: list[CallLog], allowed: int | None) -> Acted:
        """Run the turn's calls, at most `allowed`; none after an accepted `finish`.

        A turn without a call is no action. Calls left undone are named in the notes.
        """
        results: list[ToolResult] = []
        for index, call in enumerate(turn.calls):
            left = len(turn.calls) - index
            if allowed is not None and index >= allowed:
                return Acted(index, notes=(f"{left} calls beyond the last round were not run",))
            outcome = await door.call(call)
            log.append(
                CallLog(outcome.function, outcome.arguments, outcome.ok, outcome.text, outcome.seconds)
            )
            results.append(ToolResult(call.id, call.name, outcome.text, is_error=not outcome.ok))
            if door.status == "completed":
                notes = (f"{left - 1} calls after finish were not run",) if left > 1 else ()
                return Acted(index + 1, finished=True, answer=(await door.effects()).answer, notes=notes)
            if door.status == "budget_exhausted":
                return Acted(index + 1)
        return Acted(len(results), ToolMessage(tuple(results)) if results else None)
