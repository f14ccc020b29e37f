"""Diagnoses: a problem list, and what each day of care was coded with. ICD-10-CM, titles as published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .clock import FIRST_DAY, at, date_text, stamp
from .dice import Dice
from .people import Person
from .quota import fill
from .reasons import BY_NAME, REASONS, Diagnosis
from .timeline import CareDay
from .traits import Traits
from .wire import ICD10CM, TERMINOLOGY, coding, concept, head, to_json

OF_TRAIT: Final[dict[str, tuple[Diagnosis, ...]]] = {
    "hypertension": (("I10", "Essential (primary) hypertension"),),
    "lipids": (
        ("E78.5", "Hyperlipidemia, unspecified"),
        ("E78.00", "Pure hypercholesterolemia, unspecified"),
    ),
    "diabetes": (
        ("E11.9", "Type 2 diabetes mellitus without complications"),
        ("E11.65", "Type 2 diabetes mellitus with hyperglycemia"),
    ),
    "kidney": (
        ("N18.30", "Chronic kidney disease, stage 3 unspecified"),
        ("N18.4", "Chronic kidney disease, stage 4 (severe)"),
    ),
    "heart_failure": (
        ("I50.22", "Chronic systolic (congestive) heart failure"),
        ("I50.32", "Chronic diastolic (congestive) heart failure"),
    ),
    "afib": (("I48.91", "Unspecified atrial fibrillation"), ("I48.0", "Paroxysmal atrial fibrillation")),
    "coronary": (
        ("I25.10", "Atherosclerotic heart disease of native coronary artery without angina pectoris"),
        ("I25.2", "Old myocardial infarction"),
    ),
    "copd": (("J44.9", "Chronic obstructive pulmonary disease, unspecified"),),
    "asthma": (("J45.909", "Unspecified asthma, uncomplicated"),),
    "anemia": (
        ("D64.9", "Anemia, unspecified"),
        ("D50.9", "Iron deficiency anemia, unspecified"),
    ),
    "liver": (
        ("K74.60", "Unspecified cirrhosis of liver"),
        ("K76.0", "Fatty (change of) liver, not elsewhere classified"),
    ),
    "thyroid": (("E03.9", "Hypothyroidism, unspecified"),),
    "depression": (
        ("F32.A", "Depression, unspecified"),
        ("F33.1", "Major depressive disorder, recurrent, moderate"),
    ),
    "anxiety": (("F41.1", "Generalized anxiety disorder"),),
    "reflux": (("K21.9", "Gastro-esophageal reflux disease without esophagitis"),),
    "arthrosis": (
        ("M17.0", "Bilateral primary osteoarthritis of knee"),
        ("M16.9", "Osteoarthritis of hip, unspecified"),
    ),
    "obesity": (("E66.9", "Obesity, unspecified"),),
    "back_pain": (("M54.50", "Low back pain, unspecified"),),
    "migraine": (("G43.909", "Migraine, unspecified, not intractable, without status migrainosus"),),
    "prostate": (("N40.1", "Benign prostatic hyperplasia with lower urinary tract symptoms"),),
    "osteoporosis": (("M81.0", "Age-related osteoporosis without current pathological fracture"),),
}
AMBULATORY: Final[tuple[Diagnosis, ...]] = (
    ("Z00.00", "Encounter for general adult medical examination without abnormal findings"),
    ("Z23", "Encounter for immunization"),
    ("Z79.899", "Other long term (current) drug therapy"),
    ("Z12.11", "Encounter for screening for malignant neoplasm of colon"),
    ("J06.9", "Acute upper respiratory infection, unspecified"),
    ("J02.9", "Acute pharyngitis, unspecified"),
    ("M25.562", "Pain in left knee"),
    ("M79.10", "Myalgia, unspecified site"),
    ("R10.9", "Unspecified abdominal pain"),
    ("R51.9", "Headache, unspecified"),
    ("R53.83", "Other fatigue"),
    ("R42", "Dizziness and giddiness"),
    ("L30.9", "Dermatitis, unspecified"),
    ("H61.23", "Impacted cerumen, bilateral"),
    ("G47.00", "Insomnia, unspecified"),
    ("E55.9", "Vitamin D deficiency, unspecified"),
    ("Z87.891", "Personal history of nicotine dependence"),
    ("Z71.3", "Dietary counseling and surveillance"),
)
STAY_WEIGHT, VISIT_WEIGHT = 6, 4

Slot = tuple[int, str]
"""A diagnosis to be: (minute at which it was recorded, ICD-10-CM code)."""

_OF_REASONS: Final = [diagnosis for reason in REASONS for diagnosis in reason.diagnoses]
TITLES: Final = dict(
    [*AMBULATORY, *(diagnosis for found in OF_TRAIT.values() for diagnosis in found), *_OF_REASONS]
)


class ConditionWriter:
    """Writes one person's Conditions as JSON text."""

    def __init__(self, person: Person, id_prefix: str) -> None:
        self._start = head("Condition", id_prefix)
        self._subject = f',"subject":{{"reference":"Patient/{person.mrn}"}},"onsetDateTime":"'

    def problem(self, serial: int, code: str, recorded: int, onset_day: int) -> str:
        """An active entry of the problem list, begun on a day (counted from today)."""
        return self._write(serial, _PROBLEM, code, recorded, date_text(onset_day), None)

    def encounter(self, serial: int, code: str, recorded: int, onset: int, resolved: str | None) -> str:
        """A diagnosis of a day of care; `resolved` is the day on which it had passed."""
        return self._write(serial, _ENCOUNTER, code, recorded, stamp(onset), resolved)

    def _write(
        self, serial: int, category: str, code: str, recorded: int, onset: str, resolved: str | None
    ) -> str:
        status, abatement = _ACTIVE, ""
        if resolved is not None:
            status, abatement = _RESOLVED, f'"abatementDateTime":"{resolved}",'
        noted = stamp(recorded)
        return "".join(
            (self._start, f"{serial:05d}", '","meta":{"versionId":"1","lastUpdated":"', noted, '"},', status,
             category, _CODES[code], self._subject, onset, '",', abatement, '"recordedDate":"', noted, '"}')
        )  # fmt: skip


