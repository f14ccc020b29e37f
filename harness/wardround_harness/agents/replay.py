"""`builtin/replay:RUN`: says again, turn by turn, what the agent of a recorded run said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from wardround_schemas.errors import UserError

from ..ledger import SCORED
from ..runs import ATTEMPTS, key_of, read_lines
from ..summary import Key, line_status
from .base import ProviderError, Settings, Stop, Tool, ToolCall, Transcript, Turn, Usage
from .scripted import listed_name

STOPS = get_args(Stop)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn as the run's record has it: text, calls as (function, arguments), usage and stop."""

    text: str
    calls: tuple[tuple[str, Any], ...]
    usage: Usage
    stop: Stop


class Replay:
    """Plays the scored attempts of a run back; one that the run lacks is owed, not failed."""

    destination: str | None = None
    price_key: str | None = None

    def __init__(self, name: str, folder: Path, protocols: tuple[str, ...] = ("native", "text")) -> None:
        """Read the recording. UserError when there is none, or it is of another protocol."""
        self.name = name
        path = folder / ATTEMPTS
        if not path.is_file():
            raise UserError(
                f"there is no run in {folder} to play back", mend="builtin/replay:RUN names a run folder"
            )
        self._turns: dict[Key, tuple[RecordedTurn, ...]] = {}
        for line in read_lines(path):
            recorded = line.get("protocol", "native")
            if protocols != (recorded,):
                raise UserError(
                    f"{folder} was recorded in the {recorded} protocol", mend=f"give --protocol {recorded}"
                )
            if line_status(line) in SCORED:
                self._turns[key_of(line)] = tuple(recorded_turn(entry) for entry in line.get("rounds") or ())

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The recorded turn of this place; an empty one beyond the recording's end.

        Raises ProviderError for a task and repeat that the recording does not have.
        """
        recorded = self._turns.get((transcript.task_id, transcript.repeat))
        if recorded is None:
            raise ProviderError(
                f"the recording has no scored attempt of {transcript.task_id}, repeat {transcript.repeat}",
                kind="not_found",
                retryable=False,
            )
        place = len(transcript.turns())
        if place >= len(recorded):
            return Turn(usage=Usage(), notes=("beyond the recording's end",))
        turn = recorded[place]
        if transcript.protocol == "text":
            return Turn(text=turn.text, usage=turn.usage, stop=turn.stop)
        calls = tuple(
            ToolCall(f"call_{place + 1}_{index + 1}", listed_name(function, tools), arguments)
            for index, (function, arguments) in enumerate(turn.calls)
        )
        return Turn(text=turn.text, calls=calls, usage=turn.usage, stop=turn.stop)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """What a recording can't take."""
        return ("settings of the model are those of the recording",)

    async def aclose(self) -> None:
        """Nothing to close."""


def recorded_turn(entry: Mapping[str, Any]) -> RecordedTurn:
    """One entry of a line's `rounds`."""
    usage = entry.get("usage") or {}
    stop: Stop = entry["stop"] if entry.get("stop") in STOPS else "end"
    return RecordedTurn(
        text=str(entry.get("text") or ""),
        calls=tuple((str(call.get("function")), call.get("arguments")) for call in entry.get("calls") or ()),
        usage=Usage(**{name: int(usage.get(name) or 0) for name in Usage.__dataclass_fields__}),
        stop=stop,
    )
