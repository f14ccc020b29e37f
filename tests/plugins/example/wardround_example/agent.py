"""An agent: reads the record number and the code off the task, searches, answers with the newest value."""

from __future__ import annotations

import json
import re

from wardround_harness.agents.base import Settings, Tool, ToolCall, ToolMessage, Transcript, Turn, UserMessage
from wardround_harness.agents.registry import AgentContext
from wardround_schemas.errors import UserError

MRN, CODE = re.compile(r"\bMRN (\w+)"), re.compile(r"\bunder the code (\w+)")


class Example:
    """Speaks the native protocol alone; sends nothing anywhere and costs nothing."""

    destination = None
    price_key = None

    def __init__(self, name: str) -> None:
        self.name = name

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """One search, then the answer."""
        last = transcript.messages[-1]
        if isinstance(last, ToolMessage):
            return calling("finish", {"answers": [newest_value(last.results[0].text)]})
        text = last.text if isinstance(last, UserMessage) else ""
        mrn, code = MRN.search(text), CODE.search(text)
        if mrn is None or code is None:
            return Turn(text="I do not know what to look for.")
        return calling("lab_search", {"patient": mrn[1], "code": code[1], "_sort": "-date", "_count": 1})

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """It has no use for any setting."""
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""


def calling(name: str, arguments: dict[str, object]) -> Turn:
    """A turn with one tool call."""
    return Turn(calls=(ToolCall("call", name, arguments),), stop="tool_calls")


def newest_value(bundle: str) -> float:
    """The value of the first result in a searchset Bundle, -1 where it has none."""
    entries = json.loads(bundle).get("entry") or []
    return entries[0]["resource"]["valueQuantity"]["value"] if entries else -1


def open_agent(context: AgentContext) -> Example:
    """What the entry point names: `--model example/REST` makes an agent."""
    if context.protocols != ("native",):
        raise UserError(f"{context.spec} speaks the native protocol alone", mend="use --protocol native")
    return Example(context.spec)
