"""The oracle behind a provider's API: what it would do next, told in the provider's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.providers.wires import Says, Wire
from tests.server.scripted import Reply, Seen, reply_json
from wardround_harness.agents.base import (
    Message,
    Settings,
    Tool,
    ToolMessage,
    ToolResult,
    Transcript,
    UserMessage,
)
from wardround_harness.agents.brief import briefs
from wardround_harness.agents.builtin_oracle import script
from wardround_harness.agents.scripted import Scripted
from wardround_tasks.task import Task

BASE = re.compile(r"GET (\S+)/ResourceType\?")


def user_texts(body: dict[str, Any]) -> list[str]:
    """What the user said, oldest first, tool results left out."""
    listed = body["messages"] if "messages" in body else body["input"]
    said = [item["content"] for item in listed if item.get("role") == "user"]
    return [content for content in said if isinstance(content, str)]


def oracle(wire: Wire, tasks: Sequence[Task]) -> Callable[[Seen], Reply]:
    """A script that checks every request and solves the task in it, natively or by the text protocol.

    It knows of a task what stands in the request, as any model does: the task is found by its instruction.
    """
    known = briefs(tasks)

    def answered(request: Seen) -> Reply:
        wire.check(request)
        body = request.json()
        opening, *later = user_texts(body)
        (task,) = (task for task in tasks if task.instruction in opening)
        native = "tools" in body
        base = BASE.search(opening)
        messages: list[Message] = [UserMessage(opening)]
        if native:
            found = wire.results(request)
            messages += [
                ToolMessage((ToolResult("id", "any", text, is_error=kind == "error"),))
                for kind, text in found
            ]
        else:
            messages += [UserMessage(text) for text in later]
        transcript = Transcript("", messages, task.id, 0, "native" if native else "text")
        agent = Scripted("oracle", script, known, base[1] if base else "")
        tools = (Tool("finish", "", {}),) if native else ()
        said = finished(agent.turn(transcript, tools, Settings()))
        calls = [(call.name, call.arguments_raw) for call in said.calls]
        return reply_json(wire.answer(Says(text=said.text, calls=calls), len(messages) - 1))

    return answered


def finished(coroutine: Any) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")
