"""From the lines of a run to its `summary.json`: scores, intervals, ledger, usage and cost.

Scoring rules: a group's rate is passes over all its attempts (tasks x repeats). A task and repeat
without a scored line is owed. While any is owed, no rate is given, only the bounds between which the
whole run's rate must lie: all owed failing, all owed passing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from wardround_schemas.errors import UserError
from wardround_tasks.severity import harms_of, severity

from .ledger import OWED, SCORED, STATUSES
from .stats import pass_hat_k, score_interval, upper_bound

if TYPE_CHECKING:
    from rich.table import Table

RULES: Final = ("medagentbench", "clinical")
CATEGORIES: Final = tuple(f"task{number}" for number in range(1, 11))
GROUPS: Final = ("overall", "query", "action", "easy", "medium", "hard", *CATEGORIES)
USAGE: Final = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")

Line = Mapping[str, Any]
Key = tuple[str, int]


class TaskLike(Protocol):
    """What a score needs to know of a task."""

    @property
    def id(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def difficulty(self) -> str: ...


def line_status(line: Line) -> str:
    """The ledger's status of a run line; UserError for one that the ledger does not know."""
    attempt = line.get("attempt") or {}
    status = attempt.get("status", "completed")
    if status not in STATUSES:
        raise UserError(
            f"task {line.get('task_id')}: unknown status {status!r}", mend=f"one of {', '.join(STATUSES)}"
        )
    return str(status)


def settle(lines: Iterable[Line]) -> dict[Key, Line]:
    """One line per task and repeat: a scored line beats an owed one, a later line an earlier one."""
    settled: dict[Key, Line] = {}
    for line in lines:
        key = (str(line["task_id"]), int(line.get("repeat", 0)))
        held = settled.get(key)
        if held is not None and line_status(held) in SCORED and line_status(line) in OWED:
            continue
        settled[key] = line
    return settled


def passed(line: Line, rules: str) -> bool:
    """Whether a scored line passed under one rule set. UserError where the line has no verdict."""
    verdict = (line.get("verdicts") or {}).get(rules)
    if not isinstance(verdict, Mapping) or not isinstance(verdict.get("passed"), bool):
        raise UserError(
            f"task {line.get('task_id')} has no {rules} verdict", mend="grade the run's attempts first"
        )
    return bool(verdict["passed"])


@dataclass(frozen=True, slots=True)
class TaskScore:
    """One task of a run: scored passes and owed repeats, out of `repeats`."""

    passes: int
    owed: int
    repeats: int

    @property
    def mean(self) -> float:
        """Share of passes; meaningful once nothing is owed."""
        return self.passes / self.repeats


def task_scores(
    settled: Mapping[Key, Line], tasks: Sequence[TaskLike], repeats: int, rules: str
) -> dict[str, TaskScore]:
    """The score of every task under one rule set, in the tasks' order."""
    passes: Counter[str] = Counter()
    scored: Counter[str] = Counter()
    for (task_id, _), line in settled.items():
        if line_status(line) in SCORED:
            scored[task_id] += 1
            passes[task_id] += passed(line, rules)
    return {task.id: TaskScore(passes[task.id], repeats - scored[task.id], repeats) for task in tasks}


def group_members(tasks: Sequence[TaskLike]) -> dict[str, list[str]]:
    """Task ids per group, in the order of GROUPS, plugins' categories last; none without tasks."""
    members: dict[str, list[str]] = {group: [] for group in GROUPS}
    for task in tasks:
        for group in ("overall", task.kind, task.difficulty, task.category):
            members.setdefault(group, []).append(task.id)
    return {group: ids for group, ids in members.items() if ids}


