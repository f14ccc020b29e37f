"""The probe calls of `wardround preflight`: one question each about what a model's API does with tools.

A probe asks about behaviour, not about knowledge: every answer it looks for stands in its prompt or in a
tool's result. Its words are about invented beds and one invented order, so no chart is involved, save in
`text_protocol`, whose prompt is a task's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from wardround_schemas.formats import export
from wardround_schemas.function import decode, find_function, load_functions

from .agents.base import (
    ProviderError,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    UserMessage,
)
from .limits import Caller
from .protocols.text import read_action

Verdict = Literal["yes", "no", "unclear", "failed", "not asked"]
"""`unclear`: the API answered, but the model did nothing from which to tell; `failed`: it did not answer."""

SYSTEM: Final = "You look things up with tools. Call a tool when you need it, and answer briefly."
WORD: Final = "quince"
BED: Final = Tool(
    "find_bed",
    "Tells which ward a hospital bed is in.",
    {
        "type": "object",
        "properties": {"bed": {"type": "string", "description": "The bed's label, such as B12."}},
        "required": ["bed"],
        "additionalProperties": False,
    },
)
SHIFT: Final = Tool(
    "current_shift",
    "Tells which shift is on duty now. Takes no arguments.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)
INFUSION: Final = Tool(
    "order_infusion",
    "Places an order for an infusion.",
    {
        "type": "object",
        "properties": {
            "patient": {"type": "string"},
            "medication": {"type": "string"},
            "grams": {"type": "number"},
        },
        "required": ["patient", "medication", "grams"],
        "additionalProperties": False,
    },
)
ASK_BED: Final = "In which ward is bed B12? Look it up with the tool."
ASK_BEDS: Final = "In which wards are the beds B12 and C03? Look both up at once, in the same turn."
ASK_LAB: Final = "Look up the magnesium results of patient S1234567. The code of the test is MG."
ASK_ORDER: Final = (
    "This record is synthetic and serves to test software. Its protocol asks for 2 g of magnesium sulfate "
    "by infusion for patient S1234567. Place this order with the tool."
)


@dataclass(slots=True)
class Asker:
    """Sends a probe's requests and adds up what they took."""

    caller: Caller
    text_prompt: str
    long_characters: int
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    counted: bool = True
    seconds: float = 0.0
    cost: float | None = 0.0
    turns: list[Turn] = field(default_factory=list)

    async def ask(self, transcript: Transcript, *tools: Tool, **changes: Any) -> Turn:
        """The model's next turn, with some settings changed. Raises ProviderError and KeyRefused."""
        caller = replace(self.caller, settings=replace(self.caller.settings, **changes))
        self.requests += 1
        answered = await caller.turn(transcript, tools)
        turn = answered.turn
        self.turns.append(turn)
        self.seconds += answered.seconds
        if turn.usage is None:
            self.counted = False
        else:
            self.usage += turn.usage
        self.cost = None if self.cost is None or answered.cost is None else self.cost + answered.cost
        transcript.messages.append(turn)
        return turn


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe found: its verdict, a sentence of why, and facts that a program may want."""

    verdict: Verdict
    detail: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question about a model and the requests that answer it."""

    name: str
    question: str
    run: Callable[[Asker], Awaitable[Answer]]


def opening(text: str, system: str = SYSTEM) -> Transcript:
    """A conversation that begins with this message."""
    return Transcript(system, [UserMessage(text)])


def result_of(turn: Turn, text: str) -> ToolMessage:
    """One text as the result of every call of a turn."""
    return ToolMessage(tuple(ToolResult(call.id, call.name, text) for call in turn.calls))


def opened(raw: str | dict[str, Any]) -> dict[str, Any] | None:
    """A call's arguments as an object; None where they are not one."""
    if isinstance(raw, dict):
        return raw
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def quoted(text: str) -> str:
    """The beginning of what a model said, for a detail."""
    one_line = " ".join(text.split())
    return f'"{one_line[:80]}..."' if len(one_line) > 80 else f'"{one_line}"'


def no_call(turn: Turn) -> Answer | None:
    """The answer of a probe whose model made no call, None if it made one."""
    if turn.calls:
        return None
    if turn.stop in ("refusal", "content_filter", "context_limit", "max_tokens"):
        return Answer("no", f"no call; stop: {turn.stop}")
    return Answer("no", f"no call; it said {quoted(turn.text)}" if turn.text.strip() else "an empty turn")


def carried_reasoning(payload: Any) -> bool:
    """Whether what goes back of a turn holds reasoning: blocks, items or fields of the three APIs."""
    if isinstance(payload, dict):
        return any(payload.get(name) for name in ("reasoning", "reasoning_content", "reasoning_details"))
    kinds = {"thinking", "redacted_thinking", "reasoning"}
    return isinstance(payload, list) and any(isinstance(b, dict) and b.get("type") in kinds for b in payload)


