"""Puts one patient's records together: the core that both scales hold, and what the paper's scale adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from . import conditions, labs, medications, procedures, vitals
from .clock import at
from .dice import Dice
from .lab_codes import BASIC, BLOOD_COUNT, LIPIDS, LIVER
from .people import Person, make_people
from .plan import PatientPlan, assign_plan
from .quota import LABS_OF_OBSERVATIONS, PAPER_COUNTS, Scale, deal
from .timeline import CareDay, make_timeline
from .traits import Traits, draw_traits

CORE_PROCEDURES: Final = 14
CORE_ENCOUNTER_CONDITIONS: Final = 6
CORE_ORDERS: Final = 10
CORE_VITAL_SETS: Final = 4
CORE_OLDER_DRAWS: Final = 3

LABS_PER_STAY_DAY, LABS_PER_VISIT = labs.STAY_WEIGHT, labs.VISIT_WEIGHT


@dataclass(frozen=True, slots=True)
class PatientFrame:
    """All that is decided about a patient before any record is written.

    `totals` are the patient's records at the paper's scale, by type.
    """

    person: Person
    plan: PatientPlan
    traits: Traits
    days: tuple[CareDay, ...]
    totals: dict[str, int]
    seed: int

    def dice(self, *purpose: str) -> Dice:
        return Dice(self.seed, *purpose, self.person.index)


def make_frames(seed: int) -> list[PatientFrame]:
    """The cohort's 100 patients."""
    people = make_people(seed)
    plans = assign_plan(seed)
    weights = [_burden(person, plan, seed) for person, plan in zip(people, plans, strict=True)]
    shares = {kind: deal(total, weights) for kind, total in PAPER_COUNTS.items()}
    frames = []
    for person, plan in zip(people, plans, strict=True):
        totals = {kind: parts[person.index] for kind, parts in shares.items()}
        visits = Dice(seed, "visits", person.index).between(36, 60)
        lab_total = totals["Observation"] * LABS_OF_OBSERVATIONS[0] // LABS_OF_OBSERVATIONS[1]
        stay_days = max((lab_total - LABS_PER_VISIT * visits) // LABS_PER_STAY_DAY, 12)
        traits = draw_traits(person, plan, seed)
        days = make_timeline(person.index, plan, traits, seed, stay_days=stay_days, visits=visits)
        frames.append(PatientFrame(person, plan, traits, tuple(days), totals, seed))
    return frames


def _burden(person: Person, plan: PatientPlan, seed: int) -> int:
    """The patient's share of the cohort's records: more with age and for those in hospital."""
    dice = Dice(seed, "burden", person.index)
    return 60 + dice.below(70) + person.age // 2 + (30 if plan.inpatient else 0)


def patient_records(frame: PatientFrame, scale: Scale) -> Iterator[str]:
    """One patient's resources as JSON text: the Patient first.

    The records of the small scale come first and are the same at both scales.
    """
    yield frame.person.resource()
    full = scale == "paper"
    yield from _observations(frame, full=full)
    yield from _conditions(frame, full=full)
    yield from _procedures(frame, full=full)
    yield from _orders(frame, full=full)


def _prefix(frame: PatientFrame, kind: str) -> str:
    return f"{kind}{frame.person.index:02d}-"


def _observations(frame: PatientFrame, *, full: bool) -> Iterator[str]:
    lab_writer = labs.LabWriter(frame.person, _prefix(frame, "ob"), frame.dice("lab", "issued"))
    vital_writer = vitals.VitalWriter(frame.person, _prefix(frame, "ob"), frame.dice("vital", "filed"))
    planned = labs.planned_slots(frame.plan)
    taken_labs: set[labs.Slot] = {(minute, labs.PLACE[code]) for minute, code, _ in planned}
    results = planned + _core_labs(frame, taken_labs)
    core_readings = _core_vitals(frame)
    # The chart's order is no clue to time: the core is shuffled.
    mixed: list[tuple[int, str, int | tuple[int, int]]] = [*results, *core_readings]
    serial = 0
    for minute, code, value in frame.dice("core", "order").shuffled(mixed):
        if isinstance(value, int):
            yield lab_writer.write(serial, minute, code, value)
        else:
            yield vital_writer.write(serial, minute, code, value)
        serial += 1
    if not full:
        return
    lab_total = frame.totals["Observation"] * LABS_OF_OBSERVATIONS[0] // LABS_OF_OBSERVATIONS[1]
    slots = labs.lab_slots(
        frame.days, lab_total - len(results), frame.plan, frame.traits, taken_labs, frame.dice("lab", "slots")
    )
    values = labs.LabValues(frame.person, frame.traits, frame.plan, frame.dice("lab", "values"))
    for minute, code, value in labs.valued(slots, frame.days, values):
        yield lab_writer.write(serial, minute, code, value)
        serial += 1
    taken_vitals = {(minute, vitals.CODES.index(code)) for minute, code, _ in core_readings}
    vital_total = frame.totals["Observation"] - lab_total - len(core_readings)
    readings = vitals.vital_slots(frame.days, vital_total, taken_vitals, frame.dice("vital", "slots"))
    source = vitals.VitalValues(frame.person, frame.traits, frame.dice("vital", "values"))
    for minute, code, reading in vitals.read_all(readings, frame.days, source):
        yield vital_writer.write(serial, minute, code, reading)
        serial += 1


def _core_labs(frame: PatientFrame, taken: set[labs.Slot]) -> list[tuple[int, str, int]]:
    """The small scale's other results: those drawn with the newest planned value, and a few older draws."""
    dice = frame.dice("core", "labs")
    wanted: list[labs.Draw] = []
    for code in ("K", "MG", "A1C"):
        case = frame.plan.cases[code]
        if case.values:
            wanted += [(case.values[0][0], name) for name in (*BASIC, *BLOOD_COUNT)]
            break
    older = [day for day in frame.days if day.day < -8]
    for turn, day in enumerate(dice.shuffled(older)[:CORE_OLDER_DRAWS]):
        minute = at(day.day, dice.between(270, 900))
        extra = (LIVER[:3], LIPIDS, ("TSH", "PHOS", "INR"))[turn]
        wanted += [(minute, name) for name in ("K", "MG", "GLU", "A1C", "NA", "CREAT", *extra)]
    slots = []
    for minute, code in wanted:
        limit = labs.frontier(frame.plan, code)
        slot = (minute, labs.PLACE[code])
        if limit is not None and minute < limit and slot not in taken:
            taken.add(slot)
            slots.append(slot)
    values = labs.LabValues(frame.person, frame.traits, frame.plan, frame.dice("lab", "values"))
    return list(labs.valued(sorted(slots), frame.days, values))


def _core_vitals(frame: PatientFrame) -> list[tuple[int, str, tuple[int, int]]]:
    """Sets of the last two days of care and of two others."""
    dice = frame.dice("core", "vitals")
    chosen = [*frame.days[-2:], *dice.shuffled(frame.days[:-2])[: CORE_VITAL_SETS - 2]]
    slots: list[vitals.Slot] = []
    for day in sorted(chosen, key=lambda day: day.day):
        minute = at(day.day, dice.between(65, 580))
        slots += [(minute, place) for place in range(len(vitals.VITALS))]
    source = vitals.VitalValues(frame.person, frame.traits, frame.dice("vital", "values"))
    return list(vitals.read_all(slots, frame.days, source))


def _sampled(frame: PatientFrame, purpose: str, count: int) -> list[CareDay]:
    """A few days of care: the newest and others from all five years."""
    dice = frame.dice("core", purpose)
    newest = list(frame.days[-2:])
    return sorted(newest + dice.shuffled(frame.days[:-2])[: count - 2], key=lambda day: day.day)


def _conditions(frame: PatientFrame, *, full: bool) -> Iterator[str]:
    writer = conditions.ConditionWriter(frame.person, _prefix(frame, "co"))
    serial = 0
    for code, recorded, onset_day in conditions.problem_list(
        frame.person, frame.traits, frame.dice("problems")
    ):
        yield writer.problem(serial, code, recorded, onset_day)
        serial += 1
    taken: set[conditions.Slot] = set()
    days = _sampled(frame, "conditions", 5)
    slots = conditions.condition_slots(
        days, CORE_ENCOUNTER_CONDITIONS, frame.traits, set(), frame.dice("core", "conditions")
    )
    taken.update(slots)
    for slots_, dice in (
        (slots, frame.dice("core", "condition dates")),
        (_more_conditions(frame, serial + len(slots), taken) if full else [], frame.dice("condition dates")),
    ):
        for minute, code in slots_:
            onset, resolved = conditions.encounter_dates(minute, code, dice)
            yield writer.encounter(serial, code, minute, onset, resolved)
            serial += 1


def _more_conditions(frame: PatientFrame, written: int, taken: set[conditions.Slot]) -> list[conditions.Slot]:
    total = frame.totals["Condition"] - written
    return conditions.condition_slots(frame.days, total, frame.traits, taken, frame.dice("condition slots"))


def _procedures(frame: PatientFrame, *, full: bool) -> Iterator[str]:
    writer = procedures.ProcedureWriter(frame.person, _prefix(frame, "pr"), frame.dice("procedure filed"))
    days = _sampled(frame, "procedures", 6)
    slots = procedures.procedure_slots(
        days, CORE_PROCEDURES, frame.person, set(), frame.dice("core", "procedures")
    )
    taken = set(slots)
    if full:
        left = frame.totals["Procedure"] - len(slots)
        slots += procedures.procedure_slots(
            frame.days, left, frame.person, taken, frame.dice("procedure slots")
        )
    for serial, (minute, code) in enumerate(slots):
        yield writer.write(serial, minute, code)


def _orders(frame: PatientFrame, *, full: bool) -> Iterator[str]:
    writer = medications.MedicationWriter(frame.person, _prefix(frame, "me"))
    home = medications.home_drugs(frame.traits, frame.dice("home drugs"))
    days = _sampled(frame, "orders", 5)
    slots = medications.medication_slots(days, CORE_ORDERS, home, set(), frame.dice("core", "orders"))
    taken = set(slots)
    if full:
        left = frame.totals["MedicationRequest"] - len(slots)
        slots += medications.medication_slots(frame.days, left, home, taken, frame.dice("order slots"))
    dice = frame.dice("order state")
    for serial, (minute, ndc) in enumerate(slots):
        yield writer.write(serial, minute, ndc, *medications.order_state(minute, ndc, dice))


__all__ = ["PatientFrame", "make_frames", "patient_records"]
