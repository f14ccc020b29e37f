"""When each patient is seen: hospital stays, whose days are dense with records, and single visits."""

from __future__ import annotations

from dataclasses import dataclass

from .clock import FIRST_DAY, day_of
from .dice import Dice
from .plan import PatientPlan


@dataclass(frozen=True, slots=True)
class CareDay:
    """A day with records. `day` counts from today (0), `stay_day` from the admission (0; None: a visit)."""

    day: int
    stay_day: int | None

    @property
    def inpatient(self) -> bool:
        return self.stay_day is not None


def make_timeline(index: int, plan: PatientPlan, seed: int, stay_days: int, visits: int) -> list[CareDay]:
    """The patient's days of care over five years, oldest first, no day twice.

    `stay_days` are split into stays of 3 to 12 days, the last of which reaches today for a patient who is
    in hospital; stays and visits are laid at random over the days that remain. Days on which the plan has a
    value are always among them.
    """
    dice = Dice(seed, "timeline", index)
    stays: list[int] = []
    current = dice.between(3, 9) if plan.inpatient else 0
    left = stay_days - current
    while left > 0:
        stays.append(min(left, dice.between(3, 12)))
        left -= stays[-1]
    blocks = dice.shuffled([*stays, *[0] * visits])
    last = -current if plan.inpatient else -2
    free = last - FIRST_DAY + 1 - sum(stays) - visits
    gaps = sorted(dice.between(0, free) for _ in blocks)
    days: dict[int, CareDay] = {}
    day, passed = FIRST_DAY, 0
    for length, gap in zip(blocks, gaps, strict=True):
        day += gap - passed
        passed = gap
        for stay_day in range(length):
            days[day + stay_day] = CareDay(day + stay_day, stay_day)
        if length == 0:
            days[day] = CareDay(day, None)
        day += max(length, 1)
    for stay_day in range(current):
        today = stay_day - current + 1
        days[today] = CareDay(today, stay_day)
    for case in plan.cases.values():
        for minute, _ in case.values:
            day = day_of(minute)
            days.setdefault(day, CareDay(day, None))
    return [days[day] for day in sorted(days)]
