"""Two runs over the same tasks, compared: the numbers of `wardround compare` and of `compare.json`.

The second run is judged against the first: a difference is b - a, "gained" what only b passes. Tasks
are the units throughout; with repeats a task counts by its mean and rows are never pooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from wardround_schemas.errors import UserError

from . import stats
from .effort import effort
from .reading import StoredRun, TaskInfo
from .summary import RULES, Line, TaskScore, passed, task_scores

FORMAT_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Paired:
    """Both runs' scores on the same tasks, under one rule set, in one order."""

    tasks: Sequence[TaskInfo]
    a: Sequence[TaskScore]
    b: Sequence[TaskScore]

    @property
    def differences(self) -> list[float]:
        """Per task, mean of b minus mean of a."""
        return [b.mean - a.mean for a, b in zip(self.a, self.b, strict=True)]

    @property
    def steps(self) -> list[int]:
        """The same differences in whole numbers, on a common number of repeats."""
        return [b.passes * a.repeats - a.passes * b.repeats for a, b in zip(self.a, self.b, strict=True)]

    @property
    def single(self) -> bool:
        """Whether both runs did each task once."""
        return all(score.repeats == 1 for score in (*self.a, *self.b))

    def table(self) -> stats.PairedTable:
        """The fourfold table (one repeat only)."""
        return stats.paired_table([s.passes == 1 for s in self.a], [s.passes == 1 for s in self.b])

    def of(self, category: str) -> Paired:
        """The part that is of one category."""
        keep = [index for index, task in enumerate(self.tasks) if task.category == category]
        return Paired([self.tasks[i] for i in keep], [self.a[i] for i in keep], [self.b[i] for i in keep])


def incomparable(a: StoredRun, b: StoredRun) -> list[str]:
    """Why two runs can't be compared as they are, one phrase each; empty when they can."""
    reasons: list[str] = []
    if a.task_checksum != b.task_checksum or not a.task_checksum:
        matched = "" if _texts_at_hand(a, b) else ", and tasks can be matched by id alone"
        reasons.append(f"their task sets differ{matched}")
    elif [task.id for task in a.tasks] != [task.id for task in b.tasks]:
        reasons.append("they did different tasks of the set")
    if a.chart_checksum != b.chart_checksum:
        reasons.append("their charts differ")
    elif not a.chart_checksum:
        reasons.append("their chart has no checksum, so nothing shows that it was the same")
    for run in (a, b):
        owed = sum(score.owed for score in _scores(run).values())
        if owed:
            reasons.append(f"{run.name} still owes {owed} attempts")
    return reasons


def _scores(run: StoredRun, rules: str = "clinical") -> dict[str, TaskScore]:
    return task_scores(run.settled, run.tasks, run.repeats, rules)


def compare_runs(
    a: StoredRun, b: StoredRun, *, margin: float = 0.05, seed: int = 0, allow_different: bool = False
) -> dict[str, Any]:
    """Compare two runs; the result is what `compare.json` holds.

    `margin` is the loss of pass rate that b may have and still be called no worse, 0 < margin < 1.
    UserError when the runs are of different tasks or charts or not whole, unless `allow_different`:
    then the tasks that both have done in full are compared, and the result says why that is less.
    """
    if not 0 < margin < 1:
        raise UserError(f"margin {margin} is not between 0 and 1", mend="0.05 allows a loss of five points")
    reasons = incomparable(a, b)
    if reasons and not allow_different:
        raise UserError(
            f"{a.name} and {b.name} can't be compared: {'; '.join(reasons)}",
            mend="--allow-different compares the tasks that both have done",
        )
    tasks = common_tasks(a, b)
    if len(tasks) < 2:
        raise UserError(
            f"{a.name} and {b.name} have {len(tasks)} finished tasks in common: nothing to compare"
        )
    return {
        "format_version": FORMAT_VERSION,
        "wardround": version("wardround"),
        "runs": {"a": _identity(a), "b": _identity(b)},
        "tasks": len(tasks),
        "differences": reasons,
        "margin": margin,
        "seed": seed,
        "rules": {rules: _compare_rules(a, b, tasks, rules, margin, seed) for rules in RULES},
        "effort": effort(a, b, tasks),
    }


