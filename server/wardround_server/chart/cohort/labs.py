"""Laboratory results: when they are drawn, what their values are, and the Observations they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .clock import DAY, at, day_of, stamp
from .dice import Dice
from .lab_codes import BASIC, BLOOD_COUNT, BY_CODE, DRIFTS, LABS, LIPIDS, LIVER, SHIFTS, USUAL, LabCode
from .people import Person
from .plan import QUESTIONED, PatientPlan
from .quota import fill
from .reasons import BY_NAME
from .timeline import CareDay
from .traits import Traits
from .wire import LAB_SYSTEM, LOINC, TERMINOLOGY, coding, concept, decimal, head, quantity, to_json

Slot = tuple[int, int]
"""A result to be: (minute counted from now, place of its test in `LABS`).

Within a draw the order is the catalogue's, where a test stands behind those that it is computed from.
"""

PLACE: Final = {lab.code: place for place, lab in enumerate(LABS)}

Draw = tuple[int, str]
"""A result that might be: (minute counted from now, code)."""

STAY_WEIGHT, VISIT_WEIGHT = 28, 14
FLAGS: Final = {
    "LL": "Critical low", "L": "Low", "N": "Normal", "H": "High", "HH": "Critical high",
}  # fmt: skip
_GAP_DAYS: Final = {"A1C": 75, "LDL": 150, "TSH": 150}
"""Days that pass at least between two of a test at visits."""
_NEWEST: Final = -2
"""No result is younger than two minutes, so that each has been issued by now."""


class LabValues:
    """Values of one person's tests over time: a usual value, a slow drift, acute illness, and noise.

    Ask in order of time: each value leans on the one before.
    """

    def __init__(self, person: Person, traits: Traits, plan: PatientPlan, dice: Dice) -> None:
        self._dice = dice
        self._usual: dict[str, float] = {}
        self._drift: dict[str, float] = {}
        self._carried: dict[str, float] = dict.fromkeys(BY_CODE, 0.0)
        self._acute: dict[str, float] = dict.fromkeys(BY_CODE, 0.0)
        for lab in LABS:
            low, high = lab.range_for(person.gender)
            usual = USUAL.get(lab.code, (low + high) / 2) + dice.bell() * lab.noise
            severity = 0.6 + 0.8 * dice.random()
            usual += severity * sum(SHIFTS.get(trait, {}).get(lab.code, 0.0) for trait in sorted(traits))
            self._usual[lab.code] = usual
            self._drift[lab.code] = 0.3 * dice.bell() * lab.noise + severity * sum(
                DRIFTS.get(trait, {}).get(lab.code, 0.0) for trait in sorted(traits)
            )
        # Where the plan has the series end, the years before lead there.
        for code in ("A1C", "GLU"):
            values = plan.cases[code].values
            if values:
                self._usual[code] = 0.8 * values[-1][1] + 0.2 * self._usual[code]

    def begin_day(self, day: CareDay | None) -> None:
        """A day of care: an admission brings an acute illness, a visit finds it over."""
        if day is None or day.stay_day:
            return
        self._acute = dict.fromkeys(BY_CODE, 0.0)
        if day.inpatient:
            severity = 0.4 + 1.1 * self._dice.random()
            for code, shift in BY_NAME[day.reason].labs.items():
                self._acute[code] = shift * severity * (0.6 + 0.8 * self._dice.random())

    def value(self, lab: LabCode, minute: int, drawn: dict[str, int]) -> int:
        """The next value of a test; `drawn` holds those of the same draw, on which some depend."""
        code = lab.code
        noise = self._dice.bell() * lab.noise
        if code == "CL" and "CO2" in drawn and "NA" in drawn:
            # Electrolytes balance to an anion gap of 11, which is wider where bicarbonate is used up.
            exact = drawn["NA"] - drawn["CO2"] - 11 - (24 - drawn["CO2"]) / 2 + noise
        elif code == "HCT" and "HGB" in drawn:
            exact = 30 * drawn["HGB"] / 10 + noise
        elif code == "CHOL" and len(drawn.keys() & {"LDL", "HDL", "TRIG"}) == 3:
            exact = drawn["LDL"] + drawn["HDL"] + drawn["TRIG"] / 5
        else:
            carried = self._carried[code] = 0.6 * self._carried[code] + 0.8 * noise
            exact = self._usual[code] + self._drift[code] * minute / (365 * DAY) + carried
            acute = self._acute[code]
            if acute:
                exact += acute
                self._acute[code] = 0.85 * acute
        low, high = lab.limits
        return min(max(int(exact + 0.5), low), high)


class LabWriter:
    """Writes one person's laboratory Observations as JSON text."""

    def __init__(self, person: Person, id_prefix: str, dice: Dice) -> None:
        self._dice = dice
        self._pieces = {lab.code: _pieces(lab, person, id_prefix) for lab in LABS}
        self._ranges = {lab.code: (*lab.range_for(person.gender), *lab.critical) for lab in LABS}

    def write(self, serial: int, minute: int, code: str, value: int) -> str:
        """One Observation: issued after it was taken, flagged against its reference range."""
        start, middle, issued_at, unit, tails = self._pieces[code]
        low, high, critical_low, critical_high = self._ranges[code]
        if value < low:
            flag = "L" if value > critical_low else "LL"
        elif value > high:
            flag = "H" if value < critical_high else "HH"
        else:
            flag = "N"
        wait = 1 + self._dice.below(4) if code == "GLU" else 22 + self._dice.below(70)
        issued = stamp(min(minute + wait, 0))
        return "".join(
            (start, f"{serial:05d}", '","meta":{"versionId":"1","lastUpdated":"', issued, middle,
             stamp(minute), issued_at, issued, unit, decimal(value, BY_CODE[code].decimals), tails[flag])
        )  # fmt: skip


