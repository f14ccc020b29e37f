"""What the attempts of a run took: format failures, invalid actions, rounds, tokens, cost, time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from .reading import StoredRun, TaskInfo
from .summary import RULES, USAGE, Line, line_status, passed


def codes(line: Line, rules: str, kind: str = "failures") -> list[str]:
    """The codes of a line's failures, or of its notes, under one rule set, in order."""
    verdict = (line.get("verdicts") or {}).get(rules) or {}
    return [str(failure.get("code")) for failure in verdict.get(kind) or ()]


def refused_calls(line: Line) -> int:
    """Calls that came back as an error: faulty arguments, unknown tools, bad searches."""
    return sum(
        not call.get("ok", True) for turn in line.get("rounds") or () for call in turn.get("calls") or ()
    )


def _average(values: Iterable[float | None]) -> float | None:
    listed = list(values)
    known = [value for value in listed if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(listed) else None


def measure(lines: Sequence[Line]) -> dict[str, Any]:
    """The effort of scored lines (at least one): means per attempt, counts over all.

    `format_failures` are attempts whose answer is not JSON or is in another form than asked for;
    `calls_refused` the calls that came back as errors. Cost is None when any attempt's is unknown; cost
    per solved task when cost is unknown or nothing was solved (clinical rules).
    """
    statuses = Counter(line_status(line) for line in lines)
    cost = _average(line.get("cost_usd") for line in lines)
    solved = sum(passed(line, "clinical") for line in lines)
    seconds = [float(line.get("seconds") or 0) for line in lines]
    usage = {name: sum(int((line.get("usage") or {}).get(name) or 0) for line in lines) for name in USAGE}
    return {
        "attempts": len(lines),
        "passed": {rules: sum(passed(line, rules) for line in lines) for rules in RULES},
        "format_failures": sum(
            "answer_not_json" in codes(line, "medagentbench")
            or "answer_format" in codes(line, "clinical", "notes")
            for line in lines
        ),
        "invalid_actions": statuses["invalid_action"],
        "budget_exhausted": statuses["budget_exhausted"],
        "calls_refused": sum(refused_calls(line) for line in lines),
        "rounds_by_call": _average(line.get("rounds_by_call") for line in lines),
        "rounds_by_turn": _average(line.get("rounds_by_turn") for line in lines),
        "tokens": {name: value / len(lines) for name, value in usage.items()},
        "cost_usd": cost,
        "cost_per_solved_usd": None if cost is None or not solved else cost * len(lines) / solved,
        "seconds": {"mean": math.fsum(seconds) / len(seconds), "median": median(seconds)},
    }


def effort(a: StoredRun, b: StoredRun, tasks: Sequence[TaskInfo]) -> dict[str, Any]:
    """Effort of both runs on the same tasks, overall and per category."""
    groups: dict[str, list[str]] = {"overall": [task.id for task in tasks]}
    for task in tasks:
        groups.setdefault(task.category, []).append(task.id)
    return {
        group: {"a": measure(_lines_of(a, ids)), "b": measure(_lines_of(b, ids))}
        for group, ids in groups.items()
    }


def _lines_of(run: StoredRun, ids: Sequence[str]) -> list[Mapping[str, Any]]:
    wanted = set(ids)
    return [line for (task_id, _), line in run.settled.items() if task_id in wanted]
