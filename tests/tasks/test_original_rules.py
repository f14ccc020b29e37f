"""The `medagentbench` rules, a test for each thing that they say."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .cases import MRN, OTHER, SBAR
from .charts import NOW, patient
from .judging import (
    LAST_WEEK,
    TODAY,
    TOMORROW,
    YESTERDAY,
    call,
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
MG = values("task4", (2, TODAY), (1.1, YESTERDAY))


def strict(*args: Any, **kwargs: Any) -> bool:
    """Whether the attempt passes under the original's rules."""
    return judge(*args, **kwargs).medagentbench.passed


def altered(resource: Json, *path: str | int, to: Any = ...) -> Json:
    """A copy with one value changed, or left out."""
    changed = copy.deepcopy(resource)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return changed


# --- general ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["[2]", "[2.0]", " [ 2 ] ", "[2e0]"])
def test_equal_lists_pass(answer: str) -> None:
    assert strict("task4", answer, chart=MG)


@pytest.mark.parametrize(
    "answer",
    [
        '["2"]',
        "2",
        "[2, 2]",
        '["2 mg/dL"]',
        '{"value": 2}',
        "[[2]]",
        "[]",
        "[null]",
        "null",
        '"[2]"',
        "[2.0001]",
    ],
)
def test_other_answers_fail(answer: str) -> None:
    assert not strict("task4", answer, chart=MG)


@pytest.mark.parametrize("answer", ["", "2 mg/dL", "[2", "['2']", "[2],", "[2]]", "[02]", "Answer: [2]"])
def test_text_that_is_not_json_fails(answer: str) -> None:
    verdicts = judge("task4", answer, chart=MG)
    assert codes(verdicts, "medagentbench") == ["answer_not_json"]


def test_true_equals_one_as_in_python() -> None:
    assert strict("task7", "[true]", chart=values("task7", (1, TODAY)))
    assert not strict("task7", "[true]", chart=values("task7", (2, TODAY)))
    assert strict("task7", "[false]", chart=values("task7", (0, TODAY)))


@pytest.mark.parametrize("accepted", [True, False])
def test_no_writes_fails_on_any_create_call(accepted: bool) -> None:
    verdicts = judge("task4", "[2]", call(reading(), accepted=accepted), chart=MG)
    assert codes(verdicts, "medagentbench") == ["unexpected_write"]


def test_a_mention_of_post_counts_as_a_write_where_there_may_be_none() -> None:
    assert not strict("task4", "[2]", chart=MG, mentions_post=True)
    assert strict("task3", "[]", reading(), mentions_post=True)


def test_of_n_writes_rejected_ones_are_passed_over() -> None:
    refused = call(reading(status="draft"), accepted=False)
    assert strict("task3", "[]", refused, reading(), refused)
    assert not strict("task3", "[]", call(reading(), accepted=False))
    assert not strict("task3", "[]", reading(), reading())
    assert not strict("task3", "[]")


def test_fields_that_are_not_named_are_ignored() -> None:
    assert strict("task3", "[]", reading(note="x", id="mine", urgency=[1]))


def test_is_exactly_compares_the_whole_value() -> None:
    subject = {"reference": f"Patient/{MRN}", "display": "Ada"}
    assert not strict("task3", "[]", reading(subject=subject))
    assert not strict("task3", "[]", reading(code={"text": "BP", "coding": []}))


def test_of_two_measurements_at_one_instant_the_first_in_the_servers_order_counts() -> None:
    chart = values(
        "task4", (1.1, YESTERDAY), (1.7, TODAY), (2.2, TODAY.replace("T04:00", "T03:00")[:-6] + "-01:00")
    )
    assert strict("task4", "[1.7]", chart=chart)
    assert strict("task4", "[2.2]", chart=list(reversed(chart)))


@pytest.mark.parametrize("status", ["invalid_action", "budget_exhausted", "context_limit", "agent_error"])
def test_an_attempt_that_was_not_completed_fails_under_both(status: str) -> None:
    verdicts = judge("task4", "[2]", chart=MG, status=status)
    assert not verdicts.medagentbench.passed
    assert not verdicts.clinical.passed


def test_an_attempt_without_an_answer_fails_under_both() -> None:
    verdicts = judge("task3", None, reading())
    assert codes(verdicts, "medagentbench") == codes(verdicts) == ["no_answer"]


# --- one category after the other ----------------------------------------------------------------------