_CATEGORY: Final = to_json(
    [
        {
            "coding": [coding(TERMINOLOGY + "observation-category", "laboratory", "Laboratory")],
            "text": "Laboratory",
        }
    ]
)


def _pieces(lab: LabCode, person: Person, id_prefix: str) -> tuple[str, str, str, str, dict[str, str]]:
    code = concept(
        coding(LAB_SYSTEM, lab.code, lab.name), coding(LOINC, lab.loinc, lab.loinc_name), text=lab.code
    )
    middle = (
        f'"}},"status":"final","category":{_CATEGORY},"code":{to_json(code)},'
        f'"subject":{{"reference":"Patient/{person.mrn}"}},"effectiveDateTime":"'
    )
    low, high = lab.range_for(person.gender)
    measure = to_json({"unit": lab.unit, "system": "http://unitsofmeasure.org", "code": lab.unit})[1:]
    text = f"{decimal(low, lab.decimals)}-{decimal(high, lab.decimals)} {lab.unit}"
    reference = to_json(
        [
            {
                "low": quantity(low, lab.decimals, lab.unit),
                "high": quantity(high, lab.decimals, lab.unit),
                "text": text,
            }
        ]
    )
    tails = {
        flag: f",{measure},"
        + f'"interpretation":{to_json([_interpretation(flag)])},"referenceRange":{reference}}}'
        for flag in FLAGS
    }
    start = head("Observation", id_prefix)
    return start, middle, '","issued":"', '","valueQuantity":{"value":', tails


def _interpretation(flag: str) -> dict[str, object]:
    return {"coding": [coding(TERMINOLOGY + "v3-ObservationInterpretation", flag, FLAGS[flag])]}


def frontier(plan: PatientPlan, code: str) -> int | None:
    """The minute before which results of this code may be added; None: never, 1: any time up to now."""
    if code not in QUESTIONED:
        return 1
    case = plan.cases[code]
    return case.frontier if case.values else None


def planned_slots(plan: PatientPlan) -> list[tuple[int, str, int]]:
    """The plan's own results: (minute, code, value)."""
    return [(minute, code, value) for code in QUESTIONED for minute, value in plan.cases[code].values]


