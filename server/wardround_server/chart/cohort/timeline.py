"""When each patient is seen: hospital stays, whose days are dense with records, and single visits."""

from __future__ import annotations

from dataclasses import dataclass

from .clock import FIRST_DAY, day_of
from .dice import Dice
from .plan import PatientPlan
from .reasons import draw_reasons
from .traits import Traits


@dataclass(frozen=True, slots=True)
class CareDay:
    """A day with records.

    `day` counts from today (0). `stay_day` counts from the admission (0) and `reason` names why the
    patient is there; a visit has neither.
    """

    day: int
    stay_day: int | None = None
    reason: str = ""

    @property
    def inpatient(self) -> bool:
        return self.stay_day is not None


def make_timeline(
    index: int, plan: PatientPlan, traits: Traits, seed: int, *, stay_days: int, visits: int
) -> list[CareDay]:
    """The patient's days of care over five years, oldest first, no day twice.

    `stay_days` are split into stays of 3 to 12 days, the last of which reaches today for a patient who is
    in hospital; stays and visits are laid at random over the days that remain. Days on which the plan has a
    value are always among them.
    """
    dice = Dice(seed, "timeline", index)
    current = dice.between(3, 9) if plan.inpatient else 0
    stays = _split(stay_days - current, dice)
    blocks = dice.shuffled([*stays, *[0] * visits])
    last = -current if plan.inpatient else -2
    free = last - FIRST_DAY + 1 - sum(stays) - visits
    gaps = sorted(dice.between(0, free) for _ in blocks)
    reasons = iter(draw_reasons(len(stays) + 1, traits, Dice(seed, "reasons", index)))
    days: dict[int, CareDay] = {}
    first, passed = FIRST_DAY, 0
    for length, gap in zip(blocks, gaps, strict=True):
        first += gap - passed
        passed = gap
        days.update(_stay(first, length, next(reasons)) if length else {first: CareDay(first)})
        first += max(length, 1)
    if current:
        days.update(_stay(1 - current, current, next(reasons)))
    for case in plan.cases.values():
        for minute, _ in case.values:
            days.setdefault(day_of(minute), CareDay(day_of(minute)))
    return [days[day] for day in sorted(days)]


def _split(days: int, dice: Dice) -> list[int]:
    stays = []
    while days > 0:
        stays.append(min(days, dice.between(3, 12)))
        days -= stays[-1]
    return stays


def _stay(first: int, length: int, reason: str) -> dict[int, CareDay]:
    return {first + day: CareDay(first + day, day, reason) for day in range(length)}
