"""What a report shows, worked out: plain rows and figures, ready for the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from wardround_schemas.errors import UserError
from wardround_tasks.categories import find_category
from wardround_tasks.paper import PAPER_TABLE
from wardround_tasks.severity import KINDS

from ..compare import compare_runs, incomparable
from ..compare_text import interval, points
from ..effort import measure
from ..ledger import OWED
from ..reading import StoredRun
from ..summary import RULES, groups_of
from . import breakdown, charts
from .texts import OWN_PROMPT

TABLE_GROUPS: Final = ("overall", "query", "action", "easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Cell:
    """A rate for the eye: what is printed, what is added small, and the value for its colour."""

    text: str
    small: str = ""
    rate: float | None = None

    @property
    def heat(self) -> str:
        """The cell's colour class."""
        return charts.heat_class(self.rate)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A row of the score table. `source` is run, baseline or paper."""

    name: str
    detail: str
    source: str
    rules: str
    cells: list[Cell]
    chart: Markup
    order: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its heading and the table that says the same."""

    title: str
    rows: list[tuple[str, Markup]]
    heading: list[str]
    table: list[list[str]]


@dataclass(frozen=True, slots=True)
class RunPart:
    """Everything about one run that has a section of its own."""

    run: StoredRun
    series: int
    effort: dict[str, Any] | None
    disagreement: breakdown.Disagreement
    ledger: list[tuple[str, int, bool]]
    citation: str
    marks: list[str]
    taxonomy: dict[str, list[tuple[str, int, Markup]]]
    pass_hat: dict[str, Any]
    severity: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against the first, or why they can't be compared."""

    a: str
    b: str
    refused: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    forest: dict[str, list[tuple[str, Markup, Mapping[str, Any]]]] = field(default_factory=dict)


def percent(rate: float) -> str:
    """A rate with one decimal, as in the paper's tables but for the second decimal."""
    return f"{100 * rate:.1f}"


def cell(entry: Mapping[str, Any] | None) -> Cell:
    """A summary's group as a cell: rate with interval, or bounds while attempts are owed."""
    if entry is None:
        return Cell("-")
    if "rate_bounds" in entry:
        low, high = entry["rate_bounds"]
        return Cell(
            f"{percent(low)} to {percent(high)}", f"bounds, {entry['total']} attempts", (low + high) / 2
        )
    low, high = entry["ci95"]
    return Cell(percent(entry["rate"]), f"{percent(low)} to {percent(high)}", entry["rate"])


def _mark(entry: Mapping[str, Any], series: int, label: str) -> charts.Mark:
    if "rate_bounds" in entry:
        low, high = entry["rate_bounds"]
        return charts.Mark(None, low, high, series, label)
    low, high = entry["ci95"]
    return charts.Mark(entry["rate"], low, high, series, label)


def score_rows(runs: Sequence[StoredRun]) -> list[ScoreRow]:
    """The score table: runs under both rule sets, their baselines, and the paper's models."""
    rows = [_run_row(run, index, rules) for index, run in enumerate(runs) for rules in RULES]
    rows.extend(baseline_rows(runs))
    for published in PAPER_TABLE:
        rates = [getattr(published, group) / 100 for group in TABLE_GROUPS]
        title = f"{published.model}: {published.overall} % of 300, published"
        rows.append(
            ScoreRow(
                name=published.model,
                detail=" ".join(filter(None, (published.size, published.form))),
                source="paper",
                rules="medagentbench",
                cells=[Cell(f"{100 * rate:.2f}", rate=rate) for rate in rates],
                chart=charts.interval_row([charts.Mark(rates[0], rates[0], rates[0], 8, title)], title),
                order=rates[0],
            )
        )
    return sorted(rows, key=lambda row: -row.order)


def _run_row(run: StoredRun, index: int, rules: str) -> ScoreRow:
    groups = run.summary["scores"][rules]
    cells = [cell(groups.get(group)) for group in TABLE_GROUPS]
    title = f"{run.name}, {rules}: {cells[0].text} % ({cells[0].small})"
    return ScoreRow(
        name=run.name,
        detail=f"{run.model}, {run.protocol}",
        source="run",
        rules=rules,
        cells=cells,
        chart=charts.interval_row([_mark(groups["overall"], index % 8, title)], title),
        order=cells[0].rate or 0.0,
    )


