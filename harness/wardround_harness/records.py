"""Lines of a run folder: from an attempt as it was played to the record that is kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.verdict import Verdicts

from .agents.base import Usage
from .legible import legible
from .loop import CallLog, Play, RoundLog

DEEPEST: Final = 100
"""Levels of nesting that are kept; a model's value that goes deeper is cut there."""

_BIGGEST: Final = 2**63 - 1


def clean(value: Any, depth: int = 0) -> Any:
    """A value that any JSON reader takes back unchanged.

    What a model sent may hold what JSON has no room for: NaN and infinities (become their names as
    text), integers beyond 64 bits (become decimal text), lone surrogates (become U+FFFD), nesting
    deeper than DEEPEST (cut, with a text that says so).
    """
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= _BIGGEST else str(value)
    if depth >= DEEPEST:
        return "(nested too deeply to record)"
    if isinstance(value, Mapping):
        return {clean(str(key)): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, depth + 1) for item in value]
    return clean(str(value))


def clean_attempt(attempt: Attempt) -> Attempt:
    """The attempt as it can be recorded; what is graded is what is recorded."""
    return replace(
        attempt,
        answer=clean(attempt.answer),
        calls=tuple(
            CreateCall(clean(call.resource_type), clean(call.resource), call.accepted)
            for call in attempt.calls
        ),
    )


def usage_json(usage: Usage) -> dict[str, int]:
    """Usage with the record's field names; tokens written to a cache only where there are any."""
    value = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    if usage.cache_write_tokens:
        value["cache_write_tokens"] = usage.cache_write_tokens
    return value


def run_line(
    *,
    repeat: int,
    play: Play,
    attempt: Attempt,
    verdicts: Verdicts | None,
) -> dict[str, Any]:
    """One line of `attempts.jsonl`. `verdicts` is None for an attempt that is owed.

    Times are in seconds, costs in US dollars (None: unknown).
    """
    return {
        "task_id": attempt.task_id,
        "repeat": repeat,
        "protocol": play.transcript.protocol,
        "attempt": attempt.to_json(),
        "rounds": [_round(log) for log in play.rounds],
        "rounds_by_call": play.actions,
        "rounds_by_turn": len(play.rounds),
        "usage": usage_json(play.usage),
        "cost_usd": play.cost,
        "seconds": round(play.seconds, 6),
        "verdicts": verdict_json(verdicts) if verdicts is not None else None,
        **({"error": clean(play.error)} if play.error is not None else {}),
        **({"notes": [clean(note) for note in play.notes]} if play.notes else {}),
    }


def verdict_json(verdicts: Verdicts) -> dict[str, Any]:
    """Both verdicts without the task's id, which the line has already; what they quote is cleaned."""
    return {rules: clean(verdict) for rules, verdict in verdicts.to_json().items() if rules != "task_id"}


def _round(log: RoundLog) -> dict[str, Any]:
    return {
        "text": clean(log.text),
        "calls": [_call(call) for call in log.calls],
        "usage": usage_json(log.usage) if log.usage is not None else None,
        "stop": log.stop,
        "seconds": round(log.seconds, 6),
        **({"tries": log.tries} if log.tries > 1 else {}),
        **({"notes": [clean(note) for note in log.notes]} if log.notes else {}),
    }


def _call(call: CallLog) -> dict[str, Any]:
    entry = {
        "function": clean(call.function),
        "arguments": clean(call.arguments),
        "ok": call.ok,
        "result_bytes": call.result_bytes,
        "seconds": round(call.seconds, 6),
    }
    if call.result is not None:
        entry["result"] = clean(call.result)
        entry["result_bytes"] = len(entry["result"].encode())
    return entry


def encode_line(line: Mapping[str, Any]) -> bytes:
    """A record as one line of JSON with its newline."""
    return orjson.dumps(dict(line), option=orjson.OPT_APPEND_NEWLINE)
