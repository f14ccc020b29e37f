"""From a run line to what the viewer shows of an attempt; results folded to their beginnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from wardround_schemas.errors import UserError

from ..summary import RULES, Key, Line
from .captured import writes
from .index import Entry, RunIndex
from .models import AttemptDetail, AttemptRow, Call, FailureNote, ResultPart, Round, TaskText

PREVIEW: Final = 400
"""Characters of a result that are sent with an attempt."""

PART: Final = 65_536
"""Characters of a result that are sent at a time once it is unfolded."""


def attempt_detail(index: RunIndex, entry: Entry, key: Key) -> AttemptDetail:
    """Everything about one attempt but the bulk of its results."""
    line, rows, place = index.attempt(entry, key)
    failures = failure_notes(line)
    attempt = line.get("attempt") or {}
    error = line.get("error")
    return AttemptDetail(
        run_id=entry.id,
        run_name=entry.name,
        row=rows[place],
        protocol=str(line.get("protocol", "")),
        task=task_text(index, entry, key[0]),
        answer=attempt.get("answer"),
        mentions_post=bool(attempt.get("mentions_post")),
        error=None if error is None else str(error),
        rounds=rounds(line),
        writes=writes(attempt, failures),
        failures=failures,
        previous=_neighbour(rows, place - 1),
        next=_neighbour(rows, place + 1),
    )


def _neighbour(rows: Sequence[AttemptRow], place: int) -> tuple[str, int] | None:
    return (rows[place].task_id, rows[place].repeat) if 0 <= place < len(rows) else None


def task_text(index: RunIndex, entry: Entry, task_id: str) -> TaskText | None:
    """What the agent was told; None where the task set is not at hand."""
    task = index.task_texts(entry).get(task_id)
    if task is None:
        return None
    return TaskText(instruction=task.instruction, context=task.context, branch=task.branch, now=task.now)


def failure_notes(line: Line) -> list[FailureNote]:
    """The failures of both rule sets, then the notes."""
    found: list[FailureNote] = []
    for kind in ("failures", "notes"):
        for rules in RULES:
            verdict = (line.get("verdicts") or {}).get(rules) or {}
            found.extend(
                FailureNote(
                    rules=rules,
                    note=kind == "notes",
                    code=str(failure.get("code")),
                    path=str(failure.get("path")),
                    expected=failure.get("expected"),
                    got=failure.get("got"),
                )
                for failure in verdict.get(kind) or ()
            )
    return found


def rounds(line: Line) -> list[Round]:
    """The turns of an attempt, each create call with the captured write that came of it."""
    captured = list((line.get("attempt") or {}).get("calls") or ())
    turns = [(turn, list(turn.get("calls") or ())) for turn in line.get("rounds") or ()]
    places = write_places([call for _, calls in turns for call in calls], captured)
    found: list[Round] = []
    number = 0
    for turn, calls in turns:
        shown: list[Call] = []
        for call in calls:
            place = places[number]
            number += 1
            accepted = None if place is None else bool(captured[place].get("accepted", True))
            shown.append(_call(call, place, accepted))
        found.append(
            Round(
                text=str(turn.get("text") or ""),
                stop=str(turn.get("stop") or ""),
                seconds=turn.get("seconds"),
                tries=int(turn.get("tries") or 1),
                notes=[str(note) for note in turn.get("notes") or ()],
                usage=turn.get("usage"),
                calls=shown,
            )
        )
    return found


def write_places(
    calls: Sequence[Mapping[str, Any]], captured: Sequence[Mapping[str, Any]]
) -> list[int | None]:
    """For each call the captured write that came of it, None where none did.

    A run line does not say which. A write is that of the first create call or POST, in order, that sent
    its resource; where each create call has its write, the order alone decides.
    """
    makers = [place for place, call in enumerate(calls) if _may_write(call)]
    places: list[int | None] = [None] * len(calls)
    if len(makers) == len(captured):
        for write, place in enumerate(makers):
            places[place] = write
        return places
    used = 0
    for place in makers:
        sent = _sent(calls[place].get("arguments"))
        for write in range(used, len(captured)):
            if captured[write].get("resource") == sent:
                places[place], used = write, write + 1
                break
    return places


def _may_write(call: Mapping[str, Any]) -> bool:
    name = str(call.get("function"))
    return name.endswith((".create", "_create")) or name == "POST"


def _sent(arguments: Any) -> Any:
    """The resource that a call's arguments carry: themselves, or the body of a POST."""
    if isinstance(arguments, Mapping) and set(arguments) == {"url", "body"}:
        arguments = arguments["body"]
    if isinstance(arguments, str):
        try:
            return orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return arguments
    return arguments


def _call(call: Mapping[str, Any], write: int | None, accepted: bool | None) -> Call:
    result = call.get("result")
    text = None if result is None else str(result)
    return Call(
        function=str(call.get("function")),
        arguments=call.get("arguments"),
        ok=bool(call.get("ok", True)),
        seconds=float(call.get("seconds") or 0),
        result_bytes=int(call.get("result_bytes") or 0),
        result_chars=None if text is None else len(text),
        preview=(text or "")[:PREVIEW],
        accepted=accepted,
        write=write,
    )


def result_part(line: Line, turn: int, call: int, offset: int) -> ResultPart:
    """A part of one call's result from a character offset on; UserError where there is none."""
    try:
        found = line["rounds"][turn]["calls"][call]
    except (KeyError, IndexError, TypeError):
        raise UserError("there is no such call") from None
    text = found.get("result")
    if text is None:
        raise UserError("the run holds the size of this result, not its text")
    text = str(text)
    end = min(len(text), offset + PART)
    return ResultPart(
        text=text[offset:end], offset=offset, total=len(text), next=end if end < len(text) else None
    )
