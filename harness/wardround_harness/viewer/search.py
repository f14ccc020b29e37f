"""Searching every attempt of every run for a text, case-insensitively."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import orjson

from wardround_schemas.errors import UserError

from ..summary import RULES
from .index import MALFORMED, Entry, RunIndex
from .models import Hit, SearchResult

LIMIT: Final = 200
AROUND: Final = 60
SHORTEST: Final = 2


def search(index: RunIndex, query: str, only: str | None = None) -> SearchResult:
    """The attempts that hold `query` in their task, words, calls, results, answer or failures.

    One hit per attempt, the first place found; at most LIMIT of them. `only` limits the search to
    one run.
    """
    wanted = query.strip().lower()
    result = SearchResult(query=query, hits=[], more=False, skipped=[])
    if len(wanted) < SHORTEST:
        return result
    for row in index.runs():
        if only is not None and row.id != only:
            continue
        try:
            hits = list(islice(_search_run(index, index.entry(row.id), wanted), LIMIT + 1))
        except (UserError, *MALFORMED):
            result.skipped.append(row.name)
            continue
        result.hits.extend(hits)
        if len(result.hits) > LIMIT:
            result.more = True
            del result.hits[LIMIT:]
            break
    return result


def _search_run(index: RunIndex, entry: Entry, wanted: str) -> Iterator[Hit]:
    # The raw line is looked at first, without what JSON may spell in several ways: most need no parsing.
    spelled = _squeezed(wanted.encode()) if wanted.isascii() else b""
    texts = index.task_texts(entry)
    told = {
        task_id: f"{task.instruction}\n{task.context}"
        for task_id, task in texts.items()
        if wanted in f"{task.instruction}\n{task.context}".lower()
    }
    for raw in index.scan(entry):
        if not told and spelled not in _squeezed(raw):
            continue
        line = orjson.loads(raw)
        task_id = str(line["task_id"])
        for where, text in _fields(line, told.get(task_id)):
            place = text.lower().find(wanted)
            if place >= 0:
                yield _hit(entry, line, where, text, place, len(wanted))
                break


def _squeezed(text: bytes) -> bytes:
    """ASCII-lower-cased text without blanks, quotes and backslashes: what holds it when JSON does too."""
    return text.lower().translate(None, b' \t\r\n\\"')


def _fields(line: Mapping[str, Any], task: str | None) -> Iterator[tuple[str, str]]:
    """The texts of an attempt in the order in which a person would look."""
    yield "task id", str(line["task_id"])
    if task is not None:
        yield "task", task
    attempt = line.get("attempt") or {}
    yield "answer", str(attempt.get("answer") or "")
    for rules in RULES:
        verdict = (line.get("verdicts") or {}).get(rules) or {}
        for failure in verdict.get("failures") or ():
            yield f"failure, {rules}", orjson.dumps(failure).decode()
    for number, turn in enumerate(line.get("rounds") or (), 1):
        yield f"round {number}", str(turn.get("text") or "")
        calls: Sequence[Mapping[str, Any]] = turn.get("calls") or ()
        for call in calls:
            yield (
                f"round {number}, call",
                f"{call.get('function')} {orjson.dumps(call.get('arguments')).decode()}",
            )
            yield f"round {number}, result", str(call.get("result") or "")
    yield "error", str(line.get("error") or "")


def _hit(entry: Entry, line: Mapping[str, Any], where: str, text: str, place: int, length: int) -> Hit:
    end = place + length
    return Hit(
        run_id=entry.id,
        run_name=entry.name,
        task_id=str(line["task_id"]),
        repeat=int(line.get("repeat", 0)),
        where=where,
        before=text[max(0, place - AROUND) : place],
        match=text[place:end],
        after=text[end : end + AROUND],
    )
