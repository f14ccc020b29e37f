"""The `clinical` rules, a test for each thing that they say beside the original's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .cases import MRN, OTHER
from .charts import NOW, observation, patient
from .judging import (
    LAST_WEEK,
    TODAY,
    TOMORROW,
    YESTERDAY,
    codes,
    hba1c,
    judge,
    level,
    magnesium,
    potassium,
    reading,
    referral,
    task_of,
    values,
)

Json = dict[str, Any]
MG = values("task5", (0.8, TODAY))
K = values("task9", (3.1, TODAY))


def clinical(*args: Any, **kwargs: Any) -> bool:
    """Whether the attempt passes under the clinical rules."""
    return judge(*args, **kwargs).clinical.passed


# --- instants --------------------------------------------------------------------------------------

SAME_NOW = [
    "2023-11-13T10:15:00Z",
    "2023-11-13T05:15:00-05:00",
    "2023-11-13T10:15:00.000+00:00",
    "2023-11-13T15:45:00.0+05:30",
]
OTHER_TIMES = [
    "2023-11-13T10:16:00Z",
    "2023-11-13T10:15:00-05:00",
    "2023-11-13",
    "now",
    "2023-11-12T10:15:00Z",
]


@pytest.mark.parametrize("when", SAME_NOW)
def test_instants_compare_as_instants(when: str) -> None:
    assert clinical("task3", "[]", reading(effectiveDateTime=when))
    assert clinical("task8", "[]", referral(authoredOn=when))
    assert clinical("task5", "[0.8]", magnesium(4, authoredOn=when), chart=MG)
    assert clinical("task10", "[-1]", hba1c(authoredOn=when))


@pytest.mark.parametrize("when", OTHER_TIMES)
def test_other_instants_fail(when: str) -> None:
    assert "wrong_time" in codes(judge("task3", "[]", reading(effectiveDateTime=when)))
    assert "wrong_time" in codes(judge("task8", "[]", referral(authoredOn=when)))
    assert "wrong_time" in codes(judge("task5", "[0.8]", magnesium(4, authoredOn=when), chart=MG))


@pytest.mark.parametrize(
    ("when", "passes"),
    [
        ("2023-11-14T08:00:00Z", True),
        ("2023-11-14T03:00:00-05:00", True),
        ("2023-11-14T08:00:00-05:00", False),
        ("2023-11-14T07:59:59Z", False),
        ("2023-11-14T09:00:00Z", False),
        ("2023-11-13T08:00:00Z", False),
    ],
)
def test_the_next_mornings_level_is_at_eight(when: str, passes: bool) -> None:
    assert clinical("task9", "[3.1]", potassium(40), level(occurrenceDateTime=when), chart=K) is passes


def test_an_answered_time_may_be_written_in_another_zone() -> None:
    chart = values("task10", (7.1, "2023-05-01T07:30:00+00:00"))
    for when in ("2023-05-01T07:30:00Z", "2023-05-01T02:30:00-05:00", "2023-05-01T07:30:00.000Z"):
        assert clinical("task10", json.dumps([7.1, when]), chart=chart)
    wrong: tuple[Any, ...] = ("2023-05-01", "2023-05-01T07:30:00-05:00", "", None, 7, "2023-05-01T07:31:00Z")
    for when in wrong:
        assert not clinical("task10", json.dumps([7.1, when]), chart=chart)


# --- numbers and answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["[2.1]", "[2.1000000001]", "2.1", "[2.10]", '["2.1"]', '"2.1"', '["2.1 mg/dL"]', '[" 2.1mg/dl "]'],
)
def test_equal_numbers_pass_whatever_their_form(answer: str) -> None:
    verdict = judge("task4", answer, chart=values("task4", (2.1, TODAY))).clinical
    assert verdict.passed
    assert bool(verdict.notes) == ('"' in answer)
    assert all(note.code == "answer_format" for note in verdict.notes)


@pytest.mark.parametrize(
    "answer",
    [
        '["2.1 mmol/L"]',
        '["about 2.1"]',
        '["2.1 2.1"]',
        '["two"]',
        "[2.10001]",
        '["2,1"]',
        "[2.1, 2.1]",
        "[[2.1]]",
        '{"value": 2.1}',
        "[]",
        "[null]",
        '[""]',
        "null",
        '["2.1e400"]',
        '["NaN"]',
        "[NaN]",
        "2.1 mg/dL",
        "",
    ],
)
def test_other_answers_fail(answer: str) -> None:
    assert not clinical("task4", answer, chart=values("task4", (2.1, TODAY)))


def test_true_is_no_number() -> None:
    chart = values("task7", (1, TODAY))
    assert not clinical("task7", "[true]", chart=chart)
    assert clinical("task7", "[1.0]", chart=chart)


def test_a_mean_may_be_off_by_less_than_a_tenth() -> None:
    chart = values("task6", (100, TODAY), (120, YESTERDAY))
    assert clinical("task6", '"110.05 mg/dL"', chart=chart)
    assert not clinical("task6", "[110.2]", chart=chart)


def test_that_there_is_no_value_is_said_by_minus_one_alone() -> None:
    for category in ("task4", "task6", "task7"):
        assert clinical(category, "[-1]")
        assert clinical(category, '["-1"]')
        for answer in ("[-1.05]", "[0]", "[]", "[null]", "null", "[false]", '["none"]', "[[]]", "{}"):
            assert not clinical(category, answer)


@pytest.mark.parametrize("answer", [f'["{MRN}"]', f'"{MRN}"', f'[" {MRN} "]', f'["{MRN.lower()}"]'])
def test_a_record_number_is_a_record_number(answer: str) -> None:
    assert clinical("task1", answer, task=task_of("task1", solution=[MRN]))


@pytest.mark.parametrize(
    "answer", ['["Patient not found"]', '"patient not found."', '["PATIENT  NOT FOUND"]']
)
def test_not_found_may_be_written_in_any_case(answer: str) -> None:
    assert clinical("task1", answer, task=task_of("task1", solution=["Patient not found"]))
    assert not clinical("task1", answer, task=task_of("task1", solution=[MRN]))


@pytest.mark.parametrize(
    "answer", ["[]", "[-1]", '[""]', "[null]", f'["{OTHER}"]', f'["{MRN}", "{MRN}"]', f'["x{MRN}"]']
)
def test_another_name_fails(answer: str) -> None:
    assert not clinical("task1", answer, task=task_of("task1", solution=[MRN]))


def test_an_age_may_be_given_in_years() -> None:
    chart = [patient(MRN, "1950-11-14")]
    for answer in ("[72]", "72", '["72 years"]'):
        assert clinical("task2", answer, chart=chart)
    for answer in ("[73]", '["72 months"]', "[72.5]"):
        assert not clinical("task2", answer, chart=chart)


# --- time ----------------------------------------------------------------------------------------------


def test_a_measurement_later_than_now_is_not_of_the_last_24_hours() -> None:
    chart = values("task4", (1.1, TOMORROW), (2.2, TODAY))
    assert clinical("task4", "[2.2]", chart=chart)
    assert not clinical("task4", "[1.1]", chart=chart)
    assert clinical("task5", "[2.2]", chart=chart)
    assert clinical("task6", "[100]", chart=values("task6", (100, TODAY), (400, TOMORROW)))
    assert clinical("task4", "[2.2]", chart=values("task4", (2.2, NOW)))


def test_the_newest_ever_is_the_newest_in_the_chart() -> None:
    chart = values("task7", (90, LAST_WEEK), (80, TODAY))
    assert clinical("task7", "[80]", chart=chart)


def test_a_result_in_another_unit_is_converted_before_it_is_judged() -> None:
    chart = [patient(MRN), observation(MRN, "MG", 0.9, TODAY, "mmol/L")]
    for answer in ("[2.19]", '["2.19 mg/dL"]', '["0.9 mmol/L"]'):
        assert clinical("task5", answer, chart=chart, asks=True)
    for answer in ('["0.9"]', '["0.9 mg/dL"]', '["2.19 mmol/L"]', "[2.3]"):
        assert not clinical("task5", answer, chart=chart, asks=True)
    assert not clinical("task5", "[0.9]", magnesium(4), chart=chart, asks=True)
    assert judge("task5", "[0.9]", magnesium(4), chart=chart).medagentbench.passed


# --- whether a value was asked for -------------------------------------------------------------------------


@pytest.mark.parametrize(("category", "value"), [("task5", 2.2), ("task9", 4.2)])
def test_where_a_value_was_asked_for_the_empty_list_is_no_answer(category: str, value: float) -> None:
    chart = values(category, (value, TODAY))
    assert clinical(category, f"[{value}]", chart=chart, asks=True)
    assert codes(judge(category, "[]", chart=chart, asks=True)) == ["answer_wrong"]
    assert codes(judge(category, "[]", chart=None, asks=True)) == ["answer_wrong"]
    assert clinical(category, "[-1]", asks=True)


UNCLEAR = [
    "[]",
    "",
    "done",
    "null",
    "[null]",
    '["No replacement needed."]',
    "{}",
    "[true]",
    "[[]]",
    '["", {}]',
]


@pytest.mark.parametrize("answer", [*UNCLEAR, "[2.2]", "2.2", '["2.2"]', '["Mg 2.2 mg/dL, above 1.9 mg/dL"]'])
def test_where_none_was_asked_for_any_answer_passes_that_states_no_wrong_value(answer: str) -> None:
    assert clinical("task5", answer, chart=values("task5", (2.2, TODAY)))


@pytest.mark.parametrize(
    "answer",
    [
        "[1.1]",
        "1.1",
        '["1.1"]',
        '["1.1 mg/dL"]',
        '["It is 1.1 mg/dL."]',
        "[2.2, 1.1]",
        '{"Mg": 1.1}',
        "Magnesium is 1.1 mg/dL",
        "[-1]",
        "[0]",
        "[NaN]",
        f"[1{'0' * 400}]",
        "[1e999]",
        "[[1.1]]",
    ],
)
def test_a_wrong_value_fails_even_where_none_was_asked_for(answer: str) -> None:
    assert not clinical("task5", answer, chart=values("task5", (2.2, TODAY)))


def test_the_ordered_dose_may_stand_beside_the_value() -> None:
    assert clinical("task5", "[0.8, 4]", magnesium(4), chart=MG)
    assert not clinical("task5", "[4]", magnesium(4), chart=MG)
    assert clinical("task9", "[3.1, 40]", potassium(40), level(), chart=K)


def test_task10_asks_for_the_value_in_every_set() -> None:
    chart = values("task10", (7.1, "2023-05-01T07:30:00+00:00"))
    assert not clinical("task10", "[]", chart=chart)
    assert clinical("task10", '["7.1 %", "2023-05-01T07:30:00+00:00"]', chart=chart)
    assert not clinical("task10", '["2023-05-01T07:30:00+00:00", 7.1]', chart=chart)


def test_the_content_of_the_answer_is_not_looked_at_where_none_is_asked() -> None:
    for answer in ("", "done", "[]", "[1, 2]", "null"):
        assert clinical("task3", answer, reading())
        assert clinical("task8", answer, referral())


def test_the_unit_that_the_chart_writes_may_stand_behind_the_number() -> None:
    chart = [patient(MRN), observation(MRN, "MG", 2.1, TODAY, "mg per dL")]
    assert clinical("task4", '["2.1 mg per dL"]', chart=chart)
    assert not clinical("task4", '["2.1 mmol/L"]', chart=chart)


def test_ties_at_the_newest_instant_go_to_the_servers_order() -> None:
    chart = values("task4", (2.0, TODAY), (1.8, TODAY))
    assert clinical("task4", "[2.0]", chart=chart)
    assert not clinical("task4", "[1.8]", chart=chart)
