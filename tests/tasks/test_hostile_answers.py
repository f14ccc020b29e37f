"""Nothing passes on nothing: whatever an agent writes gets a verdict, and no gold of 0 or -1 by accident."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.grading import grade
from wardround_tasks.jsontext import MAX_DEPTH, NotJSON, read_json, read_record, shorten, too_deep
from wardround_tasks.scenes import scenes

from .judging import call, judge, magnesium, task_of, values

LOW = values("task5", (0.8, "2023-11-13T04:00:00Z"))
NESTED = "[" * 100_000 + "]" * 100_000
HOSTILE = [
    *[
        "",
        " ",
        "null",
        "NaN",
        "[NaN]",
        "Infinity",
        "[-Infinity]",
        '""',
        '[""]',
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
    ],
    *["false", "[false]", '["-"]', '["−1"]', '[" "]', '["0x1"]', "[1e999]", "[-1e999]", '["1_0"]', '["٣"]'],
    *[
        "[" * 100_000,
        NESTED,
        '{"a":' * 50_000,
        "[" + "9" * 6000 + "]",
        "-" * 10_000,
        '["' + "1" * 10_000 + '"]',
    ],
    *["__import__('os').system('true')", "[i for i in ()]", "lambda: [-1]", "-1; drop table", "${7*7}"],
    *["\x00", '["\\ud800"]', "\ufeff[-1]", "[-1", "-1]", "[-1,]", "[--1]", "[+1]", "'-1'", "FINISH([-1])"],
    *['{"answer": -1}', '{"0": -1}', "[[-1]]", "[-1, -1]", '["[-1]"]', "-0.9999", "[-0.5]", "[0.0001]"],
]


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.task.id)
def test_a_hostile_answer_never_passes_where_the_answer_counts(scene: Any) -> None:
    for text in HOSTILE:
        verdicts = grade(scene.task, Attempt(scene.task.id, answer=text), scene.reference)
        # Where no value is in the window the original looks at no answer; that is its fault, not an accident.
        if not (scene.task.category == "task5" and scene.name == "older only"):
            assert not verdicts.medagentbench.passed, text[:60]
        assert not verdicts.clinical.passed, text[:60]
        assert len(json.dumps(verdicts.to_json())) < 20_000


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.task.id)
def test_ten_megabytes_fail_every_task(scene: Any) -> None:
    for text in ("x" * 10_000_000, '["' + "1" * 10_000_000 + '"]', "[" + "1," * 300_000 + "1]"):
        verdicts = grade(scene.task, Attempt(scene.task.id, answer=text), scene.reference)
        assert not verdicts.clinical.passed
        assert len(json.dumps(verdicts.to_json())) < 20_000


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.task.id)
def test_an_empty_attempt_fails_every_task(scene: Any) -> None:
    verdicts = grade(scene.task, Attempt.from_json({"task_id": scene.task.id}), scene.reference)
    assert not verdicts.medagentbench.passed
    assert not verdicts.clinical.passed


@pytest.mark.parametrize("category", [f"task{number}" for number in range(2, 11)])
def test_an_empty_chart_gives_verdicts_and_no_pass_for_nothing(category: str) -> None:
    for answer in ("[]", "null", "[0]", "[null]", "[false]", "{}", ""):
        assert not judge(category, answer, chart=[], asks=True).clinical.passed


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [40, 500, 100_000])
def test_a_resource_nested_without_end_is_a_verdict(levels: int) -> None:
    for field in ("note", "subject", "dosageInstruction", "extension"):
        order = magnesium(4) | {field: deep(levels)}
        verdicts = judge("task5", "[0.8]", CreateCall("MedicationRequest", order), chart=LOW)
        assert not verdicts.clinical.passed
        json.dumps(verdicts.to_json())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4)
    ),
    max_leaves=12,
)


KINDS = st.sampled_from(["Observation", "MedicationRequest", "ServiceRequest", "", "Patient"])


@settings(max_examples=60, derandomize=True, deadline=None)
@given(JSON | st.text(max_size=40), JSON, st.booleans(), KINDS)
def test_any_answer_and_any_resource_are_judged_without_an_exception(
    answer: Any, resource: Any, accepted: bool, kind: str
) -> None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    made = CreateCall(kind, resource, accepted)
    for scene in scenes()[::2]:
        verdicts = grade(scene.task, Attempt(scene.task.id, answer=text, calls=(made,)), scene.reference)
        assert not verdicts.clinical.passed
        json.loads(json.dumps(verdicts.to_json(), allow_nan=False))


FIELDS = st.sampled_from(
    ["subject", "status", "dosageInstruction", "authoredOn", "medicationCodeableConcept"]
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(field=FIELDS, value=JSON)
def test_a_right_order_with_any_value_in_one_field_is_judged(field: str, value: Any) -> None:
    verdicts = judge("task5", "[0.8]", call(magnesium(4) | {field: value}), chart=LOW)
    assert not verdicts.medagentbench.passed or value == magnesium(4)[field]
    assert not verdicts.clinical.passed


def test_reading_json_raises_one_thing_only() -> None:
    for text in HOSTILE:
        with suppress(NotJSON):
            read_json(text)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(JSON)
def test_records_are_read_as_they_were_written(value: Any) -> None:
    text = json.dumps(value)
    assert json.dumps(read_record(text)) == text


def test_what_is_nested_too_deeply_in_a_record_is_cut_and_the_rest_kept() -> None:
    line = '{"a": ' + "[" * 5000 + '"]}\\"["' + "]" * 5000 + ', "b": "[{", "c": [1, {"d": 2}]}'
    read = read_record(line)
    assert (read["b"], read["c"]) == ("[{", [1, {"d": 2}])
    assert too_deep(read["a"], MAX_DEPTH - 5)
    assert not too_deep(read["a"], MAX_DEPTH + 1)
    with pytest.raises(NotJSON):
        read_record(line[:-1])


def test_reports_show_a_bounded_copy() -> None:
    assert shorten(deep(50))[0][0][0][0][0][0] == "..."
    assert len(json.dumps(shorten({str(i): "x" * 10_000 for i in range(1000)}))) < 10_000
    assert shorten([float("nan"), float("inf"), 10**400, True, 10**17]) == [
        "nan",
        "inf",
        "a number of over 300 digits",
        True,
        10**17,
    ]


def test_the_verdict_does_not_depend_on_the_task_object() -> None:
    first, second = (judge("task4", "[2]", task=task_of("task4")).to_json() for _ in range(2))
    assert first == second