def common_tasks(a: StoredRun, b: StoredRun) -> list[TaskInfo]:
    """The tasks of a, in its order, that both runs have done in full.

    Of two sets a task is common when it says the same in both; where a set is not at hand, ids must do.
    """
    done_a, done_b = _scores(a), _scores(b)
    same = same_task(a, b)
    return [
        task
        for task in a.tasks
        if task.id in done_b and done_a[task.id].owed == 0 and done_b[task.id].owed == 0 and same(task.id)
    ]


def _texts_at_hand(a: StoredRun, b: StoredRun) -> bool:
    return bool(a.task_texts) and bool(b.task_texts)


def same_task(a: StoredRun, b: StoredRun) -> Callable[[str], bool]:
    """Whether the task of an id is one task in both runs, as far as can be known."""
    if a.task_checksum == b.task_checksum or not _texts_at_hand(a, b):
        return lambda task_id: True
    return lambda task_id: a.task_texts.get(task_id) == b.task_texts.get(task_id)


def _identity(run: StoredRun) -> dict[str, Any]:
    return {
        "name": run.name,
        "model": run.model,
        "protocol": run.protocol,
        "repeats": run.repeats,
        "manifest_sha256": run.manifest_sha256,
    }


def _compare_rules(
    a: StoredRun, b: StoredRun, tasks: Sequence[TaskInfo], rules: str, margin: float, seed: int
) -> dict[str, Any]:
    scores_a, scores_b = _scores(a, rules), _scores(b, rules)
    paired = Paired(tasks, [scores_a[t.id] for t in tasks], [scores_b[t.id] for t in tasks])
    differences = paired.differences
    categories = [task.category for task in tasks]
    return {
        "rate": {"a": _mean(s.mean for s in paired.a), "b": _mean(s.mean for s in paired.b)},
        "difference": _mean(differences),
        "table": _table(paired),
        "test": _test(paired),
        "bootstrap95": list(stats.stratified_bootstrap(differences, categories, seed=seed)),
        "tango95": list(stats.tango_interval(paired.table())) if paired.single else None,
        "cluster95": _listed(stats.clustered_difference(differences, categories)),
        "noninferiority": _noninferiority(paired, categories, margin),
        "detectable_difference": _detectable(paired),
        "pass_hat_k": _pass_hat(paired, categories, seed),
        "categories": _categories(paired),
        "flipped": _flipped(a, b, paired, rules),
    }


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


