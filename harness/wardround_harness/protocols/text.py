"""The text protocol of MedAgentBench: one action a turn, written as text.

    GET url?param=value
    POST url
    {"resourceType": ...}
    FINISH([answer, ...])

What counts as which action follows the original: code fences are taken off, the message must begin
with the action's word, a POST's body is everything below its first line, and FINISH's answer is
everything between its bracket and the last character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..agents.base import Turn, UserMessage
from ..doors import Door
from ..loop import Acted, CallLog

FENCES = ("```tool_code", "```")
OPENING = "FINISH("

NEXT = "Write your next action, or FINISH once all that was asked is done."
AFTER_GET = "The server's answer to your GET:\n{body}\n\n" + NEXT
AFTER_POST = "{body}\n\n" + NEXT
AFTER_ERROR = "That did not work: {body}\n\n" + NEXT


@dataclass(frozen=True, slots=True)
class Action:
    """One action: a GET's or POST's url, a POST's body or FINISH's answer as raw text."""

    kind: Literal["GET", "POST", "FINISH"]
    url: str = ""
    body: str = ""


def read_action(text: str) -> Action | None:
    """The action that a message is, None when it is none."""
    for fence in FENCES:
        text = text.strip().replace(fence, "")
    text = text.strip()
    if text.startswith("GET"):
        return Action("GET", url=text[3:].strip())
    if text.startswith("POST"):
        first, _, rest = text.partition("\n")
        return Action("POST", url=first[4:].strip(), body=rest)
    if text.startswith(OPENING):
        return Action("FINISH", body=text[len(OPENING) : -1])
    return None


class Text:
    """Carries out the one action of a turn."""

    async def act(self, turn: Turn, door: Door, log: list[CallLog], allowed: int | None) -> Acted:
        """Do the turn's action. FINISH's answer is kept as written, JSON or not: the graders judge it."""
        action = read_action(turn.text)
        if action is None:
            return Acted(0)
        if action.kind == "FINISH":
            log.append(CallLog("finish", {"answers": action.body}, True, "", 0.0))
            return Acted(1, finished=True, answer=action.body)
        if action.kind == "GET":
            outcome, wording = await door.http_get(action.url), AFTER_GET
        else:
            outcome, wording = await door.http_post(action.url, action.body), AFTER_POST
        log.append(CallLog(outcome.function, outcome.arguments, outcome.ok, outcome.text, outcome.seconds))
        reply = (wording if outcome.ok else AFTER_ERROR).format(body=outcome.text)
        return Acted(1, UserMessage(reply))
