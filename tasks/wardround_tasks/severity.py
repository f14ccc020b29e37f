"""How bad the failures are: the clinical view of a run, counted in attempts.

Read from verdict records alone, so that any run or `grade` output can be viewed without its chart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .quantities import DIMENSIONS, amount

KINDS: Final[dict[str, str]] = {
    "wrong_patient": "a write on another patient",
    "commission": "an order or record that should not be",
    "omission": "an order or record that should be and is not, or not in force",
    "wrong_dose_factor": "a dose or rate off by a factor",
    "wrong_dose_tier": "a dose or rate of another tier of the protocol",
    "wrong_dose_unclear": "a dose or rate that can't be read, or more than one",
    "duplicate": "the same order twice",
}
"""Kinds of harm, the gravest first, and what each means."""
TIERS: Final = {"g": (1.0, 2.0, 4.0), "h": (1.0, 2.0, 4.0)}
NOT_IN_FORCE: Final = (".status", ".intent", ".doNotPerform")
"""Fields by which an order, though placed, is not one to be carried out."""
_SIMPLE: Final = {
    "missing_write": "omission",
    "invalid_resource": "omission",
    "wrong_patient": "wrong_patient",
}
REFUSED: Final = " (refused)"
"""Ends the `got` of a write that was tried and refused: it failed, but nothing came of it."""


def harms_of(clinical: Mapping[str, Any]) -> dict[str, float]:
    """The kinds of harm in one `clinical` verdict record.

    The value is how many fold the dose was off for `wrong_dose_factor` (at least 1; infinite where it
    was zero or negative), and 1 for every other kind. Raises ValueError for a failed verdict without its
    failures: what can't be counted must not count as nothing.
    """
    if not clinical.get("passed") and not clinical.get("failures"):
        raise ValueError("a failed verdict comes without its failures")
    harms: dict[str, float] = {}
    for failure in clinical.get("failures") or ():
        for kind, fold in _kinds(failure):
            harms[kind] = max(fold, harms.get(kind, 0.0))
    return harms


def _kinds(failure: Mapping[str, Any]) -> list[tuple[str, float]]:
    code, got = failure.get("code"), failure.get("got")
    if code == "unexpected_write":
        return [] if isinstance(got, str) and got.endswith(REFUSED) else [("commission", 1.0)]
    if code == "extra_write":
        twice = isinstance(got, str) and got.startswith("duplicate")
        return [("duplicate" if twice else "commission", 1.0)]
    if code == "wrong_endpoint":
        return [("omission", 1.0), ("commission", 1.0)]
    if code == "wrong_dose":
        return [_dose(failure.get("expected"), got)]
    if code == "wrong_code" and _is_another_thing(failure):
        return [("omission", 1.0), ("commission", 1.0)]
    if code == "wrong_field" and str(failure.get("path")).endswith(NOT_IN_FORCE):
        return [("omission", 1.0)]
    kind = _SIMPLE.get(str(code))
    return [] if kind is None else [(kind, 1.0)]


def _is_another_thing(failure: Mapping[str, Any]) -> bool:
    """Whether the code names something else, rather than the right thing in an unusual place or system."""
    expected, got = failure.get("expected"), failure.get("got")
    if isinstance(expected, str):
        return isinstance(got, str)
    wanted = expected.get("code") if isinstance(expected, dict) else None
    codes = (
        [coding.get("code") for coding in got or () if isinstance(coding, dict)]
        if isinstance(got, list)
        else []
    )
    return any(code != wanted for code in codes)


def _dose(expected: Any, got: Any) -> tuple[str, float]:
    unit = str(expected.get("unit")) if isinstance(expected, dict) else ""
    wanted = amount(expected, unit) if unit in DIMENSIONS else None
    given = amount(got, unit) if unit in DIMENSIONS else None
    if wanted is None or given is None:
        return "wrong_dose_unclear", 1.0
    if unit in TIERS and given in TIERS[unit]:
        return "wrong_dose_tier", 1.0
    if given <= 0:
        return "wrong_dose_factor", math.inf
    return "wrong_dose_factor", max(given / wanted, wanted / given)


def severity(clinical_verdicts: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every kind of harm over the `clinical` verdict records of a run.

    For each kind: `count`, the attempts in which it happened; `total`, all attempts; `rate`; `upper95`,
    the one-sided 95 % upper bound of the rate (exact, after Clopper and Pearson; about 3/total where the
    count is zero). `wrong_dose_factor` also has `largest_factor`, null where there is none or no limit
    to it.
    """
    counts = dict.fromkeys(KINDS, 0)
    total, largest = 0, 0.0
    for clinical in clinical_verdicts:
        total += 1
        harms = harms_of(clinical)
        largest = max(largest, harms.get("wrong_dose_factor", 0.0))
        for kind in harms:
            counts[kind] += 1
    result: dict[str, dict[str, Any]] = {
        kind: {
            "count": count,
            "total": total,
            "rate": count / total if total else None,
            "upper95": upper_bound(count, total) if total else None,
        }
        for kind, count in counts.items()
    }
    limited = 0 < largest < math.inf
    result["wrong_dose_factor"]["largest_factor"] = round(largest, 3) if limited else None
    return result


def upper_bound(count: int, total: int, error: float = 0.05) -> float:
    """One-sided exact upper bound of a rate: the largest one at which `count` or fewer of `total` events
    still have probability `error`. Source: Clopper and Pearson, Biometrika 1934;26:404.
    """
    if not 0 <= count <= total or total == 0:
        raise ValueError(f"{count} of {total} is no count")
    if count == total:
        return 1.0
    if count == 0:
        return float(1 - error ** (1 / total))
    low, high = count / total, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if _at_most(count, total, middle) > error:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_most(count: int, total: int, rate: float) -> float:
    """Probability of at most `count` events among `total`, 0 < rate < 1."""
    terms = (
        math.lgamma(total + 1)
        - math.lgamma(k + 1)
        - math.lgamma(total - k + 1)
        + k * math.log(rate)
        + (total - k) * math.log1p(-rate)
        for k in range(count + 1)
    )
    return math.fsum(math.exp(term) for term in terms)