def _status(kind: str, code: str, display: str) -> str:
    return to_json(concept(coding(TERMINOLOGY + kind, code, display), text=display))


_CONFIRMED: Final = f'"verificationStatus":{_status("condition-ver-status", "confirmed", "Confirmed")},'
_ACTIVE: Final = f'"clinicalStatus":{_status("condition-clinical", "active", "Active")},{_CONFIRMED}'
_RESOLVED: Final = f'"clinicalStatus":{_status("condition-clinical", "resolved", "Resolved")},{_CONFIRMED}'
_PROBLEM: Final = f'"category":[{_status("condition-category", "problem-list-item", "Problem List Item")}],'
_ENCOUNTER: Final = (
    f'"category":[{_status("condition-category", "encounter-diagnosis", "Encounter Diagnosis")}],'
)
_CODES: Final = {
    code: f'"code":{to_json(concept(coding(ICD10CM, code, title), text=title))}'
    for code, title in TITLES.items()
}


def problem_list(person: Person, traits: Traits, dice: Dice) -> list[tuple[str, int, int]]:
    """The person's long-term problems: (code, minute recorded, day of onset)."""
    problems = []
    adult_days = max((person.age - 17) * 365, 400)
    for trait in sorted(traits):
        onset = -dice.between(200, min(adult_days, 7300))
        recorded = max(onset + dice.between(0, 40), FIRST_DAY + dice.below(60))
        problems.append(
            (dice.pick(OF_TRAIT[trait])[0], at(min(recorded, -60), dice.between(500, 1000)), onset)
        )
    return problems


def condition_slots(
    days: Sequence[CareDay], total: int, traits: Traits, taken: set[Slot], dice: Dice
) -> list[Slot]:
    """Exactly `total` diagnoses over the patient's days, in order of time, none of which is `taken`."""
    newest_first = list(reversed(days))
    chronic = [diagnosis[0] for trait in sorted(traits) for diagnosis in OF_TRAIT[trait]]
    offers = [_of_day(day, chronic, taken, dice) for day in newest_first]
    weights = [STAY_WEIGHT if day.inpatient else VISIT_WEIGHT for day in newest_first]
    return sorted(fill(total, offers, weights))


def _of_day(day: CareDay, chronic: list[str], taken: set[Slot], dice: Dice) -> list[Slot]:
    """What a day may be coded with, the weightiest first.

    A day in hospital has notes of several services, each of which codes the reason for the stay.
    """
    if day.inpatient:
        acute = [code for code, _ in BY_NAME[day.reason].diagnoses]
        codes = [*acute, *dice.shuffled(chronic)[:4], *dice.shuffled([*acute, *chronic])[:5], *acute]
        begin, end = 360, 1380
    else:
        fresh = dice.shuffled([code for code, _ in AMBULATORY])
        codes = [*fresh[:2], *dice.shuffled(chronic)[:4], *fresh[2:8]]
        begin, end = 500, 960
    offer = []
    for code in codes:
        slot = (at(day.day, dice.between(begin, end)), code)
        if slot[0] < 0 and slot not in taken:
            taken.add(slot)
            offer.append(slot)
    return offer


def encounter_dates(minute: int, code: str, dice: Dice) -> tuple[int, str | None]:
    """Onset of a day's diagnosis, and the day on which an acute one had passed (None: not passed)."""
    onset = minute - dice.between(30, 2600)
    passed = minute // 1440 + dice.between(4, 30)
    lasting = code not in _ACUTE_CODES or passed >= 0
    return onset, None if lasting else date_text(passed)


_ACUTE_CODES: Final = frozenset(
    {code for code, _ in _OF_REASONS if not code.startswith(("Z", "M", "E11"))}
    | {"J06.9", "J02.9", "R10.9", "R51.9", "R42"}
)
