"""Vital signs: six flowsheet rows, in sets, as Observations.

Blood pressure is written as the nine functions write it (`valueString` "118/77 mmHg", flowsheet code BP),
with the two pressures as components beside it; the other five are quantities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .clock import at, stamp
from .dice import Dice
from .people import Person
from .quota import fill
from .timeline import CareDay
from .traits import Traits
from .wire import FLOWSHEET_SYSTEM, LOINC, TERMINOLOGY, coding, concept, decimal, head, to_json

VITALS: Final = (
    # flowsheet code, name, LOINC, LOINC's name, UCUM unit, decimals
    ("BP", "Blood pressure", "85354-9", "Blood pressure panel with all children optional", "mm[Hg]", 0),
    ("HR", "Heart rate", "8867-4", "Heart rate", "/min", 0),
    ("RR", "Respiratory rate", "9279-1", "Respiratory rate", "/min", 0),
    ("TEMP", "Body temperature", "8310-5", "Body temperature", "Cel", 1),
    ("SPO2", "Oxygen saturation", "59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry", "%", 0),
    ("WT", "Body weight", "29463-7", "Body weight", "kg", 1),
)
LIMITS: Final = {"HR": (38, 168), "RR": (8, 36), "TEMP": (345, 405), "SPO2": (82, 100), "WT": (380, 1650)}
SYSTOLIC: Final = (78, 214)
DIASTOLIC: Final = (40, 124)
CODES: Final = tuple(row[0] for row in VITALS)
DECIMALS: Final = {row[0]: row[5] for row in VITALS}

Slot = tuple[int, int]
"""A reading to be: (minute counted from now, place of its row in `VITALS`)."""

STAY_WEIGHT, VISIT_WEIGHT = 22, 6
_WEIGHT_PLACE: Final = CODES.index("WT")
_NEWEST: Final = -2


class VitalValues:
    """Readings of one person over time; ask in order of time."""

    def __init__(self, person: Person, traits: Traits, dice: Dice) -> None:
        self._dice = dice
        pressure = 114 + person.age * 0.12 + 7 * dice.bell()
        self._systolic = pressure + (16 if "hypertension" in traits else 0)
        self._usual: dict[str, float] = {
            "HR": 74 + 6 * dice.bell() + (8 if "afib" in traits else 0),
            "RR": 15 + (3 if traits & {"copd", "heart_failure"} else 0),
            "TEMP": 367.0,
            "SPO2": 97.6 - (4.5 if "copd" in traits else 0),
            "WT": 700
            + (120 if person.gender == "male" else 0)
            + 90 * dice.bell()
            + (230 if "obesity" in traits else 0),
        }
        self._fever = 0.0

    def begin_day(self, day: CareDay) -> None:
        """A new day: an acute illness on admission, which fades."""
        if day.stay_day == 0:
            self._fever = 1.2 * self._dice.random()
        elif day.stay_day is None:
            self._fever = 0.0
        else:
            self._fever *= 0.75
        self._usual["WT"] += 3 * self._dice.bell()

    def read(self, code: str) -> tuple[int, int]:
        """A reading in units of the last decimal; for BP systolic and diastolic, else (value, 0)."""
        bell = self._dice.bell()
        if code == "BP":
            systolic = _within(self._systolic + 9 * bell - 8 * self._fever, SYSTOLIC)
            return systolic, min(_within(0.58 * systolic + 5 * self._dice.bell(), DIASTOLIC), systolic - 18)
        noise, fever = {"HR": (6, 18), "RR": (1.3, 4), "TEMP": (2.2, 14), "SPO2": (1.0, -3), "WT": (2, 0)}[
            code
        ]
        return _within(self._usual[code] + noise * bell + fever * self._fever, LIMITS[code]), 0


def _within(value: float, limits: tuple[int, int]) -> int:
    return min(max(int(value + 0.5), limits[0]), limits[1])


class VitalWriter:
    """Writes one person's vital signs as JSON text."""

    def __init__(self, person: Person, id_prefix: str, dice: Dice) -> None:
        self._dice = dice
        self._start = head("Observation", id_prefix)
        self._pieces = {row[0]: _pieces(row, person) for row in VITALS}

    def write(self, serial: int, minute: int, code: str, reading: tuple[int, int]) -> str:
        """One Observation; it is filed up to ten minutes after it was taken."""
        middle, tail = self._pieces[code]
        issued = stamp(min(minute + 1 + self._dice.below(10), 0))
        value, second = reading
        shown = (value, second, value, second) if code == "BP" else (decimal(value, DECIMALS[code]),)
        end = tail % shown
        return "".join(
            (self._start, f"{serial:05d}", '","meta":{"versionId":"1","lastUpdated":"', issued, middle,
             stamp(minute), '","issued":"', issued, end)
        )  # fmt: skip


