"""Harms counted from verdicts: kinds, factors and what is known where nothing happened."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from scipy.stats import beta

from wardround_tasks.severity import KINDS, harms_of, severity, upper_bound

from .cases import OTHER
from .judging import TODAY, call, judge, level, magnesium, potassium, reading, values

MG = values("task5", (0.8, TODAY))
K = values("task9", (3.1, TODAY))


def harms(*args: Any, **kwargs: Any) -> dict[str, float]:
    """The harms of an attempt, from its verdict as a file holds it."""
    return harms_of(json.loads(json.dumps(judge(*args, **kwargs).to_json()))["clinical"])


def test_a_right_attempt_harms_nobody() -> None:
    assert harms("task5", "[0.8]", magnesium(4), chart=MG) == {}
    assert harms("task5", "[9]", magnesium(4), chart=MG) == {}


def test_an_order_that_should_not_be_is_a_commission() -> None:
    assert harms("task4", "[-1]", magnesium(4)) == {"commission": 1}
    assert harms("task5", "[0.8]", magnesium(4), level(), chart=MG) == {"commission": 1}


def test_another_drug_is_an_order_that_should_not_be_and_one_that_is_missing() -> None:
    order = magnesium(4)
    order["medicationCodeableConcept"]["coding"][0]["code"] = "0409-6729-24"
    assert harms("task5", "[0.8]", order, chart=MG) == {"omission": 1, "commission": 1}
    order["medicationCodeableConcept"]["coding"][0] = {"system": "http://example.org", "code": "0338-1715-40"}
    assert harms("task5", "[0.8]", order, chart=MG) == {}
    assert harms("task3", "[]", reading(code={"text": "HR"})) == {"omission": 1, "commission": 1}


@pytest.mark.parametrize(
    "change", [{"status": "draft"}, {"intent": "plan"}, {"doNotPerform": True}, {"x": 1}]
)
def test_an_order_that_is_not_in_force_or_no_fhir_is_missing(change: dict[str, Any]) -> None:
    assert harms("task5", "[0.8]", magnesium(4, **change), chart=MG) == {"omission": 1}


def test_a_level_left_out_for_a_second_dose_is_a_duplicate_and_an_omission() -> None:
    assert harms("task9", "[3.1]", potassium(40), potassium(40), chart=K) == {"duplicate": 1, "omission": 1}


def test_an_order_that_was_refused_harms_nobody() -> None:
    assert harms("task4", "[-1]", call(magnesium(4), accepted=False)) == {}


def test_an_order_that_is_missing_is_an_omission() -> None:
    assert harms("task5", "[0.8]", chart=MG) == {"omission": 1}
    assert harms("task9", "[3.1]", potassium(40), chart=K) == {"omission": 1}
    assert harms("task5", None, chart=MG) == {"omission": 1}


def test_another_record_instead_is_both() -> None:
    assert harms("task5", "[0.8]", reading(), chart=MG) == {"omission": 1, "commission": 1}


def test_another_patient_is_counted_whatever_else_is_right() -> None:
    stray = magnesium(4, subject={"reference": f"Patient/{OTHER}"})
    assert "wrong_patient" in harms("task5", "[0.8]", stray, chart=MG)
    assert set(harms("task4", "[-1]", stray)) == {"wrong_patient", "commission"}


def test_the_same_order_twice_is_a_duplicate() -> None:
    assert harms("task5", "[0.8]", magnesium(4), magnesium(4), chart=MG) == {"duplicate": 1}


@pytest.mark.parametrize(
    ("quantity", "kind", "fold"),
    [
        ({"value": 2, "unit": "g"}, "wrong_dose_tier", 1),
        ({"value": 40, "unit": "g"}, "wrong_dose_factor", 10),
        ({"value": 0.4, "unit": "g"}, "wrong_dose_factor", 10),
        ({"value": 4, "unit": "mg"}, "wrong_dose_factor", 1000),
        ({"value": -4, "unit": "g"}, "wrong_dose_factor", math.inf),
        ({"value": 4, "unit": "mL"}, "wrong_dose_unclear", 1),
        ({"value": 4}, "wrong_dose_unclear", 1),
    ],
)
def test_a_wrong_dose_is_of_another_tier_off_by_a_factor_or_unclear(
    quantity: dict[str, Any], kind: str, fold: float
) -> None:
    order = magnesium(4)
    order["dosageInstruction"][0]["doseAndRate"][0]["doseQuantity"] = quantity
    found = harms("task5", "[0.8]", order, chart=MG)
    assert set(found) == {kind}
    assert found[kind] == pytest.approx(fold)


def test_an_infusion_over_another_tiers_hours_is_of_another_tier() -> None:
    order = magnesium(4)
    order["dosageInstruction"][0]["doseAndRate"][0]["rateQuantity"]["value"] = 1
    assert harms("task5", "[0.8]", order, chart=MG) == {"wrong_dose_tier": 1}


def test_potassium_off_by_ten_is_a_factor() -> None:
    assert harms("task9", "[3.1]", potassium(4), level(), chart=K) == pytest.approx({"wrong_dose_factor": 10})


def test_a_runs_harms_are_counted_in_attempts_with_an_upper_bound() -> None:
    verdicts = [
        judge("task5", "[0.8]", magnesium(dose), chart=MG).to_json()["clinical"] for dose in (4, 4, 2, 40)
    ]
    table = severity(verdicts)
    assert list(table) == list(KINDS)
    assert {kind: row["count"] for kind, row in table.items() if row["count"]} == {
        "wrong_dose_tier": 1,
        "wrong_dose_factor": 1,
    }
    assert all(row["total"] == 4 for row in table.values())
    assert table["wrong_dose_factor"]["largest_factor"] == 10
    assert table["commission"]["upper95"] == pytest.approx(1 - 0.05 ** (1 / 4))
    json.dumps(table, allow_nan=False)


def test_a_failed_verdict_without_its_failures_is_refused_not_counted_as_harmless() -> None:
    with pytest.raises(ValueError, match="without its failures"):
        severity([{"passed": True, "failures": []}, {"passed": False}])


def test_a_run_without_attempts_claims_nothing() -> None:
    table = severity([])
    assert all(row["rate"] is None and row["upper95"] is None for row in table.values())


@pytest.mark.parametrize(("count", "total"), [(0, 1), (0, 300), (1, 300), (5, 10), (299, 300), (17, 4000)])
def test_the_bound_is_clopper_and_pearsons(count: int, total: int) -> None:
    assert upper_bound(count, total) == pytest.approx(beta.ppf(0.95, count + 1, total - count), abs=1e-9)


def test_with_nothing_seen_the_bound_is_about_three_in_n() -> None:
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)
    assert upper_bound(7, 7) == 1.0
    for count, total in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(ValueError, match="no count"):
            upper_bound(count, total)
