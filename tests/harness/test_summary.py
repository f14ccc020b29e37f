"""The summary of a run: its numbers add up, and it never claims more than the lines show."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.make_run import RunSpec, make_line, make_lines, make_tasks
from wardround_harness.ledger import OWED, SCORED
from wardround_harness.stats import wilson_interval
from wardround_harness.summary import GROUPS, RULES, rich_score_table, score_table, summarise
from wardround_schemas.errors import UserError


def summary_of(spec: RunSpec) -> dict[str, Any]:
    tasks = make_tasks(spec.per_category)
    return summarise(
        make_lines(spec), tasks, repeats=spec.repeats, expected=len(tasks) * spec.repeats, baselines=None
    )


def test_every_group_of_the_format_is_scored_under_both_rule_sets() -> None:
    summary = summary_of(RunSpec())
    for rules in RULES:
        groups = summary["scores"][rules]
        assert tuple(groups) == GROUPS
        assert [groups[name]["total"] for name in GROUPS] == [300, 150, 150, 90, 120, 90] + [30] * 10
        assert groups["query"]["passed"] + groups["action"]["passed"] == groups["overall"]["passed"]
        assert sum(groups[f"task{n}"]["passed"] for n in range(1, 11)) == groups["overall"]["passed"]


def test_one_repeat_has_wilsons_interval() -> None:
    overall = summary_of(RunSpec())["scores"]["clinical"]["overall"]
    assert overall["rate"] == overall["passed"] / 300
    assert overall["ci95"] == list(wilson_interval(overall["passed"], 300))


def test_repeats_of_one_task_do_not_narrow_the_interval_as_new_tasks_would() -> None:
    tasks = make_tasks(3)
    outcome = {task.id: index % 2 == 0 for index, task in enumerate(tasks)}
    lines = [make_line(task, repeat, clinical=outcome[task.id]) for task in tasks for repeat in range(5)]
    once = [line for line in lines if line["repeat"] == 0]
    many = summarise(lines, tasks, repeats=5, expected=150)["scores"]["clinical"]["overall"]
    single = summarise(once, tasks, repeats=1, expected=30)["scores"]["clinical"]["overall"]
    assert many["rate"] == single["rate"]
    assert many["ci95"][1] - many["ci95"][0] >= single["ci95"][1] - single["ci95"][0]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*SCORED, *OWED, "absent"]), min_size=20, max_size=20))
def test_the_ledger_adds_up_to_tasks_times_repeats_whatever_happened(statuses: list[str]) -> None:
    tasks = make_tasks(1)
    keys = list(itertools.product(tasks, range(2)))
    lines = [
        make_line(task, repeat, status=status)
        for (task, repeat), status in zip(keys, statuses, strict=True)
        if status != "absent"
    ]
    summary = summarise(lines, tasks, repeats=2, expected=20)
    assert sum(summary["ledger"].values()) == 20
    owed = sum(status in OWED or status == "absent" for status in statuses)
    overall = summary["scores"]["clinical"]["overall"]
    if owed:
        low, high = overall["rate_bounds"]
        assert high - low == pytest.approx(owed / 20)
        assert "rate" not in overall
        assert "ci95" not in overall
        assert summary["pass_hat_k"] == {}
    else:
        assert overall["rate"] == statuses.count("completed") / 20


def test_while_anything_is_owed_every_group_has_bounds_only() -> None:
    summary = summary_of(RunSpec(owed=1))
    for rules in RULES:
        for entry in summary["scores"][rules].values():
            assert set(entry) == {"passed", "total", "rate_bounds"}


def test_the_bounds_hold_every_way_in_which_the_owed_could_end() -> None:
    tasks = make_tasks(1)
    rng = random.Random(3)
    lines = [make_line(task, clinical=rng.random() < 0.5) for task in tasks[:7]]
    low, high = summarise(lines, tasks, repeats=1, expected=10)["scores"]["clinical"]["overall"][
        "rate_bounds"
    ]
    for ends in itertools.product([True, False], repeat=3):
        rest = [make_line(task, clinical=end) for task, end in zip(tasks[7:], ends, strict=True)]
        rate = summarise(lines + rest, tasks, repeats=1, expected=10)["scores"]["clinical"]["overall"]["rate"]
        assert low <= rate <= high


def test_an_owed_line_made_up_later_counts_once() -> None:
    tasks = make_tasks(1)
    lines = [make_line(task, status="provider_error") for task in tasks] + [make_line(task) for task in tasks]
    summary = summarise(lines, tasks, repeats=1, expected=10)
    assert summary["ledger"] == {"completed": 10}
    assert summary["scores"]["clinical"]["overall"]["passed"] == 10
    assert summary["cost_usd"] == pytest.approx(0.2)


def test_an_unknown_price_makes_the_cost_unknown_and_never_zero() -> None:
    tasks = make_tasks(1)
    lines = [make_line(task) for task in tasks]
    lines[4]["cost_usd"] = None
    assert summarise(lines, tasks, repeats=1, expected=10)["cost_usd"] is None


def test_pass_hat_k_counts_tasks_that_passed_every_time() -> None:
    tasks = make_tasks(1)
    lines = [
        make_line(task, repeat, clinical=repeat < index)
        for index, task in enumerate(tasks)
        for repeat in (0, 1)
    ]
    hats = summarise(lines, tasks, repeats=2, expected=20)["pass_hat_k"]["clinical"]
    assert hats["1"]["rate"] == pytest.approx((1 + 2 * 8) / 20)
    assert hats["2"]["rate"] == pytest.approx(8 / 10)
    assert hats["2"]["ci95"][0] < 0.8 < hats["2"]["ci95"][1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[0].update(task_id="task1_99"), "task1_99"),
        (lambda lines: lines[0].update(verdicts=None), "no medagentbench verdict"),
        (lambda lines: lines[0]["attempt"].update(status="fine"), "unknown status"),
        (lambda lines: lines.append(lines[0] | {"repeat": 7}), "more than 1 repeats"),
    ],
)
def test_lines_that_do_not_fit_are_refused_by_name(change: Any, message: str) -> None:
    tasks = make_tasks(1)
    lines = [make_line(task) for task in tasks]
    change(lines)
    with pytest.raises(UserError, match=message):
        summarise(lines, tasks, repeats=1, expected=10)


def test_the_table_puts_runs_side_by_side_with_tokens_and_cost() -> None:
    whole, owed = summary_of(RunSpec()), summary_of(RunSpec(owed=2, cost=None))
    rows = score_table({"native": whole, "text": owed})
    assert rows[0] == [
        "group",
        "native medagentbench",
        "native clinical",
        "text medagentbench",
        "text clinical",
    ]
    assert [row[0] for row in rows[1:]] == [*GROUPS, "attempts", "tokens in / out", "cost"]
    assert all("not whole" in cell for cell in rows[1][3:])
    assert rows[-3][3] == "300, 2 owed"
    assert rows[-1][1:] == ["$3.60", "$3.60", "unknown", "unknown"]


def test_the_terminal_table_takes_names_as_text() -> None:
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as capture:
        console.print(rich_score_table({"[red]run[/red]": summary_of(RunSpec())}, rules=("clinical",)))
    assert "[red]run[/red] clinical" in capture.get()


def test_harms_are_counted_with_a_bound_that_repeats_do_not_tighten() -> None:
    tasks = make_tasks(3)
    wrong = {task.id for task in tasks if task.category == "task5"}
    once = [make_line(task, clinical=task.id not in wrong) for task in tasks]
    many = [make_line(task, repeat, clinical=task.id not in wrong) for task in tasks for repeat in range(4)]
    single = summarise(once, tasks, repeats=1, expected=30)["severity"]
    repeated = summarise(many, tasks, repeats=4, expected=120)["severity"]
    assert single["wrong_patient"]["count"] == 0
    assert single["wrong_patient"]["upper95"] == pytest.approx(1 - 0.05 ** (1 / 30))
    assert single["wrong_dose_tier"]["count"] == 3
    assert repeated["wrong_dose_tier"]["count"] == 12
    for kind, entry in repeated.items():
        assert entry["upper95"] == pytest.approx(single[kind]["upper95"])
