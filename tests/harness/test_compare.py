"""`wardround compare`: what it says is what its tasks say, and what can't be compared is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.harness.make_run import FakeTask, RunSpec, make_line, make_manifest, make_run, make_tasks
from wardround_harness.cli import dispatch
from wardround_harness.compare import compare_runs, incomparable
from wardround_harness.compare_text import sentences
from wardround_harness.reading import StoredRun
from wardround_harness.stats import mcnemar, sign_flip_test
from wardround_schemas.errors import UserError


def run_of(name: str, lines: list[dict[str, Any]], spec: RunSpec | None = None) -> StoredRun:
    return StoredRun(Path(name), name, make_manifest(spec or RunSpec()), name, lines)


def passing(tasks: list[FakeTask], passes: set[str], repeat: int = 0) -> list[dict[str, Any]]:
    return [make_line(task, repeat, clinical=task.id in passes) for task in tasks]


@pytest.fixture(scope="module")
def pair() -> tuple[StoredRun, StoredRun]:
    tasks = make_tasks()
    first = {task.id for index, task in enumerate(tasks) if index % 3}
    second = {task.id for index, task in enumerate(tasks) if index % 2 or index < 100}
    return run_of("a", passing(tasks, first)), run_of("b", passing(tasks, second))


def test_the_table_the_test_and_the_flips_tell_of_the_same_tasks(pair: tuple[StoredRun, StoredRun]) -> None:
    block = compare_runs(*pair)["rules"]["clinical"]
    table = block["table"]
    gained = [flip for flip in block["flipped"] if flip["direction"] == "gained"]
    lost = [flip for flip in block["flipped"] if flip["direction"] == "lost"]
    assert sum(table.values()) == 300
    assert (len(lost), len(gained)) == (table["a_only"], table["b_only"])
    assert block["difference"] == pytest.approx((table["b_only"] - table["a_only"]) / 300)
    assert block["test"]["p"] == mcnemar(table["a_only"], table["b_only"]).exact
    for low, high in (block["bootstrap95"], block["tango95"], block["cluster95"]):
        assert low < block["difference"] < high


def test_a_flip_carries_the_failures_of_the_side_that_failed(pair: tuple[StoredRun, StoredRun]) -> None:
    for flip in compare_runs(*pair)["rules"]["clinical"]["flipped"]:
        passes, fails = ("b", "a") if flip["direction"] == "gained" else ("a", "b")
        assert flip[passes]["failures"] == []
        assert flip[fails]["failures"][0]["code"] in ("answer_wrong", "wrong_field", "wrong_dose")


def test_turning_the_runs_round_turns_the_result(pair: tuple[StoredRun, StoredRun]) -> None:
    there, back = (compare_runs(*runs)["rules"]["clinical"] for runs in (pair, pair[::-1]))
    assert there["difference"] == pytest.approx(-back["difference"])
    assert there["tango95"] == pytest.approx([-limit for limit in reversed(back["tango95"])])
    assert there["test"]["p"] == back["test"]["p"]


def test_the_categories_are_marked_exploratory_and_adjusted_upwards(
    pair: tuple[StoredRun, StoredRun],
) -> None:
    categories = compare_runs(*pair)["rules"]["clinical"]["categories"]
    assert len(categories) == 10
    for row in categories.values():
        assert row["exploratory"] is True
        assert row["holm_p"] >= row["p"]
        assert row["tasks"] == 30


def test_repeats_count_by_task_means_and_are_never_pooled() -> None:
    """Ten tasks flip in every one of 30 repeats: 300 rows, but ten tasks' worth of evidence."""
    tasks = make_tasks(1)
    spec = RunSpec(per_category=1, repeats=30)
    always, never = {task.id for task in tasks}, set[str]()
    a = run_of("a", [line for r in range(30) for line in passing(tasks, never, r)], spec)
    b = run_of("b", [line for r in range(30) for line in passing(tasks, always, r)], spec)
    block = compare_runs(a, b)["rules"]["clinical"]
    assert block["table"] is None
    assert block["test"]["p"] == pytest.approx(sign_flip_test([30] * 10))
    assert block["test"]["p"] == pytest.approx(2 / 2**10)
    assert set(block["pass_hat_k"]) == {str(k) for k in range(1, 31)}
    assert block["pass_hat_k"]["30"]["difference"] == 1


def test_runs_of_unequal_repeats_are_compared_by_their_means() -> None:
    tasks = make_tasks(2)
    some = {task.id for task in tasks[::2]}
    a = run_of("a", passing(tasks, some), RunSpec(per_category=2))
    b = run_of(
        "b",
        [line for r in range(3) for line in passing(tasks, some if r else set(), r)],
        RunSpec(per_category=2, repeats=3),
    )
    block = compare_runs(a, b)["rules"]["clinical"]
    assert block["rate"] == pytest.approx({"a": 0.5, "b": 1 / 3})
    assert block["difference"] == pytest.approx(-1 / 6)
    assert list(block["pass_hat_k"]) == ["1"]


def test_other_tasks_or_another_chart_are_refused_unless_told() -> None:
    tasks = make_tasks(1)
    lines = passing(tasks, {tasks[0].id})
    small = RunSpec(per_category=1)
    base = run_of("base", lines, small)
    for other, reason in (
        (
            run_of("set", lines, RunSpec(per_category=1, checksum="sha256:other")),
            "their task sets differ, and tasks can be matched by id alone",
        ),
        (run_of("chart", lines, RunSpec(per_category=1, chart="sha256:other")), "their charts differ"),
        (run_of("owed", lines[:-2], small), "owed still owes 2 attempts"),
    ):
        assert incomparable(base, other) == [reason]
        with pytest.raises(UserError, match=reason):
            compare_runs(base, other)
        result = compare_runs(base, other, allow_different=True)
        assert result["differences"] == [reason]
    assert result["tasks"] == 8