async def answers(asker: Asker) -> Answer:
    """A plain request: is there a model, and are its tokens counted?"""
    turn = await asker.ask(opening("Reply with one word: ready", system="Be brief."))
    facts = {"counts_tokens": turn.usage is not None, "stop": turn.stop}
    counted = "tokens counted" if turn.usage is not None else "tokens NOT counted: costs can't be known"
    verdict: Verdict = "yes" if turn.text.strip() else "no"
    return Answer(verdict, f"said {quoted(turn.text)}; stop: {turn.stop}; {counted}", facts)


async def tool_call(asker: Asker) -> Answer:
    """One tool, one required argument that the question names."""
    turn = await asker.ask(opening(ASK_BED), BED)
    if (missing := no_call(turn)) is not None:
        return missing
    return _bed_called(turn.calls[0])


def _bed_called(call: ToolCall) -> Answer:
    form = "text" if isinstance(call.arguments_raw, str) else "an object"
    facts = {"arguments_as": form}
    if call.name != BED.name:
        return Answer("no", f"called {quoted(call.name)}, which is no tool", facts)
    arguments = opened(call.arguments_raw)
    if arguments is None:
        return Answer("no", f"the arguments are not a JSON object: {quoted(str(call.arguments_raw))}", facts)
    if "B12" not in str(arguments.get("bed", "")):
        return Answer("no", f"the argument is missing or wrong: {quoted(json.dumps(arguments))}", facts)
    return Answer("yes", f"valid arguments, given as {form}", facts)


async def round_trip(asker: Asker) -> Answer:
    """A tool's result goes back, with whatever reasoning came before it, and is used."""
    return await _found_in(asker, f"Bed B12 is in ward {WORD.capitalize()}.")


async def long_result(asker: Asker) -> Answer:
    """The same with a long result whose last line holds the answer."""
    line = "Bed {0} is in ward Medlar, bay {1}, last cleaned on day {2}.\n"
    lines, size, number = [], 0, 0
    while size < asker.long_characters:
        number += 1
        lines.append(line.format(f"A{number}", number % 7, number % 31))
        size += len(lines[-1])
    found = await _found_in(asker, "".join(lines) + f"Bed B12 is in ward {WORD.capitalize()}.")
    detail = f"{size:,} characters: {found.detail}"
    return Answer(found.verdict, detail, found.facts | {"characters": size})


async def _found_in(asker: Asker, result: str) -> Answer:
    transcript = opening(ASK_BED)
    first = await asker.ask(transcript, BED)
    if not first.calls:
        return Answer("unclear", "no call was made, so no result could go back")
    transcript.messages.append(result_of(first, result))
    second = await asker.ask(transcript, BED)
    reasoned = carried_reasoning(first.payload)
    facts = {"reasoning_carried_back": reasoned, "reasoning_tokens": asker.usage.reasoning_tokens}
    with_it = "reasoning went back with it" if reasoned else "no reasoning to carry"
    if second.stop == "context_limit":
        return Answer("no", "the conversation no longer fits the context window", facts)
    if WORD in second.text.lower():
        return Answer("yes", f"used the result; {with_it}", facts)
    again = " and called again" if second.calls else ""
    return Answer("no", f"accepted, but the answer was not used{again}: {quoted(second.text)}", facts)


async def functions(asker: Asker) -> Answer:
    """The nine functions together, as a run offers them: is the list taken, are arguments valid?"""
    tools = tuple(Tool(f.tool_name, f.description, f.input_schema) for f in load_functions())
    turn = await _refusable(asker, opening(ASK_LAB), *tools)
    if isinstance(turn, Answer):
        return turn
    if (missing := no_call(turn)) is not None:
        return missing
    call = turn.calls[0]
    function = find_function(call.name, "medagentbench")
    if function is None or function.name != "lab.search":
        return Answer("no", f"took the list, but called {quoted(call.name)}")
    faults = decode(function, call.arguments_raw).faults
    if faults:
        return Answer("no", f"took the list; faults in the arguments: {faults[0].path} {faults[0].message}")
    return Answer("yes", "took the list; valid arguments")


async def strict(asker: Asker) -> Answer:
    """A schema that the provider itself is asked to hold arguments to. Runs do not use this."""
    listed = {tool["name"]: tool for tool in export("openai-strict")}["lab_search"]
    tool = Tool("lab_search", listed["description"], listed["parameters"], strict=True)
    turn = await _refusable(asker, opening(ASK_LAB), tool)
    if isinstance(turn, Answer):
        return turn
    if not turn.calls:
        return Answer("unclear", "the schema was taken, but no call was made", {"accepted": True})
    arguments = opened(turn.calls[0].arguments_raw)
    if arguments is not None and set(arguments) == set(listed["parameters"]["required"]):
        return Answer("yes", "taken and held to", {"accepted": True, "held_to": True})
    return Answer("no", "taken without complaint, but not held to", {"accepted": True, "held_to": False})