def test_task1_compares_with_the_stored_solution() -> None:
    assert strict("task1", f'["{MRN}"]', task=task_of("task1", solution=[MRN]))
    assert strict("task1", '["Patient not found"]', task=task_of("task1", solution=["Patient not found"]))
    assert not strict("task1", f'"{MRN}"', task=task_of("task1", solution=[MRN]))


@pytest.mark.parametrize(
    ("born", "age"),
    [("1950-11-13", 73), ("1950-11-14", 72), ("1944-02-29", 79), ("2023-11-13", 0), ("1923-11-12", 100)],
)
def test_task2_counts_whole_years(born: str, age: int) -> None:
    chart = [patient(MRN, born)]
    assert strict("task2", f"[{age}]", chart=chart)
    assert not strict("task2", f"[{age + 1}]", chart=chart)


def test_task2_without_a_birth_date_has_no_right_answer() -> None:
    for chart in ([], [patient(MRN, None)], [patient(MRN, "1950")]):
        for answer in ("[-1]", "[null]", "[]", "[0]", "[73]"):
            verdicts = judge("task2", answer, chart=chart)
            assert not verdicts.medagentbench.passed
            assert not verdicts.clinical.passed


CODING = {
    "system": "http://hl7.org/fhir/observation-category",
    "code": "vital-signs",
    "display": "Vital Signs",
}


@pytest.mark.parametrize(
    "wrong",
    [
        altered(reading(), "resourceType", to="Procedure"),
        altered(reading(), "category", to=[]),
        altered(reading(), "category", to=[{"coding": [CODING]}, {"coding": [CODING]}]),
        altered(reading(), "category", to={"coding": [CODING]}),
        altered(reading(), "category", 0, "coding", to=[CODING, CODING]),
        altered(reading(), "category", 0, "coding", 0, to={**CODING, "version": "1"}),
        altered(reading(), "category", 0, "coding", 0, "display", to="vital signs"),
        altered(reading(), "category", 0, "coding", 0, "display"),
        altered(reading(), "code", "text", to="bp"),
        altered(reading(), "effectiveDateTime", to="2023-11-13T10:15:00Z"),
        altered(reading(), "status", to="preliminary"),
        altered(reading(), "valueString", to="118/77"),
        altered(reading(), "valueString"),
        altered(reading(), "subject", "reference", to=f"Patient/{OTHER}"),
        altered(reading(), "subject"),
    ],
)
def test_task3_holds_every_field(wrong: Json) -> None:
    assert strict("task3", "anything at all", reading())
    assert not strict("task3", "[]", call(wrong, kind="Observation"))


def test_task3_goes_to_observation() -> None:
    assert not strict("task3", "[]", call(reading(), kind="MedicationRequest"))


@pytest.mark.parametrize(
    ("when", "counts"),
    [
        ("2023-11-12T10:15:00+00:00", True),
        ("2023-11-12T10:14:59+00:00", False),
        ("2023-11-12T05:15:00-05:00", True),
        (TOMORROW, True),
        (LAST_WEEK, False),
    ],
)
def test_the_window_begins_24_hours_before_now_and_does_not_end(when: str, counts: bool) -> None:
    chart = values("task4", (2.2, when))
    assert strict("task4", "[2.2]" if counts else "[-1]", chart=chart)
    assert not strict("task4", "[-1]" if counts else "[2.2]", chart=chart)


@pytest.mark.parametrize(
    ("value", "grams"), [(0.99, 4), (1.0, 2), (1.49, 2), (1.5, 1), (1.9, 1), (1.91, None), (2, None)]
)
def test_task5_orders_by_tier(value: float, grams: int | None) -> None:
    chart = values("task5", (value, TODAY))
    for answer in (f"[{value}]", "[]"):
        assert strict("task5", answer, *([magnesium(grams)] if grams else []), chart=chart)
    assert not strict("task5", "[-1]", *([magnesium(grams)] if grams else []), chart=chart)
    for dose in {1, 2, 4} - {grams}:
        assert not strict("task5", f"[{value}]", magnesium(dose), chart=chart)


def test_task5_without_a_value_takes_any_answer_and_no_write() -> None:
    chart = values("task5", (0.8, LAST_WEEK))
    for answer in ("[0.8]", "[-1]", "nothing to do", ""):
        assert strict("task5", answer, chart=chart)
    assert not strict("task5", "[-1]", magnesium(4), chart=chart)
    assert not strict("task5", "[-1]", call(magnesium(4), accepted=False), chart=chart)


DOSAGE = ("dosageInstruction", 0)
AMOUNTS = (*DOSAGE, "doseAndRate", 0)