def baseline_rate(entry: Any, rules: str, group: str = "overall") -> float | None:
    """What a trivial agent scores, from a summary's `baselines`: a rate, or groups with rates."""
    found = entry.get(rules) if isinstance(entry, Mapping) else None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found) if group == "overall" else None
    if isinstance(found, Mapping):
        inner = found.get(group, found if group == "overall" else None)
        if isinstance(inner, Mapping):
            inner = inner.get("rate")
        if isinstance(inner, int | float):
            return float(inner)
    return None


def baseline_rows(runs: Sequence[StoredRun]) -> list[ScoreRow]:
    """One row per trivial agent and rule set; runs over the same tasks share theirs."""
    rows: dict[tuple[str, str, float], ScoreRow] = {}
    for run in runs:
        for name, entry in (run.summary.get("baselines") or {}).items():
            for rules in RULES:
                rate = baseline_rate(entry, rules)
                if rate is None:
                    continue
                title = f"trivial agent {name}, {rules}: {percent(rate)} %"
                rates = [baseline_rate(entry, rules, group) for group in TABLE_GROUPS]
                rows[name, rules, rate] = ScoreRow(
                    name=name,
                    detail="trivial agent, same tasks",
                    source="baseline",
                    rules=rules,
                    cells=[Cell("-") if r is None else Cell(percent(r), rate=r) for r in rates],
                    chart=charts.interval_row([charts.Mark(rate, rate, rate, 9, title)], title),
                    order=rate,
                )
    return list(rows.values())


def band(category_id: str, runs: Sequence[StoredRun]) -> tuple[str, str]:
    """A category's difficulty and heading; by the runs' tasks where the plugin that brought it is gone."""
    category = find_category(category_id)
    if category is not None:
        traits = category.traits
        return traits.difficulty, f"{traits.title} ({traits.kind})"
    task = next(task for run in runs for task in run.tasks if task.category == category_id)
    return task.difficulty, f"({task.kind})"


def heat_map(runs: Sequence[StoredRun]) -> list[tuple[str, list[tuple[str, str, list[Cell]]]]]:
    """Difficulty, then its categories, then a cell per run and rule set."""
    groups: dict[str, list[tuple[str, str, list[Cell]]]] = {"easy": [], "medium": [], "hard": []}
    for name in groups_of(run.summary for run in runs):
        cells = [cell(run.summary["scores"][rules].get(name)) for run in runs for rules in RULES]
        if name not in TABLE_GROUPS and any(found.rate is not None for found in cells):
            difficulty, title = band(name, runs)
            groups[difficulty].append((name, title, cells))
    return [(difficulty, rows) for difficulty, rows in groups.items() if rows]


def histograms(runs: Sequence[StoredRun]) -> list[Figure]:
    """Rounds by call, rounds by turn, and tokens per attempt, the runs side by side in each bin."""
    figures = []
    for title, read, whole in (
        ("Rounds by call", lambda line: int(line.get("rounds_by_call") or 0), True),
        ("Rounds by turn", lambda line: int(line.get("rounds_by_turn") or 0), True),
        ("Tokens per attempt, in and out", breakdown.tokens_of, False),
    ):
        values = [[read(line) for line in breakdown.scored_lines(run)] for run in runs]
        pooled = [value for part in values for value in part]
        if not pooled:
            continue
        edges = breakdown.whole_edges(pooled) if whole else breakdown.round_edges(pooled)
        parts = [breakdown.histogram(part, edges) for part in values]
        chart = charts.columns([part.counts for part in parts], parts[0].labels, title)
        table = [[label, *(str(part.counts[i]) for part in parts)] for i, label in enumerate(parts[0].labels)]
        figures.append(Figure(title, [("", chart)], ["range", *(run.name for run in runs)], table))
    return figures


def run_part(run: StoredRun, index: int) -> RunPart:
    """The sections of one run."""
    lines = breakdown.scored_lines(run)
    counts = {rules: breakdown.taxonomy(lines, rules) for rules in RULES}
    top = max((number for rules in RULES for _, number in counts[rules]), default=1)
    bars = {
        rules: [
            (code, number, charts.bar(number / top, index % 8, f"{code}: {number} of {len(lines)} attempts"))
            for code, number in counts[rules]
        ]
        for rules in RULES
    }
    ledger = [(status, count, status in OWED) for status, count in run.summary["ledger"].items()]
    return RunPart(
        run=run,
        series=index % 8,
        effort=measure(lines) if lines else None,
        disagreement=breakdown.disagreement(lines),
        ledger=ledger,
        citation=citation(run),
        marks=run_marks(run, run.summary["ledger"]),
        taxonomy=bars,
        pass_hat=run.summary["pass_hat_k"],
        severity=run.summary.get("severity"),
    )


