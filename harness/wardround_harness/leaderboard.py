"""A leaderboard: runs that reconcile become entries, entries become a static page and a JSON.

An entry holds no chart data and no words of a task: scores, ledger, passes per task and what the
manifest says of model and settings. It names the checksums of the manifest and of the attempts that
it was made from. Its scores can be worked out again from its passes per task, and are, when the
page is built: an entry that was edited is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from wardround_schemas.errors import UserError

from .ledger import OWED
from .reading import StoredRun, TaskInfo, read_run
from .runs import ATTEMPTS, read_json, write_json, write_private
from .stats import pass_hat_k, score_interval
from .summary import RULES, group_members, line_status, passed, task_scores

FORMAT_VERSION: Final = 1

MANIFEST_FIELDS: Final = (
    "created_at",
    "model",
    "protocol",
    "rounds",
    "round_unit",
    "repeats",
    "settings",
    "prompts",
    "versions",
)
"""What an entry repeats of a manifest; paths and addresses stay behind."""


def add_entry(folder: Path, entries: Path) -> Path:
    """Check a run and keep it as an entry; returns the entry's file.

    UserError when the run owes attempts, when its summary is not what its lines say, when a failed
    attempt has a passing verdict, or when the same run is on the board already.
    """
    run = read_run(folder)
    check_run(run)
    entry = make_entry(run)
    path = entries / f"{entry['id']}.json"
    if path.exists():
        raise UserError(f"{run.name} is on the board already", mend=f"see {path}")
    try:
        entries.mkdir(parents=True, exist_ok=True)
        write_json(path, entry)
        # Entries are made to be published, unlike all other files that a run leaves.
        path.chmod(0o644)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}") from error
    return path


def check_run(run: StoredRun) -> None:
    """UserError where a run does not reconcile: what it claims is not what its lines say."""
    if run.torn:
        raise UserError(f"{run.name}: the last line of {ATTEMPTS} is cut off", mend="resume the run first")
    if run.stored_summary is None:
        raise UserError(f"{run.name} has no summary.json", mend="resume the run first")
    summary = run.summary
    owed = sum(summary["ledger"].get(status, 0) for status in OWED)
    if owed:
        raise UserError(f"{run.name} still owes {owed} attempts", mend="resume the run first")
    for name in ("scores", "ledger", "usage", "cost_usd", "pass_hat_k"):
        if place := _first_difference(summary[name], run.stored_summary.get(name), name):
            raise UserError(f"{run.name} does not reconcile: summary.json and {ATTEMPTS} differ in {place}")
    for (task_id, repeat), line in run.settled.items():
        if line_status(line) != "completed" and any(passed(line, rules) for rules in RULES):
            raise UserError(
                f"{run.name} does not reconcile: {task_id}, repeat {repeat}, ended as "
                f"{line_status(line)} and has a passing verdict"
            )
        _check_verdict(run.name, line)


def _check_verdict(name: str, line: Mapping[str, Any]) -> None:
    for rules in RULES:
        verdict = line["verdicts"][rules]
        if verdict["passed"] is bool(verdict.get("failures")):
            raise UserError(
                f"{name} does not reconcile: {line['task_id']} passes {rules} with failures, or fails without"
            )


def _first_difference(found: Any, claimed: Any, path: str) -> str | None:
    """The first place where a claim is not what was found; numbers may differ by rounding."""
    if isinstance(found, Mapping):
        if not isinstance(claimed, Mapping) or found.keys() != claimed.keys():
            return path
        parts = (_first_difference(found[key], claimed[key], f"{path}.{key}") for key in found)
        return next((part for part in parts if part), None)
    if isinstance(found, list | tuple):
        if not isinstance(claimed, list | tuple) or len(found) != len(claimed):
            return path
        pairs = zip(found, claimed, strict=True)
        parts = (_first_difference(a, b, f"{path}[{place}]") for place, (a, b) in enumerate(pairs))
        return next((part for part in parts if part), None)
    if isinstance(found, float) and isinstance(claimed, int | float) and not isinstance(claimed, bool):
        return None if abs(found - claimed) <= 1e-9 * max(1.0, abs(found)) else path
    return None if found == claimed and isinstance(found, bool) == isinstance(claimed, bool) else path


def make_entry(run: StoredRun) -> dict[str, Any]:
    """A run's entry. Its id comes from the checksums, so the same run is the same entry."""
    attempts = hashlib.sha256((run.path / ATTEMPTS).read_bytes()).hexdigest()
    results = {
        rules: {
            task: score.passes
            for task, score in task_scores(run.settled, run.tasks, run.repeats, rules).items()
        }
        for rules in RULES
    }
    tasks = run.manifest.get("tasks") or {}
    chart = run.manifest.get("chart") or {}
    scored = score_results(results, run.tasks, run.repeats)
    return {
        "format_version": FORMAT_VERSION,
        "id": hashlib.sha256(f"{run.manifest_sha256} {attempts}".encode()).hexdigest()[:16],
        "manifest_sha256": run.manifest_sha256,
        "attempts_sha256": attempts,
        "manifest": {name: run.manifest[name] for name in MANIFEST_FIELDS if name in run.manifest},
        "tasks": {name: tasks.get(name) for name in ("name", "source", "checksum")},
        "chart": {name: chart.get(name) for name in ("name", "checksum", "synthetic")},
        "members": [
            {"id": t.id, "category": t.category, "kind": t.kind, "difficulty": t.difficulty}
            for t in run.tasks
        ],
        "repeats": run.repeats,
        "results": results,
        "scores": scored["scores"],
        "pass_hat_k": scored["pass_hat_k"],
        "ledger": dict(run.summary["ledger"]),
        "usage": dict(run.summary["usage"]),
        "cost_usd": run.summary["cost_usd"],
        "baselines": run.summary["baselines"],
        "severity": run.summary["severity"],
    }