def test_runs_without_a_task_in_common_are_refused_even_when_told() -> None:
    tasks = make_tasks(2)
    specs = [
        RunSpec(per_category=2, manifest={"tasks": {"checksum": "x", "ids": [task.id for task in part]}})
        for part in (tasks[:10], tasks[10:])
    ]
    a, b = (
        run_of("a", passing(tasks[:10], set()), specs[0]),
        run_of("b", passing(tasks[10:], set()), specs[1]),
    )
    with pytest.raises(UserError, match="nothing to compare"):
        compare_runs(a, b, allow_different=True)


def test_effort_tells_success_format_rounds_tokens_and_cost_per_category(
    pair: tuple[StoredRun, StoredRun],
) -> None:
    effort = compare_runs(*pair)["effort"]
    assert list(effort) == ["overall", *(f"task{n}" for n in range(1, 11))]
    side = effort["overall"]["a"]
    assert side["attempts"] == 300
    assert side["passed"]["clinical"] == 200
    assert side["cost_per_solved_usd"] == pytest.approx(0.01 * 300 / 200)
    assert side["rounds_by_call"] == pytest.approx(2.5)
    assert side["tokens"]["input_tokens"] > 0


def test_an_unknown_cost_stays_unknown_per_solved_task() -> None:
    tasks = make_tasks(1)
    lines = passing(tasks, {tasks[0].id})
    lines[3]["cost_usd"] = None
    runs = [run_of(name, lines, RunSpec(per_category=1)) for name in ("a", "b")]
    side = compare_runs(*runs)["effort"]["overall"]["a"]
    assert side["cost_usd"] is None
    assert side["cost_per_solved_usd"] is None


def test_the_sentences_say_which_run_and_how_sure(pair: tuple[StoredRun, StoredRun]) -> None:
    said = " ".join(sentences(compare_runs(*pair), "clinical"))
    assert "a passes 66.7 %, b 66.7 % of 300 tasks: 0.0 points" in said
    assert "by Tango's score" in said
    assert "McNemar, exact: p = 1.00" in said
    assert "b is not shown to be no worse than a by 5.0 points or more" in said
    assert "with 80 % power is" in said


def test_equal_runs_claim_no_certainty() -> None:
    tasks = make_tasks(1)
    runs = [run_of(name, passing(tasks, {tasks[0].id}), RunSpec(per_category=1)) for name in ("a", "b")]
    block = compare_runs(*runs)["rules"]["clinical"]
    assert block["noninferiority"]["shown"] is False
    assert block["tango95"][0] < -0.2 < 0.2 < block["tango95"][1]
    assert block["detectable_difference"]["value"] is None
    assert block["cluster95"] is None


def test_the_command_prints_and_writes_the_same_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = make_run(tmp_path / "[bold]a", RunSpec(per_category=2))
    b = make_run(tmp_path / "b", RunSpec(per_category=2, seed=4, rate=0.3))
    out = tmp_path / "compare.json"
    assert dispatch(["compare", str(a), str(b), "--json", str(out), "--margin", "0.1"]) == 0
    printed = capsys.readouterr().out
    result = json.loads(out.read_bytes())
    assert result["margin"] == 0.1
    assert "[bold]a passes" in printed
    for flip in result["rules"]["clinical"]["flipped"]:
        assert flip["task_id"] in printed
    assert out.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [(["--margin", "2"], "margin 2.0"), (["--json", "/nonexistent/folder/x.json"], "can't be written")],
)
def test_bad_options_are_one_line(tmp_path: Path, extra: list[str], message: str) -> None:
    runs = [str(make_run(tmp_path / name, RunSpec(per_category=1))) for name in ("a", "b")]
    with pytest.raises(UserError, match=message):
        dispatch(["compare", *runs, *extra])


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    runs = [
        str(make_run(tmp_path / name, RunSpec(per_category=2, seed=seed)))
        for name, seed in (("a", 1), ("b", 2))
    ]
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        assert dispatch(["compare", *runs, "--json", str(file), "--seed", "7"]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_tasks_of_one_id_that_say_different_things_are_not_the_same_task(tmp_path: Path) -> None:
    """Generated sets number their tasks alike: an id is no evidence where the texts are at hand."""
    from wardround_tasks.loading import load_tasks, tasks_document

    bundled = load_tasks("bundled")
    ids = [f"task1_{number}" for number in range(1, 7)]
    changed = [
        replace(task, instruction="Another question.") if task.id in ids[4:] else task
        for task in bundled.tasks
    ]
    (tmp_path / "other.json").write_text(tasks_document(changed))
    other = load_tasks(str(tmp_path / "other.json"))
    runs = []
    for name, tasks in (("bundled", bundled), ("other", other)):
        spec = "bundled" if name == "bundled" else str(tmp_path / "other.json")
        manifest = {"tasks": {"spec": spec, "name": name, "checksum": tasks.checksum, "ids": ids}}
        lines = passing([task for task in make_tasks() if task.id in ids], set(ids[:3]))
        runs.append(run_of(name, lines, RunSpec(manifest=manifest)))
    assert incomparable(*runs) == ["their task sets differ"]
    assert compare_runs(*runs, allow_different=True)["tasks"] == 4