_CATEGORY: Final = to_json(
    [
        {
            "coding": [coding(TERMINOLOGY + "observation-category", "vital-signs", "Vital Signs")],
            "text": "Vital Signs",
        }
    ]
)


def _measure(unit: str) -> str:
    shown = {"mm[Hg]": "mmHg", "Cel": "degrees C", "/min": "/min"}.get(unit, unit)
    return to_json({"unit": shown, "system": "http://unitsofmeasure.org", "code": unit})[1:]


def _pieces(row: tuple[str, str, str, str, str, int], person: Person) -> tuple[str, str]:
    """What stands between the times, and the end with a place for each value (old-style format)."""
    code, name, loinc, loinc_name, unit, _ = row
    kind = concept(coding(FLOWSHEET_SYSTEM, code, name), coding(LOINC, loinc, loinc_name), text=code)
    middle = (
        f'"}},"status":"final","category":{_CATEGORY},"code":{to_json(kind)},'
        f'"subject":{{"reference":"Patient/{person.mrn}"}},"effectiveDateTime":"'
    )
    measure = _measure(unit).replace("%", "%%")
    if code != "BP":
        return middle, f'","valueQuantity":{{"value":%s,{measure}}}'
    parts = [
        f'{{"code":{to_json(concept(coding(LOINC, part_loinc, part_name), text=text))},'
        f'"valueQuantity":{{"value":%d,{measure}}}'
        for part_loinc, part_name, text in (
            ("8480-6", "Systolic blood pressure", "Systolic"),
            ("8462-4", "Diastolic blood pressure", "Diastolic"),
        )
    ]
    return middle, f'","valueString":"%d/%d mmHg","component":[{",".join(parts)}]}}'


def sets_of(day: CareDay, dice: Dice) -> list[Slot]:
    """The readings that a day offers: every four hours in hospital, once at a visit."""
    if not day.inpatient:
        minute = at(day.day, dice.between(470, 890))
        return [(minute, place) for place in range(len(VITALS))]
    slots = []
    for hour in range(0, 24, 4):
        minute = at(day.day, hour * 60 + 5 + dice.below(50))
        slots += [(minute, place) for place in range(len(VITALS)) if place != _WEIGHT_PLACE or hour == 4]
    return slots


def vital_slots(days: Sequence[CareDay], total: int, taken: set[Slot], dice: Dice) -> list[Slot]:
    """Exactly `total` readings over the patient's days, in order of time, none of which is `taken`."""
    newest_first = list(reversed(days))
    offers = [
        [slot for slot in sets_of(day, dice) if slot[0] <= _NEWEST and slot not in taken]
        for day in newest_first
    ]
    weights = [STAY_WEIGHT if day.inpatient else VISIT_WEIGHT for day in newest_first]
    return sorted(fill(total, offers, weights))


def read_all(
    slots: Sequence[Slot], days: Sequence[CareDay], values: VitalValues
) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """Give each slot, in order of time, its reading. Yields (minute, code, reading)."""
    upcoming = iter(days)
    day = next(upcoming, None)
    for minute, place in slots:
        while day is not None and at(day.day, 0) <= minute:
            values.begin_day(day)
            day = next(upcoming, None)
        code = CODES[place]
        yield minute, code, values.read(code)
