"""The leaderboard takes what reconciles, refuses what does not, and builds the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.make_run import RunSpec, make_run
from tests.harness.test_report import Page
from wardround_harness.cli import dispatch
from wardround_harness.leaderboard import add_entry, build_site, read_entry
from wardround_harness.reading import read_run
from wardround_schemas.errors import UserError

Change = Callable[[Any], None]


def small(**changes: Any) -> RunSpec:
    return RunSpec(per_category=2, **changes)


def rewrite(path: Path, change: Change) -> None:
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))


def rewrite_line(folder: Path, number: int, change: Change) -> None:
    path = folder / "attempts.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[number])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_an_entry_repeats_the_runs_scores_and_names_its_checksums(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", small(repeats=2))
    entry = read_entry(add_entry(folder, tmp_path / "entries"))
    run = read_run(folder)
    assert entry["scores"] == run.summary["scores"]
    assert entry["pass_hat_k"] == run.summary["pass_hat_k"]
    assert entry["manifest_sha256"] == run.manifest_sha256


def test_an_entry_holds_no_answer_no_resource_and_no_path(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", small())
    text = add_entry(folder, tmp_path / "entries").read_text()
    for word in (
        "Patient/",
        "resource",
        "made-for-tests",
        "127.0.0.1",
        str(tmp_path),
        "I look the record up",
    ):
        assert word not in text


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s["scores"]["clinical"]["overall"].update(rate=0.99), r"scores\.clinical\.overall\.rate"),
        (lambda s: s["scores"]["medagentbench"]["task5"].update(passed=29), r"task5\.passed"),
        (lambda s: s["ledger"].update(completed=1), "ledger"),
        (lambda s: s["usage"].update(input_tokens=1), r"usage\.input_tokens"),
        (lambda s: s.update(cost_usd=0.0), "cost_usd"),
    ],
)
def test_a_summary_that_claims_otherwise_is_refused_by_place(
    tmp_path: Path, spoil: Change, message: str
) -> None:
    folder = make_run(tmp_path / "run", small())
    rewrite(folder / "summary.json", spoil)
    with pytest.raises(UserError, match=f"does not reconcile: .*{message}"):
        add_entry(folder, tmp_path / "entries")
    assert not (tmp_path / "entries").exists()


def test_an_edited_verdict_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", small(rate=0.0, invalid=0.0))

    def pass_it(line: Any) -> None:
        line["verdicts"]["clinical"]["passed"] = True

    rewrite_line(folder, 3, pass_it)
    with pytest.raises(UserError, match="does not reconcile"):
        add_entry(folder, tmp_path / "entries")
    # Even when the summary is made to fit.
    summary = read_run(folder).summary
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(UserError, match="passes clinical with failures"):
        add_entry(folder, tmp_path / "entries")


def test_a_failed_attempt_with_a_passing_verdict_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", small(rate=2.0, invalid=0.0, strict_loss=0.0))
    rewrite_line(folder, 3, lambda line: line["attempt"].update(status="budget_exhausted"))
    (folder / "summary.json").write_text(json.dumps(read_run(folder).summary))
    with pytest.raises(UserError, match="ended as budget_exhausted and has a passing verdict"):
        add_entry(folder, tmp_path / "entries")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "summary.json").unlink(), r"no summary\.json"),
        (lambda folder: (folder / "attempts.jsonl").write_text(""), "still owes 20 attempts"),
    ],
)
def test_a_run_that_is_not_whole_is_refused(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    folder = make_run(tmp_path / "run", small())
    spoil(folder)
    with pytest.raises(UserError, match=message):
        add_entry(folder, tmp_path / "entries")


def test_the_same_run_is_one_entry(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", small())
    add_entry(folder, tmp_path / "entries")
    with pytest.raises(UserError, match="on the board already"):
        add_entry(folder, tmp_path / "entries")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda e: e["scores"]["clinical"]["overall"].update(rate=1.0), r"scores\.clinical\.overall\.rate"),
        (
            lambda e: e["results"]["clinical"].update(task1_1=1 - e["results"]["clinical"]["task1_1"]),
            "clinical",
        ),
        (lambda e: e.update(manifest_sha256="0" * 64), "its id is not that of its checksums"),
        (lambda e: e["ledger"].update(completed=7), "its ledger is not tasks x repeats"),
        (lambda e: e.pop("results"), "not a leaderboard entry"),
        (lambda e: e.update(format_version=9), "leaderboard format 9"),
    ],
)
def test_an_entry_edited_later_stops_the_build(tmp_path: Path, spoil: Change, message: str) -> None:
    path = add_entry(make_run(tmp_path / "run", small()), tmp_path / "entries")
    rewrite(path, spoil)
    with pytest.raises(UserError, match=message):
        build_site(tmp_path / "entries", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_boards_part_what_can_not_be_compared(tmp_path: Path) -> None:
    entries = tmp_path / "entries"
    for name, spec in {
        "one": small(seed=1, rate=0.4),
        "two": small(seed=2, rate=0.9),
        "other": small(chart="sha256:another", model="<b>odd</b>"),
    }.items():
        add_entry(make_run(tmp_path / name, spec), entries)
    assert dispatch(["leaderboard", "build", "--entries", str(entries), "-o", str(tmp_path / "site")]) == 0
    value = json.loads((tmp_path / "site" / "leaderboard.json").read_bytes())
    assert [len(board["entries"]) for board in value["boards"]] == [2, 1]
    rates = [entry["scores"]["clinical"]["overall"]["rate"] for entry in value["boards"][0]["entries"]]
    assert rates == sorted(rates, reverse=True)
    assert len(value["published"]["scores"]) == 12
    page = Page((tmp_path / "site" / "index.html").read_text())
    assert page.loads == []
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "not a medical device" in " ".join(page.text)


def test_the_same_entries_build_the_same_bytes(tmp_path: Path) -> None:
    for seed in (1, 2):
        add_entry(make_run(tmp_path / str(seed), small(seed=seed)), tmp_path / "entries")
    sites = [build_site(tmp_path / "entries", tmp_path / name).parent for name in ("x", "y")]
    for name in ("index.html", "leaderboard.json"):
        assert (sites[0] / name).read_bytes() == (sites[1] / name).read_bytes()


def test_an_empty_or_absent_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="leaderboard add RUN"):
        build_site(tmp_path / "absent", tmp_path / "site")
    with pytest.raises(UserError, match="has no entry"):
        build_site(tmp_path, tmp_path / "site")