async def _refusable(asker: Asker, transcript: Transcript, *tools: Tool) -> Turn | Answer:
    """A turn, or the answer that a refusal of the request itself amounts to."""
    try:
        return await asker.ask(transcript, *tools)
    except ProviderError as error:
        if error.kind != "bad_request":
            raise
        return Answer("no", f"refused: {error}", {"accepted": False})


async def parallel(asker: Asker) -> Answer:
    """Several calls in one turn, where they are allowed."""
    turn = await asker.ask(opening(ASK_BEDS), BED, parallel_tools=True)
    if (missing := no_call(turn)) is not None:
        return missing
    count = len(turn.calls)
    return Answer("yes" if count > 1 else "no", f"calls in the turn: {count}", {"calls": count})


async def one_call(asker: Asker) -> Answer:
    """One call a turn, where that is asked for."""
    turn = await asker.ask(opening(ASK_BEDS), BED, parallel_tools=False)
    if (missing := no_call(turn)) is not None:
        return Answer("unclear", missing.detail)
    count = len(turn.calls)
    cost = "" if count == 1 else ": each costs a round"
    return Answer("yes" if count == 1 else "no", f"calls in the turn: {count}{cost}", {"calls": count})


async def empty_arguments(asker: Asker) -> Answer:
    """A tool without arguments: in what form they come, and whether the call may go back as it came."""
    transcript = opening("Which shift is on duty now? Ask the tool.")
    turn = await asker.ask(transcript, SHIFT)
    if (missing := no_call(turn)) is not None:
        return missing
    raw = turn.calls[0].arguments_raw
    form = json.dumps(raw) if isinstance(raw, dict) else raw or "an empty string"
    transcript.messages.append(result_of(turn, "The night shift."))
    second = await asker.ask(transcript, SHIFT)
    facts = {"form": form[:60], "stop_after": second.stop}
    empty = opened(raw) == {} or raw == ""
    return Answer("yes" if empty else "no", f"sent as {form[:60]}, and taken back", facts)


async def truncation(asker: Asker) -> Answer:
    """A long answer under a small limit of output tokens: is the cut reported as one?"""
    turn = await asker.ask(opening("Write the numbers from one to three hundred as words."), max_tokens=16)
    told = turn.stop == "max_tokens"
    return Answer("yes" if told else "no", f"stop: {turn.stop}", {"stop": turn.stop})


async def willing(asker: Asker) -> Answer:
    """An order of the benchmark's kind, for a patient who is said to be synthetic."""
    turn = await asker.ask(opening(ASK_ORDER), INFUSION)
    facts = {"stop": turn.stop}
    if turn.stop in ("refusal", "content_filter"):
        return Answer("no", f"declined; stop: {turn.stop}; {quoted(turn.text)}", facts)
    if turn.calls:
        return Answer("yes", f"placed the order; stop: {turn.stop}", facts)
    return Answer("unclear", f"neither ordered nor declined; stop: {turn.stop}; {quoted(turn.text)}", facts)


async def text_protocol(asker: Asker) -> Answer:
    """The text protocol's whole prompt with one task: is the answer exactly one action?"""
    turn = await asker.ask(opening(asker.text_prompt, system=""))
    action = read_action(turn.text)
    if action is None:
        return Answer("no", f"no action; stop: {turn.stop}; it said {quoted(turn.text)}")
    return Answer("yes", f"wrote {action.kind} {action.url or action.body}"[:120], {"action": action.kind})


PROBES: Final = (
    Probe("answers", "Does it answer, and count its tokens?", answers),
    Probe("tool_call", "Does it call a tool?", tool_call),
    Probe("round_trip", "Does it use a tool's result, reasoning carried back?", round_trip),
    Probe("functions", "Does it take the nine functions and call them with valid arguments?", functions),
    Probe("strict", "Does it take a strict schema and hold to it?", strict),
    Probe("parallel", "Does it make several calls in a turn, if allowed?", parallel),
    Probe("one_call", "Does it keep to one call a turn, if asked?", one_call),
    Probe("empty_arguments", "Can a call have no arguments?", empty_arguments),
    Probe("long_result", "Does it read a long result to its end?", long_result),
    Probe("truncation", "Does it say that it was cut at the limit of tokens?", truncation),
    Probe("willing", "Does it do clinical work without declining?", willing),
    Probe("text_protocol", "Does it write the text protocol's actions?", text_protocol),
)
"""In the order in which they are asked; the first decides whether the others are."""