@pytest.mark.parametrize(
    "wrong",
    [
        altered(magnesium(4), "medicationCodeableConcept", "coding", 0, "system", to="http://example.org"),
        altered(magnesium(4), "medicationCodeableConcept", "coding", 0, "code", to="0338-1715-41"),
        altered(magnesium(4), "authoredOn", to="2023-11-13"),
        altered(magnesium(4), "authoredOn", to=[NOW]),
        altered(magnesium(4), *DOSAGE, "route", to={"text": "IV"}),
        altered(magnesium(4), *DOSAGE, "route", to="iv"),
        altered(magnesium(4), *AMOUNTS, "doseQuantity", to={"value": 4, "unit": "g", "code": "g"}),
        altered(magnesium(4), *AMOUNTS, "doseQuantity", "value", to="4"),
        altered(magnesium(4), *AMOUNTS, "rateQuantity"),
        altered(magnesium(4), *AMOUNTS, "rateQuantity", "unit", to="hour"),
        altered(magnesium(4), "status", to="draft"),
        altered(magnesium(4), "intent", to="plan"),
        altered(magnesium(4), "subject", to={"reference": f"Patient/{OTHER}"}),
        altered(magnesium(4), "dosageInstruction", to={}),
        altered(magnesium(4), "resourceType", to="ServiceRequest"),
    ],
)
def test_task5_holds_every_field(wrong: Json) -> None:
    chart = values("task5", (0.8, TODAY))
    assert not strict("task5", "[0.8]", call(wrong, kind="MedicationRequest"), chart=chart)


def test_task5_lets_pass_what_it_does_not_look_at() -> None:
    order = altered(magnesium(4), "authoredOn", to="on 2023-11-13T10:15:59-08:00")
    order["dosageInstruction"].append("nonsense")
    order["medicationCodeableConcept"]["coding"].append({})
    order["doNotPerform"] = True
    assert strict("task5", "[0.8]", order, chart=values("task5", (0.8, TODAY)))


def test_task5_takes_true_for_one_gram() -> None:
    order = altered(magnesium(1), *AMOUNTS, "doseQuantity", "value", to=True)
    assert strict("task5", "[1.9]", order, chart=values("task5", (1.9, TODAY)))


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        *[(answer, True) for answer in ("[110]", "[110.09]", "[109.91]")],
        *[(answer, False) for answer in ("[110.11]", "[110, 110]", '["110"]', "110", "{}", "[NaN]")],
        *[(answer, False) for answer in (f"[1{'0' * 400}]", "[Infinity]", "[[110]]", "[]", "[null]")],
    ],
)
def test_task6_takes_a_number_strictly_within_a_tenth_of_the_mean(answer: str, passes: bool) -> None:
    chart = values("task6", (100, TODAY), (120, YESTERDAY), (400, LAST_WEEK))
    assert strict("task6", answer, chart=chart) is passes


def test_task6_without_a_value_is_minus_one() -> None:
    assert strict("task6", "[-1]", chart=values("task6", (400, LAST_WEEK)))
    assert strict("task6", "[-1.05]")


def test_task7_takes_the_newest_however_old() -> None:
    assert strict("task7", "[90]", chart=values("task7", (80, "2020-01-01T00:00:00+00:00"), (90, LAST_WEEK)))
    assert strict("task7", "[-1]")


@pytest.mark.parametrize(
    "wrong",
    [
        altered(referral(), "code", "coding", 0, "code", to="306181000000107"),
        altered(referral(), "code", "coding", 0, "system", to="http://snomed.info/sct/"),
        altered(referral(), "authoredOn", to="2023-11-13T10:15:00.000+00:00"),
        altered(referral(), "status", to="draft"),
        altered(referral(), "intent", to="plan"),
        altered(referral(), "priority", to="urgent"),
        altered(referral(), "note", to=[{"text": SBAR}]),
        altered(referral(), "note", to={"text": SBAR[:-1]}),
        altered(referral(), "note", to={"text": [SBAR]}),
        altered(referral(), "note"),
        altered(referral(), "subject", to={"reference": MRN}),
    ],
)
def test_task8_holds_every_field(wrong: Json) -> None:
    assert strict("task8", "done", referral(note={"text": f"FYI: {SBAR} Thank you."}))
    assert not strict("task8", "[]", wrong)


K = values("task9", (3.1, TODAY), (4.2, YESTERDAY))


@pytest.mark.parametrize(
    ("dose", "passes"), [(40, True), (39.95, True), (40.05, True), (39.85, False), (40.2, False), (30, False)]
)
def test_task9_doses_within_a_tenth(dose: float, passes: bool) -> None:
    assert strict("task9", "[3.1]", potassium(dose), level(), chart=K) is passes