def groups_of(summaries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every group that may stand in the summaries: GROUPS, then the categories that plugins brought."""
    found = (group for each in summaries for scores in each.get("scores", {}).values() for group in scores)
    return tuple(dict.fromkeys((*GROUPS, *found)))


def _group_score(scores: Sequence[TaskScore], repeats: int, *, whole: bool) -> dict[str, Any]:
    total = len(scores) * repeats
    passes = sum(score.passes for score in scores)
    entry: dict[str, Any] = {"passed": passes, "total": total}
    if not whole:
        owed = sum(score.owed for score in scores)
        return entry | {"rate_bounds": [passes / total, (passes + owed) / total]}
    low, high = score_interval([score.mean for score in scores], repeats)
    return entry | {"rate": passes / total, "ci95": [low, high]}


def _pass_hat(scores: Sequence[TaskScore], repeats: int) -> dict[str, Any]:
    """pass^k for k = 1 ... repeats, each the mean over tasks with its interval by task means."""
    result: dict[str, Any] = {}
    for k in range(1, repeats + 1):
        values = [pass_hat_k(score.passes, repeats, k) for score in scores]
        low, high = score_interval(values, repeats)
        result[str(k)] = {"rate": math.fsum(values) / len(values), "ci95": [low, high]}
    return result


def total_usage(lines: Iterable[Line]) -> dict[str, int]:
    """Tokens over all lines, those of owed attempts included: they were used too."""
    totals = dict.fromkeys(USAGE, 0)
    for line in lines:
        for name, value in (line.get("usage") or {}).items():
            if name in totals:
                totals[name] += int(value or 0)
    return totals


def total_cost(lines: Iterable[Line]) -> float | None:
    """US dollars over all lines, or None when the cost of any attempt that was made is unknown."""
    costs: list[float] = []
    for line in lines:
        cost = line.get("cost_usd")
        if cost is None:
            if line_status(line) == "not_run":
                continue
            return None
        costs.append(float(cost))
    return math.fsum(costs)


def summarise(
    lines: Sequence[Line],
    tasks: Sequence[TaskLike],
    *,
    repeats: int,
    expected: int,
    baselines: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The summary of a run, as `summary.json` holds it.

    `lines` are the run's lines in the order written, `tasks` those that the run was to do, each
    `repeats` times; `expected` is the number of attempts the ledger must add up to, tasks x repeats.
    `baselines` maps a name to what that trivial agent scores on the same tasks.
    UserError when the lines do not fit the tasks or lack a verdict.
    """
    if repeats < 1 or not tasks:
        raise UserError("a summary needs at least one task and one repeat")
    if expected != len(tasks) * repeats:
        raise UserError(f"the ledger can't add up: {len(tasks)} tasks x {repeats} repeats is not {expected}")
    settled = settle(lines)
    _check_keys(settled, tasks, repeats)
    ledger = Counter(line_status(line) for line in settled.values())
    ledger["not_run"] += expected - len(settled)
    whole = not any(ledger[status] for status in OWED)
    members = group_members(tasks)
    scores: dict[str, dict[str, Any]] = {}
    hats: dict[str, dict[str, Any]] = {}
    for rules in RULES:
        by_task = task_scores(settled, tasks, repeats, rules)
        scores[rules] = {
            group: _group_score([by_task[task_id] for task_id in ids], repeats, whole=whole)
            for group, ids in members.items()
        }
        if whole:
            hats[rules] = _pass_hat(list(by_task.values()), repeats)
    return {
        "scores": scores,
        "pass_hat_k": hats,
        "severity": _severity(settled.values(), repeats),
        "baselines": dict(baselines or {}),
        "ledger": {status: ledger[status] for status in STATUSES if ledger[status]},
        "usage": total_usage(lines),
        "cost_usd": total_cost(lines),
    }


def _severity(lines: Iterable[Line], repeats: int) -> dict[str, dict[str, Any]]:
    """Kinds of harm over the scored attempts, each with the upper bound of its rate.

    With repeats the bound is over tasks, by those that show the harm at least once: attempts of one
    task are no independent chances, and a rate per task at least once is never below one per attempt.
    """
    scored = [line for line in lines if line_status(line) in SCORED]
    found = severity(line["verdicts"]["clinical"] for line in scored)
    if repeats == 1 or not scored:
        return found
    tasks = {str(line["task_id"]) for line in scored}
    harmed: defaultdict[str, set[str]] = defaultdict(set)
    for line in scored:
        for kind in harms_of(line["verdicts"]["clinical"]):
            harmed[kind].add(str(line["task_id"]))
    return {
        kind: entry | {"upper95": upper_bound(len(harmed[kind]), len(tasks))} for kind, entry in found.items()
    }


def _check_keys(settled: Mapping[Key, Line], tasks: Sequence[TaskLike], repeats: int) -> None:
    known = {task.id for task in tasks}
    if len(known) != len(tasks):
        raise UserError("the task set has two tasks of the same id")
    counts: defaultdict[str, int] = defaultdict(int)
    for task_id, _ in settled:
        if task_id not in known:
            raise UserError(f"the run has a line of task {task_id}, which its task set lacks")
        counts[task_id] += 1
        if counts[task_id] > repeats:
            raise UserError(f"task {task_id} has more than {repeats} repeats")


def format_rate(entry: Mapping[str, Any] | None) -> str:
    """A group's score for people: `69.7 % (64.3 to 74.6)`, bounds while any is owed."""
    if entry is None:
        return "-"
    if "rate_bounds" in entry:
        low, high = entry["rate_bounds"]
        return f"{100 * low:.1f} to {100 * high:.1f} % (not whole)"
    low, high = entry["ci95"]
    return f"{100 * entry['rate']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def score_table(
    summaries: Mapping[str, Mapping[str, Any]],
    *,
    rules: Sequence[str] = RULES,
    groups: Sequence[str] | None = None,
) -> list[list[str]]:
    """Rows of text with the runs side by side, the heading first.

    `summaries` maps a run's name to its summary. One row per group that any run has (of `groups`, all where
    that is None), one column per run and rule set; after the groups come attempts, tokens and cost.
    """
    columns = [(name, rule) for name in summaries for rule in rules]
    rows = [["group", *(f"{name} {rule}" for name, rule in columns)]]
    for group in groups_of(summaries.values()) if groups is None else groups:
        entries = [(summaries[name].get("scores") or {}).get(rule, {}).get(group) for name, rule in columns]
        if any(entry is not None for entry in entries):
            rows.append([group, *map(format_rate, entries)])
    for label, text in (("attempts", _attempts), ("tokens in / out", _tokens), ("cost", _cost)):
        rows.append([label, *(text(summaries[name]) for name, _ in columns)])
    return rows


def _attempts(summary: Mapping[str, Any]) -> str:
    ledger: Mapping[str, int] = summary["ledger"]
    owed = sum(ledger.get(status, 0) for status in OWED)
    return f"{sum(ledger.values())}" + (f", {owed} owed" if owed else "")


def _tokens(summary: Mapping[str, Any]) -> str:
    usage: Mapping[str, int] = summary["usage"]
    return f"{usage['input_tokens']:,} / {usage['output_tokens']:,}"


def _cost(summary: Mapping[str, Any]) -> str:
    cost = summary["cost_usd"]
    return "unknown" if cost is None else f"${cost:,.2f}"


def rich_score_table(
    summaries: Mapping[str, Mapping[str, Any]],
    *,
    rules: Sequence[str] = RULES,
    groups: Sequence[str] | None = None,
    title: str | None = None,
) -> Table:
    """The score table for a terminal, ready for `rich.console.Console.print`."""
    from rich.table import Table
    from rich.text import Text

    heading, *rows = score_table(summaries, rules=rules, groups=groups)
    table = Table(title=title)
    for index, cell in enumerate(heading):
        table.add_column(Text(cell), justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
