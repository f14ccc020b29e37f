"""Long-term illnesses of each person: they shift laboratory values and explain diagnoses and drugs."""

from __future__ import annotations

from typing import Final

from .dice import Dice
from .people import Person
from .plan import PatientPlan

Traits = frozenset[str]

BY_AGE: Final[tuple[tuple[str, float, float], ...]] = (
    # illness, probability at 20 years, at 80 years
    ("hypertension", 0.08, 0.80),
    ("lipids", 0.06, 0.65),
    ("kidney", 0.02, 0.38),
    ("heart_failure", 0.01, 0.30),
    ("afib", 0.005, 0.30),
    ("coronary", 0.01, 0.40),
    ("copd", 0.0, 0.28),
    ("asthma", 0.16, 0.08),
    ("anemia", 0.12, 0.35),
    ("liver", 0.05, 0.10),
    ("thyroid", 0.05, 0.20),
    ("depression", 0.22, 0.20),
    ("anxiety", 0.25, 0.12),
    ("reflux", 0.12, 0.35),
    ("arthrosis", 0.02, 0.55),
    ("obesity", 0.30, 0.28),
    ("back_pain", 0.20, 0.35),
    ("migraine", 0.18, 0.05),
    ("prostate", 0.0, 0.5),
    ("osteoporosis", 0.0, 0.4),
)
ONLY: Final = {"prostate": "male", "osteoporosis": "female"}
DIABETES_A1C: Final = 65


def draw_traits(person: Person, plan: PatientPlan, seed: int) -> Traits:
    """The person's illnesses. Diabetes follows from the planned HbA1c: 6.5 % or more."""
    dice = Dice(seed, "traits", person.index)
    span = (min(max(person.age, 20), 80) - 20) / 60
    share = span * span * (3 - 2 * span)
    traits = set()
    for name, young, old in BY_AGE:
        has = dice.chance(young + (old - young) * share)
        if has and ONLY.get(name, person.gender) == person.gender:
            traits.add(name)
    if _diabetic(plan, dice):
        traits.add("diabetes")
    return frozenset(traits)


def _diabetic(plan: PatientPlan, dice: Dice) -> bool:
    """By the planned HbA1c; without one by the planned glucose; without either by chance."""
    a1c, glucose = plan.cases["A1C"].values, plan.cases["GLU"].values
    if a1c:
        return max(value for _, value in a1c) >= DIABETES_A1C
    if glucose:
        return sum(value for _, value in glucose) >= 160 * len(glucose)
    return dice.chance(0.1)