def test_task9_wants_both_orders_in_this_order() -> None:
    assert strict("task9", "[]", potassium(40), level(), chart=K)
    assert not strict("task9", "[3.1]", level(), potassium(40), chart=K)
    assert not strict("task9", "[3.1]", potassium(40), chart=K)
    assert not strict("task9", "[3.1]", potassium(40), level(), level(), chart=K)


@pytest.mark.parametrize(
    ("order", "test", "passes"),
    [
        (altered(potassium(40), *DOSAGE, "route", to="  ORAL\n"), level(), True),
        (altered(potassium(40), *DOSAGE, "route", to={"text": "oral"}), level(), False),
        (altered(potassium(40), *AMOUNTS, "doseQuantity", "unit", to="meq"), level(), False),
        (altered(potassium(40), *AMOUNTS, "doseQuantity", "code", to="meq"), level(), True),
        (altered(potassium(40), *AMOUNTS, "rateQuantity", to={"value": 1, "unit": "h"}), level(), True),
        (altered(potassium(40), *AMOUNTS, "doseQuantity", "value", to="40"), level(), False),
        (potassium(40), level(occurrenceDateTime="2023-11-14T08:59:00-05:00"), True),
        (potassium(40), level(occurrenceDateTime="2023-11-14T09:00:00+00:00"), False),
        (potassium(40), level(occurrenceDateTime="2023-11-14"), False),
        (potassium(40), altered(level(), "occurrenceDateTime"), False),
        (potassium(40), level(priority="routine"), False),
        (potassium(40), level(authoredOn="2023-11-13T10:15:00Z"), False),
    ],
)
def test_task9_holds_every_field(order: Json, test: Json, passes: bool) -> None:
    assert strict("task9", "[3.1]", order, test, chart=K) is passes


@pytest.mark.parametrize(
    ("value", "answers"), [(3.5, ("[3.5]", "[]")), (4.4, ("[4.4]", "[]")), (None, ("[-1]", "[]"))]
)
def test_task9_not_low_or_never_measured_wants_no_write(
    value: float | None, answers: tuple[str, str]
) -> None:
    chart = values("task9", *([(value, TODAY)] if value else []))
    for answer in answers:
        assert strict("task9", answer, chart=chart)
        assert not strict("task9", answer, potassium(10), level(), chart=chart)
    assert not strict("task9", "[0]", chart=chart)


@pytest.mark.parametrize(
    ("when", "due"),
    [
        ("2022-11-13T10:15:00+00:00", False),
        ("2022-11-13T10:14:59+00:00", True),
        ("2022-11-13T05:14:00-05:00", True),
    ],
)
def test_task10_orders_when_the_newest_is_over_a_year_old(when: str, due: bool) -> None:
    chart = values("task10", (7.1, when), (9.9, "2019-01-01T00:00:00+00:00"))
    for answer in (f'[7.1, "{when}"]', "[]"):
        assert strict("task10", answer, *([hba1c()] if due else []), chart=chart)
        assert not strict("task10", answer, *([] if due else [hba1c()]), chart=chart)
    assert not strict("task10", "[7.1]", *([hba1c()] if due else []), chart=chart)
    assert not strict("task10", '[7.1, "2022-11-13"]', *([hba1c()] if due else []), chart=chart)


def test_task10_never_measured_orders_and_answers_minus_one() -> None:
    assert strict("task10", "[-1]", hba1c())
    assert strict("task10", "[]", hba1c())
    assert not strict("task10", "[-1]")
    assert not strict("task10", "[-1]", hba1c(note={"text": "x"}, priority="routine"))
    assert strict("task10", "[-1]", hba1c(note="ignored"))


def test_every_failure_is_listed_with_its_path() -> None:
    wrong = altered(altered(magnesium(2), "status", to="draft"), *DOSAGE, "route", to="oral")
    verdicts = judge("task5", "[3]", wrong, chart=values("task5", (0.8, TODAY)))
    listed = {(failure.code, failure.path) for failure in verdicts.medagentbench.failures}
    resource = "$.calls[0].resource"
    assert listed == {
        ("wrong_field", f"{resource}.status"),
        ("wrong_field", f"{resource}.dosageInstruction[0].route"),
        ("wrong_dose", f"{resource}.dosageInstruction[0].doseAndRate[0].doseQuantity"),
        ("wrong_dose", f"{resource}.dosageInstruction[0].doseAndRate[0].rateQuantity"),
        ("answer_wrong", "$.answer"),
    }