def lab_slots(
    days: Sequence[CareDay], total: int, plan: PatientPlan, traits: Traits, taken: set[Slot], dice: Dice
) -> list[Slot]:
    """Exactly `total` results to be over the patient's days, in order of time.

    None is at an instant and of a code that is `taken`, or that the plan rules out. The newest days are
    filled first, so that what today's few hours can't hold goes to the days before.
    """
    newest_first = list(reversed(days))
    limits = {lab.code: frontier(plan, lab.code) for lab in LABS}
    last_done: dict[str, int] = {}
    offers = []
    for day in newest_first:
        wanted = _stay_draws(day, traits, dice) if day.inpatient else _visit_draws(day, last_done, dice)
        offers.append(_possible(wanted, limits, taken))
    weights = [STAY_WEIGHT if day.inpatient else VISIT_WEIGHT for day in newest_first]
    return sorted(fill(total, offers, weights))


def _possible(wanted: list[Draw], limits: dict[str, int | None], taken: set[Slot]) -> list[Slot]:
    offer = []
    for minute, code in wanted:
        slot = (minute, PLACE[code])
        limit = limits[code]
        if limit is not None and minute < limit and minute <= _NEWEST and slot not in taken:
            taken.add(slot)
            offer.append(slot)
    return offer


def _stay_draws(day: CareDay, traits: Traits, dice: Dice) -> list[Draw]:
    """What is drawn on a day in hospital, the most usual first."""
    first = day.stay_day == 0
    morning = at(day.day, dice.between(270, 390))
    draws = [(morning, code) for code in (*BASIC, "MG", "PHOS", *BLOOD_COUNT)]
    meals = (430, 700, 1015, 1275) if "diabetes" in traits else (430, 1015)
    draws += [(at(day.day, meal + dice.below(35)), "GLU") for meal in meals]
    if first or day.day % 3 == 0:
        draws += [(morning, code) for code in LIVER]
    if first:
        draws += [(morning, code) for code in ("LACT", "CRP", "TSH", "A1C")]
    if first or "afib" in traits:
        draws.append((morning, "INR"))
    evening = at(day.day, dice.between(990, 1130))
    draws += [(evening, code) for code in (*BASIC, "MG", "HGB", "HCT")]
    noon = at(day.day, dice.between(650, 760))
    draws += [(noon, code) for code in ("K", "MG", "CREAT", "BUN", "LACT", "CRP", "INR")]
    night = at(day.day, dice.between(1290, 1400))
    draws += [(night, code) for code in (*BASIC, *BLOOD_COUNT, "LACT")]
    return draws


def _visit_draws(day: CareDay, last_done: dict[str, int], dice: Dice) -> list[Draw]:
    """What is drawn at a visit: what is due, then the usual; a full check-up now and then."""
    minute = at(day.day, dice.between(480, 900))
    due: list[str] = []
    for codes in (("A1C",), LIPIDS, ("TSH",)):
        if last_done.get(codes[0], day.day + 999) - day.day >= _GAP_DAYS[codes[0]]:
            last_done[codes[0]] = day.day
            due += codes
    usual = [*BASIC, *BLOOD_COUNT] if dice.chance(0.6) else list(BASIC)
    extra = [*LIVER, "GLU", "MG", "PHOS"] if dice.chance(0.35) else ["GLU"]
    return [(minute, code) for code in (*due, *usual, *extra)]


def valued(
    slots: Sequence[Slot], days: Sequence[CareDay], values: LabValues
) -> Iterator[tuple[int, str, int]]:
    """Give each slot, in order of time, its value; an admission brings an acute illness.

    Yields (minute, code, value).
    """
    by_day = {day.day: day for day in days}
    drawn: dict[str, int] = {}
    last_minute = last_day = 1
    for minute, place in slots:
        if minute != last_minute:
            drawn, last_minute = {}, minute
            day = day_of(minute)
            if day != last_day:
                last_day = day
                values.begin_day(by_day.get(day))
        lab = LABS[place]
        drawn[lab.code] = value = values.value(lab, minute, drawn)
        yield minute, lab.code, value
