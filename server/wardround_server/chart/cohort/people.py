"""The 100 invented people: who they are, and their Patient resources.

Their ages in whole years on the day of the tasks have mean 58.15 and sample standard deviation 19.82, and
47 of them are female: the figures that MedAgentBench reports for its 100 patients.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from .clock import TODAY, at, stamp
from .dice import Dice
from .names import FAMILY, GIVEN, STREET_KINDS, STREETS, TOWNS
from .quota import PATIENTS
from .wire import MRN_SYSTEM, SYNTHETIC_SYSTEM, TERMINOLOGY, coding, to_json

Gender = Literal["female", "male"]
Name = tuple[tuple[str, ...], str, Gender]
"""Given names, family name, gender."""

FEMALE: Final = 47
AGE_SUM: Final = 5815
AGE_SQUARES: Final = (38_871, 38_909)
"""Bounds of the sum of squared deviations: 99 x 19.815^2 to 99 x 19.825^2."""

MIN_AGE, MAX_AGE = 18, 100
LEAP_AGE: Final = 63
"""Age of the patient born on a 29 February (1960)."""
TWIN_AGE: Final = 71
"""Age of the two patients with one birth date."""
PINNED_AGES: Final = (MIN_AGE, MAX_AGE, LEAP_AGE, TWIN_AGE, TWIN_AGE)


@dataclass(frozen=True, slots=True)
class Person:
    """One invented patient. `index` is the place in the cohort, 0 to 99."""

    index: int
    mrn: str
    given: tuple[str, ...]
    family: str
    gender: Gender
    birth_date: date
    street: str
    town: tuple[str, str, str, str]
    postal_suffix: int
    line_number: int

    @property
    def age(self) -> int:
        """Age in whole years on the day of the tasks."""
        return age_on(self.birth_date, TODAY)

    def resource(self) -> str:
        """The Patient resource as JSON text."""
        return to_json(_patient_resource(self))


def age_on(birth_date: date, day: date) -> int:
    """Age in completed years."""
    return day.year - birth_date.year - ((day.month, day.day) < (birth_date.month, birth_date.day))


def make_people(seed: int) -> list[Person]:
    """The cohort's people, in the order of their index."""
    dice = Dice(seed, "people")
    ages = _draw_ages(Dice(seed, "ages"))
    birth_dates = _birth_dates(ages, Dice(seed, "birthdays"))
    names = _draw_names(Dice(seed, "names"))
    order = dice.shuffled(range(PATIENTS))
    mrns = _draw_mrns(dice)
    area_lines = dice.shuffled(range(100, 200))
    return [
        Person(
            index=index,
            mrn=mrns[index],
            given=names[role][0],
            family=names[role][1],
            gender=names[role][2],
            birth_date=birth_dates[role],
            street=f"{dice.between(10, 4999)} {dice.pick(STREETS)} {dice.pick(STREET_KINDS)}",
            town=dice.pick(TOWNS),
            postal_suffix=dice.below(100),
            line_number=area_lines[index],
        )
        for index, role in enumerate(order)
    ]


def _draw_mrns(dice: Dice) -> list[str]:
    numbers: dict[int, None] = {}
    while len(numbers) < PATIENTS:
        numbers[dice.between(1_000_000, 9_999_999)] = None
    return [f"S{number}" for number in numbers]


def _draw_ages(dice: Dice) -> list[int]:
    """100 ages with the exact sum and spread; those of `PINNED_AGES` come first.

    Starts from a broad bell, mends the sum one year at a time, then moves pairs of ages apart or
    together by a year each, which leaves the sum and changes the spread, until it fits.
    """
    free = [_clamp(round(58 + 20 * dice.bell())) for _ in range(PATIENTS - len(PINNED_AGES))]
    while (gap := AGE_SUM - sum(PINNED_AGES) - sum(free)) != 0:
        i = dice.below(len(free))
        free[i] = _clamp(free[i] + (1 if gap > 0 else -1))
    low, high = AGE_SQUARES
    while not low <= (squares := _squares([*PINNED_AGES, *free])) <= high:
        i, j = dice.below(len(free)), dice.below(len(free))
        if i == j:
            continue
        small, large = sorted((free[i], free[j]))
        step = 1 if squares < low else -1
        if squares > high and large - small < 2:
            continue
        if small - step >= MIN_AGE and large + step <= MAX_AGE:
            free[i], free[j] = small - step, large + step
    return [*PINNED_AGES, *free]