def _listed(interval: stats.Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _table(paired: Paired) -> dict[str, int] | None:
    """Both, a only, b only, neither; with repeats a task is on no one side, so there is none."""
    if not paired.single:
        return None
    table = paired.table()
    return {"both": table.both, "a_only": table.a_only, "b_only": table.b_only, "neither": table.neither}


def _test(paired: Paired) -> dict[str, Any]:
    if paired.single:
        table = paired.table()
        result = stats.mcnemar(table.a_only, table.b_only)
        return {"name": "McNemar, exact", "p": result.exact, "mid_p": result.mid_p}
    return {
        "name": "sign flips of task means, exact",
        "p": stats.sign_flip_test(paired.steps),
        "mid_p": None,
    }


def _noninferiority(paired: Paired, categories: Sequence[str], margin: float) -> dict[str, Any]:
    result = (
        stats.noninferiority_score(paired.table(), margin)
        if paired.single
        else stats.noninferiority_means(paired.differences, margin)
    )
    cluster = stats.clustered_difference(paired.differences, categories)
    return {
        "margin": margin,
        "method": result.method,
        "p_one_sided": result.p,
        "lower": result.lower,
        "shown": result.shown,
        "shown_over_categories": None if cluster is None else cluster[0] > -margin,
    }


def _detectable(paired: Paired) -> dict[str, Any]:
    """The smallest true difference found with 80 % power at a two-sided 0.05."""
    count = len(paired.tasks)
    if paired.single:
        table = paired.table()
        discordance = (table.a_only + table.b_only) / count
        value = stats.detectable_difference(discordance, count)
        return {"value": value, "discordance": discordance, "power": 0.8, "alpha": 0.05}
    error = stats.standard_error(paired.differences)
    value = stats.detectable_mean_difference(error, count)
    return {"value": value, "discordance": None, "power": 0.8, "alpha": 0.05}


def _pass_hat(paired: Paired, categories: Sequence[str], seed: int) -> dict[str, Any]:
    """pass^k of both runs for every k that both have, and the difference with its bootstrap interval."""
    repeats_a, repeats_b = paired.a[0].repeats, paired.b[0].repeats
    result: dict[str, Any] = {}
    for k in range(1, min(repeats_a, repeats_b) + 1):
        values_a = [stats.pass_hat_k(s.passes, repeats_a, k) for s in paired.a]
        values_b = [stats.pass_hat_k(s.passes, repeats_b, k) for s in paired.b]
        change = [y - x for x, y in zip(values_a, values_b, strict=True)]
        result[str(k)] = {
            "a": {"rate": _mean(values_a), "ci95": list(stats.score_interval(values_a, repeats_a))},
            "b": {"rate": _mean(values_b), "ci95": list(stats.score_interval(values_b, repeats_b))},
            "difference": _mean(change),
            "bootstrap95": list(stats.stratified_bootstrap(change, categories, seed=seed)),
        }
    return result


def _categories(paired: Paired) -> dict[str, Any]:
    """Each category on its own, with Holm's adjustment over them: exploratory, not a finding."""
    parts = {name: paired.of(name) for name in dict.fromkeys(task.category for task in paired.tasks)}
    tests = {name: _test(part)["p"] for name, part in parts.items()}
    adjusted = stats.holm(tests)
    return {
        name: {
            "tasks": len(part.tasks),
            "a": _mean(s.mean for s in part.a),
            "b": _mean(s.mean for s in part.b),
            "difference": _mean(part.differences),
            "p": tests[name],
            "holm_p": adjusted[name],
            "exploratory": True,
        }
        for name, part in parts.items()
    }


def _flipped(a: StoredRun, b: StoredRun, paired: Paired, rules: str) -> list[dict[str, Any]]:
    """Every task on which the runs differ, with the failures of both sides."""
    lines_a, lines_b = _by_task(a), _by_task(b)
    return [
        {
            "task_id": task.id,
            "category": task.category,
            "direction": "gained" if step > 0 else "lost",
            "a": _side(lines_a[task.id], score_a, rules),
            "b": _side(lines_b[task.id], score_b, rules),
        }
        for task, score_a, score_b, step in zip(paired.tasks, paired.a, paired.b, paired.steps, strict=True)
        if step
    ]


def _by_task(run: StoredRun) -> dict[str, list[Line]]:
    """The settled lines of each task, repeats in order."""
    grouped: dict[str, list[Line]] = {}
    for (task_id, _), line in sorted(run.settled.items(), key=lambda item: item[0][1]):
        grouped.setdefault(task_id, []).append(line)
    return grouped


def _side(lines: Sequence[Line], score: TaskScore, rules: str) -> dict[str, Any]:
    failures: list[Mapping[str, Any]] = []
    for line in lines:
        if passed(line, rules):
            continue
        for failure in line["verdicts"][rules].get("failures") or ():
            if failure not in failures:
                failures.append(failure)
    return {"passes": score.passes, "repeats": score.repeats, "failures": failures}