def run_marks(run: StoredRun, ledger: Mapping[str, int]) -> list[str]:
    """What a reader must know of a run before its numbers; `ledger` counts attempts by status."""
    marks = [] if is_paper_prompt(run) else [OWN_PROMPT]
    owed = sum(ledger.get(status, 0) for status in OWED)
    if owed:
        marks.append(f"{owed} attempts are owed: bounds, not scores")
    if run.torn:
        marks.append("the last line was cut off and is not counted")
    if (run.manifest.get("chart") or {}).get("synthetic"):
        marks.append("synthetic chart")
    return marks


def is_paper_prompt(run: StoredRun) -> bool:
    """Whether the words given to the model are those of a file, in the text protocol."""
    words = (run.manifest.get("prompts") or {}).get("text") or {}
    return run.protocol == "text" and words.get("own") is False


def citation(run: StoredRun) -> str:
    """One line to cite a run by: version, model, protocol, tasks, pass@1 and date."""
    manifest = run.manifest
    tasks = manifest.get("tasks") or {}
    scores = "; ".join(
        f"pass@1 {_cited(run.summary['scores'][rules]['overall'])} by the {rules} rules" for rules in RULES
    )
    date = str(manifest.get("created_at") or "undated")[:10]
    program = (manifest.get("versions") or {}).get("wardround", "?")
    return (
        f"wardround {program}, {run.model}, {run.protocol} protocol, task set {tasks.get('name', '?')} "
        f"({str(tasks.get('checksum', '?'))[:19]}), {len(run.tasks)} tasks x {run.repeats}: {scores}. {date}."
    )


def _cited(entry: Mapping[str, Any]) -> str:
    found = cell(entry)
    return f"{found.text} % ({found.small})"


def comparisons(runs: Sequence[StoredRun], margin: float) -> list[Comparison]:
    """Every further run against the first."""
    found = []
    for other in runs[1:]:
        first = runs[0]
        if reasons := incomparable(first, other):
            found.append(Comparison(first.name, other.name, refused="; ".join(reasons)))
            continue
        try:
            result = compare_runs(first, other, margin=margin)
        except UserError as error:
            found.append(Comparison(first.name, other.name, refused=str(error)))
            continue
        forest = {rules: _forest(result["rules"][rules], margin) for rules in RULES}
        found.append(Comparison(first.name, other.name, result=result, forest=forest))
    return found


def _forest(block: Mapping[str, Any], margin: float) -> list[tuple[str, Markup, Mapping[str, Any]]]:
    """Overall and per category: the difference on one scale, with intervals overall only."""
    values = [abs(row["difference"]) for row in block["categories"].values()]
    reach = max(0.1, *values, *(abs(limit) for limit in block["bootstrap95"])) * 1.08
    low, high = block["bootstrap95"]
    title = f"overall: {points(block['difference'])} points, 95 % interval {interval(block['bootstrap95'])}"
    overall = {
        **block,
        "p": block["test"]["p"],
        "holm_p": None,
        "a": block["rate"]["a"],
        "b": block["rate"]["b"],
    }
    rows: list[tuple[str, Markup, Mapping[str, Any]]] = [
        ("overall", charts.difference_row(block["difference"], low, high, reach, title, margin), overall)
    ]
    for name, row in block["categories"].items():
        value = row["difference"]
        title = f"{name}: {points(value)} points"
        rows.append((name, charts.difference_row(value, value, value, reach, title, None), row))
    return rows


def severity_rows(parts: Sequence[RunPart]) -> list[tuple[str, str, list[Mapping[str, Any] | None]]]:
    """Per kind of harm its meaning, and per run the attempts that show it with the rate's upper bound."""
    return [
        (kind.replace("_", " "), meaning, [(part.severity or {}).get(kind) for part in parts])
        for kind, meaning in KINDS.items()
        if any(part.severity for part in parts)
    ]
