"""The few UCUM units that the protocols' doses and results use, and what equals what.

Sources: UCUM (https://ucum.org/ucum) for the codes; for potassium, a univalent ion, 1 mmol is 1 mEq;
molar masses for results: magnesium 24.305 g/mol, glucose 180.156 g/mol; HbA1c by the IFCC master
equation NGSP % = 0.09148 * (mmol/mol) + 2.152.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_GRAM: Final = {
    "kg": 1000.0,
    "g": 1.0,
    "gm": 1.0,
    "gram": 1.0,
    "grams": 1.0,
    "mg": 1e-3,
    "milligram": 1e-3,
    "milligrams": 1e-3,
    "gramme": 1.0,
    "grammes": 1.0,
    "ug": 1e-6,
    "mcg": 1e-6,
    "microgram": 1e-6,
    "micrograms": 1e-6,
}
_EQUIVALENT: Final = {
    "eq": 1000.0,
    "meq": 1.0,
    "milliequivalent": 1.0,
    "milliequivalents": 1.0,
    "milli-equivalent": 1.0,
    "milli-equivalents": 1.0,
    "mmol": 1.0,
}
_HOUR: Final = {
    "h": 1.0,
    "hr": 1.0,
    "hrs": 1.0,
    "hour": 1.0,
    "hours": 1.0,
    "min": 1 / 60,
    "minute": 1 / 60,
    "minutes": 1 / 60,
    "s": 1 / 3600,
    "sec": 1 / 3600,
    "d": 24.0,
}
DIMENSIONS: Final = {"g": _GRAM, "mEq": _EQUIVALENT, "h": _HOUR}
"""By the unit that a protocol doses in: every spelling that measures the same, and its size in it."""
_PER: Final = re.compile(r"\s*(?:/|\bper\b|\.(?=[a-z]+-1\Z))\s*")
_SPAN: Final = re.compile(
    r"(?P<bare>[a-z]+)(?:-1)?|(?P<count>[0-9.]+) ?(?P<unit>[a-z]+)|\((?P<number>[0-9]+)\.(?P<base>[a-z]+)\)"
)
"""What a rate is per: h, 4h, 4 h, UCUM's (4.h)."""
_ANNOTATION: Final = re.compile(r"\{(?:total|dose|k|k\+|potassium|magnesium)\}")
"""The annotations that say what is measured; any other, `{per kg}` among them, may make another amount."""


def amount(quantity: object, unit: str) -> float | None:
    """A FHIR Quantity's size in a unit ("g", "mEq", "h"), None where it is not one.

    The unit may stand in `unit`, in `code` or in both, which then must agree, whatever the `system`.
    A code is case-sensitive, as UCUM is (MG is a megagram); a comparator (less than, at least) is no
    amount.
    """
    return _size(quantity, lambda text, is_code: _factor(text, unit, is_code))


def per_hour(quantity: object, unit: str) -> float | None:
    """A rate's size in `unit` an hour: a Quantity in g/h, mg/min, g/4h and the like; else None."""
    return _size(quantity, lambda text, is_code: _rate_factor(text, unit, is_code))


def _size(quantity: object, read: Callable[[str, bool], float | None]) -> float | None:
    if not isinstance(quantity, dict) or quantity.get("comparator") is not None:
        return None
    value = quantity.get("value")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    factors = [read(quantity[key], key == "code") for key in ("unit", "code") if _is_text(quantity, key)]
    if not factors or None in factors or len({round(factor or 0.0, 12) for factor in factors}) != 1:
        return None
    return _times(value, factors[0])


def _rate_factor(text: str, unit: str, is_code: bool) -> float | None:
    if is_code and not _is_cased_as_ucum(text):
        return None
    parts = _PER.split(_plain(text))
    span = _SPAN.fullmatch(parts[1]) if len(parts) == 2 else None
    if span is None:
        return None
    upper = _factor(parts[0], unit, False)
    lower = _factor(span["bare"] or span["unit"] or span["base"], "h", False)
    try:
        count = float(span["count"] or span["number"] or 1)
    except ValueError:
        return None
    return None if upper is None or lower is None or count <= 0 else upper / (lower * count)


def ratio_per_hour(ratio: object, unit: str) -> float | None:
    """A Ratio's size in `unit` an hour: so many g in so many h; None where it is not one."""
    if not isinstance(ratio, dict):
        return None
    upper, lower = amount(ratio.get("numerator"), unit), amount(ratio.get("denominator"), "h")
    if upper is None or lower is None or upper <= 0 or lower <= 0:
        return None
    return upper / lower


def _is_text(quantity: dict[str, Any], key: str) -> bool:
    return isinstance(quantity.get(key), str)


def _plain(text: str) -> str:
    lowered = (
        text[:80].strip().lower().replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")
    )
    return _ANNOTATION.sub("", lowered).strip()


def _is_cased_as_ucum(code: str) -> bool:
    """Every unit here is written small in UCUM; mEq is no UCUM code, but can be nothing else."""
    told = _ANNOTATION.sub("", code.replace("mEq", "meq"))
    return told == told.lower()


def _factor(text: str, unit: str, is_code: bool) -> float | None:
    if is_code and not _is_cased_as_ucum(text):
        return None
    return DIMENSIONS[unit].get(_plain(text))


def _times(value: int | float, factor: float | None) -> float | None:
    if factor is None:
        return None
    try:
        size = float(value) * factor
    except OverflowError:
        return None
    return size if math.isfinite(size) else None


@dataclass(frozen=True, slots=True)
class Analyte:
    """A measured substance: the unit that the protocol speaks in, and others by their conversion.

    `spellings` are units equal to `unit`; `others` map a unit to (factor, offset).
    """

    unit: str
    spellings: frozenset[str]
    others: tuple[tuple[str, float, float], ...] = ()

    def convert(self, value: int | float, unit: str | None) -> int | float:
        """A stored value in the protocol's unit; one in an unknown or no unit is taken as it is."""
        if unit is None or squeeze(unit) in self.spellings:
            return value
        for name, factor, offset in self.others:
            if squeeze(unit) == name:
                return float(value) * factor + offset
        return value

    def is_unit(self, text: str) -> bool:
        """Whether a text is the protocol's unit in some spelling."""
        return squeeze(text) in self.spellings


def squeeze(unit: str) -> str:
    """A unit without blanks and case, for comparing."""
    return "".join(unit.split()).lower()


MAGNESIUM: Final = Analyte(
    "mg/dL", frozenset({"mg/dl"}), (("mmol/l", 2.4305, 0.0), ("meq/l", 1.21525, 0.0), ("mg/l", 0.1, 0.0))
)
GLUCOSE: Final = Analyte("mg/dL", frozenset({"mg/dl"}), (("mmol/l", 18.0156, 0.0), ("g/l", 100.0, 0.0)))
POTASSIUM: Final = Analyte("mmol/L", frozenset({"mmol/l", "meq/l"}))
HBA1C: Final = Analyte(
    "%", frozenset({"%", "percent", "%ngsp", "%{hb}", "%hb"}), (("mmol/mol", 0.09148, 2.152),)
)
