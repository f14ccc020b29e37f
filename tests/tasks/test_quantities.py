"""Units and conversions: what is the same amount, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from wardround_tasks.quantities import GLUCOSE, HBA1C, MAGNESIUM, POTASSIUM, amount, per_hour, ratio_per_hour

UCUM = "http://unitsofmeasure.org"


@pytest.mark.parametrize(
    ("quantity", "unit", "size"),
    [
        ({"value": 2, "unit": "g"}, "g", 2),
        ({"value": 2000, "unit": "mg"}, "g", 2),
        ({"value": 2, "unit": "G"}, "g", 2),
        ({"value": 2, "code": "g", "system": UCUM}, "g", 2),
        ({"value": 2, "unit": "grams", "code": "g", "system": UCUM}, "g", 2),
        ({"value": 2, "unit": "g", "code": "mg", "system": UCUM}, "g", None),
        ({"value": 2, "unit": "g", "code": "x", "system": "http://example.org"}, "g", None),
        ({"value": 2, "unit": "g", "code": "mg", "system": f"{UCUM}/"}, "g", None),
        ({"value": 2, "unit": "MG", "code": "MG", "system": UCUM}, "g", None),
        ({"value": 2, "unit": "g{per kg}"}, "g", None),
        ({"value": 2, "unit": "mEq{/kg}"}, "mEq", None),
        ({"value": 2, "unit": "mEq", "code": "mEq"}, "mEq", 2),
        ({"value": 2, "unit": "gramme"}, "g", 2),
        ({"value": 2e6, "unit": "\N{MICRO SIGN}g"}, "g", 2),
        ({"value": 2, "unit": "milli-equivalents"}, "mEq", 2),
        ({"value": 90, "unit": "min"}, "h", 1.5),
        ({"value": 40, "unit": "meq{total}"}, "mEq", 40),
        ({"value": 40, "unit": "mmol"}, "mEq", 40),
        ({"value": True, "unit": "g"}, "g", None),
        ({"value": "2", "unit": "g"}, "g", None),
        ({"value": float("inf"), "unit": "g"}, "g", None),
        ({"value": 2}, "g", None),
        ({"unit": "g"}, "g", None),
        ({"value": 2, "unit": "g", "comparator": ">="}, "g", None),
        ({"value": 2, "unit": 5}, "g", None),
        ("2 g", "g", None),
        (None, "g", None),
    ],
)
def test_an_amount_in_a_unit(quantity: Any, unit: str, size: float | None) -> None:
    assert amount(quantity, unit) == (None if size is None else pytest.approx(size))


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("g/h", 1),
        ("g / hr", 1),
        ("g per hour", 1),
        ("g.h-1", 1),
        ("mg/min", 0.06),
        ("g", None),
        ("g/h/kg", None),
        ("g/4h", 0.25),
        ("g/(4.h)", 0.25),
        ("g/0h", None),
        ("g/1.1.1h", None),
    ],
)
def test_a_rate_by_the_hour(unit: str, size: float | None) -> None:
    assert per_hour({"value": 1, "unit": unit}, "g") == (None if size is None else pytest.approx(size))


def test_a_ratio_by_the_hour() -> None:
    four = {"numerator": {"value": 4, "unit": "g"}, "denominator": {"value": 240, "unit": "min"}}
    assert ratio_per_hour(four, "g") == pytest.approx(1)
    assert ratio_per_hour({**four, "denominator": {"value": 0, "unit": "h"}}, "g") is None
    assert ratio_per_hour("4 g/4 h", "g") is None
    minus = {"numerator": {"value": -4, "unit": "g"}, "denominator": {"value": -4, "unit": "h"}}
    assert ratio_per_hour(minus, "g") is None


def test_results_convert_as_the_literature_says() -> None:
    assert MAGNESIUM.convert(1, "mmol/L") == pytest.approx(2.43, abs=0.01)
    assert GLUCOSE.convert(5.5, "mmol/L") == pytest.approx(99, abs=0.5)
    assert HBA1C.convert(48, "mmol/mol") == pytest.approx(6.5, abs=0.05)
    assert POTASSIUM.convert(4, "mEq/L") == 4
    assert MAGNESIUM.convert(2.1, None) == 2.1
    assert MAGNESIUM.convert(2.1, "furlong") == 2.1
