"""Two runs side by side for the viewer: the comparison where there can be one, and every task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wardround_schemas.errors import UserError

from ..compare import compare_runs, incomparable, same_task
from ..compare_text import sentences
from ..reading import StoredRun
from ..summary import RULES
from .index import Entry, RunIndex
from .models import AttemptRow, Compared, ComparedTask, Rules


def compare_entries(index: RunIndex, a: Entry, b: Entry, *, margin: float, allow_different: bool) -> Compared:
    """Two runs and, where they are comparable or it was allowed, the statistics of `wardround compare`."""
    left, right = index.stored(a), index.stored(b)
    reasons = incomparable(left, right)
    statistics: dict[str, Any] | None = None
    if not reasons or allow_different:
        statistics = _statistics(left, right, margin, allow_different, reasons)
    return Compared(
        a=a.row,
        b=b.row,
        reasons=reasons,
        statistics=statistics,
        sentences={rules: sentences(statistics, rules) for rules in RULES} if statistics else {},
        tasks=compared_tasks(index.attempts(a), index.attempts(b), same_task(left, right)),
    )


def _statistics(
    left: StoredRun, right: StoredRun, margin: float, allow_different: bool, reasons: list[str]
) -> dict[str, Any] | None:
    try:
        result = compare_runs(left, right, margin=margin, allow_different=allow_different)
    except UserError as error:
        reasons.append(str(error))
        return None
    for rules in RULES:
        # The page lists every task itself; sending the flips twice would double the answer.
        result["rules"][rules].pop("flipped")
    return result


def _by_task(rows: Iterable[AttemptRow]) -> dict[str, list[AttemptRow]]:
    grouped: dict[str, list[AttemptRow]] = {}
    for row in rows:
        grouped.setdefault(row.task_id, []).append(row)
    return grouped


def _passes(rows: list[AttemptRow]) -> dict[Rules, int]:
    return {
        "medagentbench": sum(row.medagentbench is True for row in rows),
        "clinical": sum(row.clinical is True for row in rows),
    }


def compared_tasks(
    a: list[AttemptRow], b: list[AttemptRow], same: Callable[[str], bool]
) -> list[ComparedTask]:
    """The tasks that both runs have attempts of, in the order of a; `same` tells which ids are one task."""
    left, right = _by_task(a), _by_task(b)
    tasks: list[ComparedTask] = []
    for task_id, rows in left.items():
        others = right.get(task_id)
        if others is None or not same(task_id):
            continue
        passes_a, passes_b = _passes(rows), _passes(others)
        tasks.append(
            ComparedTask(
                task_id=task_id,
                category=rows[0].category,
                kind=rows[0].kind,
                difficulty=rows[0].difficulty,
                a=passes_a,
                b=passes_b,
                repeats_a=len(rows),
                repeats_b=len(others),
                flipped=any(
                    passes_a[rules] * len(others) != passes_b[rules] * len(rows) for rules in passes_a
                ),
                codes_a=list(dict.fromkeys(code for row in rows for code in row.codes)),
                codes_b=list(dict.fromkeys(code for row in others for code in row.codes)),
            )
        )
    return tasks