def _clamp(age: int) -> int:
    return min(max(age, MIN_AGE), MAX_AGE)


def _squares(ages: list[int]) -> float:
    """Sum of squared deviations from the mean, exact up to one division."""
    return sum(age * age for age in ages) - sum(ages) ** 2 / len(ages)


def _birth_dates(ages: list[int], dice: Dice) -> list[date]:
    """Birth dates by role: the first few are the corner cases, the others anything.

    Roles 2 (29 February), 3 and 4 (one birth date), then yesterday, today and tomorrow.
    """
    dates: list[date] = []
    for role, age in enumerate(ages):
        day_of_year = dice.between(1, 365)
        month_day = date.fromordinal(date(2023, 1, 1).toordinal() + day_of_year - 1)
        month, day = month_day.month, month_day.day
        if role == 2:
            month, day = 2, 29
        elif role == 4:
            dates.append(dates[3])
            continue
        elif 5 <= role <= 7:
            month, day = 11, 12 + role - 5
        year = TODAY.year - age - ((month, day) > (TODAY.month, TODAY.day))
        dates.append(date(year, month, day))
    return dates


def _draw_names(dice: Dice) -> list[Name]:
    """Names by role. Roles 8 and 10, and 9 and 11, share a full name; 12 to 15 have marks in theirs."""
    families = dice.shuffled(FAMILY)
    pools = {gender: dice.shuffled(GIVEN[gender]) for gender in ("female", "male")}
    marked: list[Name] = [
        (("Zoë",), "Núñez", "female"),
        (("Siobhán", "Marie"), "O'Hanrahan", "female"),
        (("Jean-Luc",), "Adeyemi-Clarke", "male"),
        (("Sören",), "D'Ambrosio", "male"),
    ]
    shared: list[Name] = [
        ((pools["female"][-1],), families[-1], "female"),
        ((pools["male"][-1],), families[-2], "male"),
    ]
    special = [*shared, *shared, *marked]
    women = FEMALE - sum(name[2] == "female" for name in special)
    genders: list[Gender] = ["female"] * women
    genders += ["male"] * (PATIENTS - len(special) - women)
    plain: list[Name] = []
    for serial, gender in enumerate(dice.shuffled(genders)):
        pool = pools[gender]
        given: tuple[str, ...] = (pool[serial % len(pool)],)
        if dice.chance(0.3):
            given += (dice.pick([name for name in pool if name != given[0]]),)
        plain.append((given, families[serial], gender))
    return [*plain[:8], *special, *plain[8:]]


def _folded(text: str) -> str:
    """Letters a to z of a name, for an e-mail address."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(letter for letter in plain.lower() if letter.isalpha())


def _patient_resource(person: Person) -> dict[str, Any]:
    town, state, postal_prefix, area = person.town
    return {
        "resourceType": "Patient",
        "id": person.mrn,
        "meta": {
            "versionId": "1",
            "lastUpdated": stamp(at(-1, 180 + person.index)),
            "security": [coding(TERMINOLOGY + "v3-ActReason", "HTEST", "test health data")],
            "tag": [coding(SYNTHETIC_SYSTEM, "synthetic", "Synthetic person, no real patient")],
        },
        "identifier": [
            {
                "use": "usual",
                "type": {
                    "coding": [coding(TERMINOLOGY + "v2-0203", "MR", "Medical record number")],
                    "text": "MRN",
                },
                "system": MRN_SYSTEM,
                "value": person.mrn,
            }
        ],
        "active": True,
        "name": [
            {
                "use": "official",
                "text": " ".join((*person.given, person.family)),
                "family": person.family,
                "given": list(person.given),
            }
        ],
        "telecom": [
            {"system": "phone", "value": f"{area}-555-0{person.line_number}", "use": "home"},
            {
                "system": "email",
                "value": f"{_folded(person.given[0])}.{_folded(person.family)}{person.index}@mail.example",
            },
        ],
        "gender": person.gender,
        "birthDate": person.birth_date.isoformat(),
        "address": [
            {
                "use": "home",
                "line": [person.street],
                "city": town,
                "state": state,
                "postalCode": f"{postal_prefix}{person.postal_suffix:02d}",
                "country": "US",
            }
        ],
    }
