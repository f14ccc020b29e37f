"""Agents that follow a script: what the builtins share.

A script is a generator of intents (search, create, finish) that is sent what each gave. It is
written once and speaks both protocols: here an intent becomes a tool call or a line of text, and a
tool's result or the server's message becomes a `Reply`. The agent holds no state: at each turn the
script is run again from its start over the replies that the transcript holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlencode

from wardround_schemas.function import find_function, search_query
from wardround_server.compact import merged

from .base import Settings, Tool, ToolCall, ToolMessage, Transcript, Turn, Usage, UserMessage
from .brief import Brief

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """Call a search function (dotted name) with its arguments, or the page that a `next` names."""

    function: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Create:
    """Call a create function (dotted name) with a resource."""

    function: str
    resource: Resource


@dataclass(frozen=True, slots=True)
class Finish:
    """Give the answers and end."""

    answers: list[Any]


Intent: TypeAlias = Search | Create | Finish


@dataclass(frozen=True, slots=True)
class Reply:
    """What an intent gave: matching resources and where the next page is, or that it failed."""

    ok: bool
    resources: tuple[Resource, ...] = ()
    next: str | None = None


Script: TypeAlias = Generator[Intent, Reply, None]


class Scripted:
    """An agent that plays a script; costs nothing and sends nothing anywhere."""

    destination: str | None = None
    price_key: str | None = None

    def __init__(
        self, name: str, script: Callable[[Brief], Script], briefs: Mapping[str, Brief], fhir_base: str
    ) -> None:
        self.name = name
        self._script = script
        self._briefs = briefs
        self._fhir_base = fhir_base.rstrip("/")

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The script's next intent; an empty turn once it has run out."""
        intent = self._next(self._briefs[transcript.task_id], replies(transcript))
        if intent is None:
            return Turn(usage=Usage())
        if transcript.protocol == "text":
            return Turn(text=self._as_text(intent), usage=Usage())
        number = len(transcript.turns()) + 1
        return Turn(calls=(as_call(intent, tools, f"call_{number}"),), usage=Usage(), stop="tool_calls")

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """A script takes no settings, and there is nothing to say about it."""
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""

    def _next(self, brief: Brief, given: Iterable[Reply]) -> Intent | None:
        script = self._script(brief)
        try:
            intent = next(script)
            for reply in given:
                intent = script.send(reply)
        except StopIteration:
            return None
        return intent

    def _as_text(self, intent: Intent) -> str:
        if isinstance(intent, Finish):
            return f"FINISH({json.dumps(intent.answers, ensure_ascii=False)})"
        if isinstance(intent, Search) and "page" in intent.arguments:
            return f"GET {intent.arguments['page']}"
        function = find_function(intent.function, "medagentbench")
        if function is None:
            raise ValueError(f"the script calls {intent.function}, which is none of the nine functions")
        url = self._fhir_base + function.path
        if isinstance(intent, Create):
            return f"POST {url}\n{json.dumps(intent.resource, ensure_ascii=False)}"
        return f"GET {url}?{urlencode(search_query(function, dict(intent.arguments)))}"


def as_call(intent: Intent, tools: Iterable[Tool], call_id: str) -> ToolCall:
    """The intent as a tool call, by the name under which the tool is listed."""
    if isinstance(intent, Finish):
        return ToolCall(call_id, "finish", {"answers": intent.answers})
    arguments = dict(intent.arguments if isinstance(intent, Search) else intent.resource)
    return ToolCall(call_id, listed_name(intent.function, tools), arguments)


def listed_name(function: str, tools: Iterable[Tool]) -> str:
    """The name under which a function is listed: dotted or with underscores."""
    names = {tool.name for tool in tools}
    return function if function in names else function.replace(".", "_")


def replies(transcript: Transcript) -> list[Reply]:
    """What each turn so far gave, oldest first."""
    found: list[Reply] = []
    for message in transcript.messages[1:]:
        if isinstance(message, ToolMessage):
            found.extend(read_reply(result.text, ok=not result.is_error) for result in message.results)
        elif isinstance(message, UserMessage):
            found.append(read_reply(message.text, ok=None))
    return found


def read_reply(text: str, *, ok: bool | None) -> Reply:
    """A result as resources, from a FHIR Bundle or the compact form, with or without words around it.

    `ok` None: the text protocol, where success is that a Bundle or a resource came back.
    """
    value = first_object(text)
    if ok is False or value is None:
        return Reply(ok=bool(ok))
    if value.get("resourceType") == "Bundle":
        links = {link.get("relation"): link.get("url") for link in value.get("link") or ()}
        found = [entry["resource"] for entry in value.get("entry") or () if "resource" in entry]
        return Reply(True, _matches(found), links.get("next"))
    if isinstance(value.get("entries"), list):
        shared = value.get("shared") or {}
        return Reply(True, _matches([merged(shared, own) for own in value["entries"]]), value.get("next"))
    return Reply(value.get("resourceType") != "OperationOutcome")


def _matches(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    return tuple(resource for resource in resources if resource.get("resourceType") != "OperationOutcome")


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, None where there is none."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