def score_results(
    results: Mapping[str, Mapping[str, int]], tasks: Sequence[TaskInfo], repeats: int
) -> dict[str, Any]:
    """Scores and pass^k from passes per task, as a whole run's summary has them."""
    scores: dict[str, Any] = {}
    hats: dict[str, Any] = {}
    for rules, passes in results.items():
        scores[rules] = {}
        for group, ids in group_members(tasks).items():
            total = len(ids) * repeats
            count = sum(passes[task_id] for task_id in ids)
            low, high = score_interval([passes[task_id] / repeats for task_id in ids], repeats)
            scores[rules][group] = {
                "passed": count,
                "total": total,
                "rate": count / total,
                "ci95": [low, high],
            }
        hats[rules] = {}
        for k in range(1, repeats + 1):
            values = [pass_hat_k(passes[task.id], repeats, k) for task in tasks]
            low, high = score_interval(values, repeats)
            hats[rules][str(k)] = {"rate": sum(values) / len(values), "ci95": [low, high]}
    return {"scores": scores, "pass_hat_k": hats}


def read_entry(path: Path) -> dict[str, Any]:
    """An entry; UserError where it is none, is of a newer format, or does not add up."""
    entry = read_json(path)
    if entry.get("format_version") != FORMAT_VERSION:
        raise UserError(f"{path} is of leaderboard format {entry.get('format_version')}")
    try:
        tasks = [TaskInfo(**member) for member in entry["members"]]
        again = score_results(entry["results"], tasks, entry["repeats"])
        attempts = sum(entry["ledger"].values())
        made = hashlib.sha256(f"{entry['manifest_sha256']} {entry['attempts_sha256']}".encode()).hexdigest()
    except (KeyError, TypeError, ValueError, AttributeError, UserError) as error:
        raise UserError(f"{path} is not a leaderboard entry: {error!r}") from error
    if attempts != len(tasks) * entry["repeats"]:
        raise UserError(f"{path} does not reconcile: its ledger is not tasks x repeats")
    if made[:16] != entry["id"] or path.stem != entry["id"]:
        raise UserError(f"{path} does not reconcile: its id is not that of its checksums")
    for name, value in again.items():
        if place := _first_difference(value, entry.get(name), name):
            raise UserError(f"{path} does not reconcile: {place} is not what its passes per task give")
    return entry


def boards(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entries grouped by task set and chart: only entries of one board may be compared.

    Within a board the best by the clinical rules comes first; boards by the number of entries.
    """
    grouped: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for entry in entries:
        key = (str(entry["tasks"]["checksum"]), str(entry["chart"]["checksum"]), len(entry["members"]))
        grouped.setdefault(key, []).append(entry)
    found = [
        {
            "tasks": {**held[0]["tasks"], "count": key[2]},
            "chart": held[0]["chart"],
            "entries": sorted(
                held,
                key=lambda e: (-e["scores"]["clinical"]["overall"]["rate"], e["manifest"]["model"], e["id"]),
            ),
        }
        for key, held in grouped.items()
    ]
    return sorted(found, key=lambda board: (-len(board["entries"]), str(board["tasks"]["checksum"])))


def build_site(entries: Path, output: Path) -> Path:
    """Write `index.html` and `leaderboard.json`; the same entries give the same bytes.

    UserError for an entry that does not reconcile: nothing is written then.
    """
    if not entries.is_dir():
        raise UserError(
            f"{entries} is not a folder of entries", mend="`wardround leaderboard add RUN` makes one"
        )
    held = [read_entry(path) for path in sorted(entries.glob("*.json"))]
    if not held:
        raise UserError(f"{entries} has no entry", mend="`wardround leaderboard add RUN` adds one")
    found = boards(held)
    from .report.board import board_json, render_board

    html = render_board(found)
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, data in (("leaderboard.json", board_json(found)), ("index.html", html.encode())):
            write_private(output / name, data)
            (output / name).chmod(0o644)
    except OSError as error:
        raise UserError(f"{output} can't be written: {error.strerror}") from error
    return output / "index.html"
