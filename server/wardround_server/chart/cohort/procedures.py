"""Procedures done: CPT codes, worded by ourselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .clock import at, date_text, stamp
from .dice import Dice
from .people import Person
from .quota import fill
from .reasons import BY_NAME
from .timeline import CareDay
from .wire import CPT, coding, concept, head, to_json

INPATIENT: Final[tuple[tuple[str, str], ...]] = (
    ("99232", "Hospital visit on a following day, moderate"),
    ("36415", "Blood drawn from a vein"),
    ("80048", "Basic metabolic panel"),
    ("85025", "Complete blood count with differential"),
    ("83735", "Magnesium level"),
    ("82962", "Glucose by bedside meter"),
    ("93010", "Electrocardiogram read and reported"),
    ("71045", "Chest radiograph, one view"),
    ("94640", "Inhaled treatment of blocked airways"),
    ("97110", "Therapeutic exercises"),
    ("97116", "Gait training"),
    ("97530", "Therapeutic activities"),
    ("96365", "Intravenous infusion, first hour"),
    ("96374", "Intravenous push of one drug"),
    ("84100", "Phosphate level"),
    ("80076", "Liver function panel"),
    ("83605", "Lactate level"),
    ("87040", "Blood culture"),
    ("94760", "Oxygen saturation, single reading"),
    ("92526", "Treatment of swallowing"),
)
OF_REASONS: Final[tuple[tuple[str, str], ...]] = (
    ("74177", "CT of abdomen and pelvis with contrast"),
    ("70450", "CT of head without contrast"),
    ("71275", "CT angiography of the chest"),
    ("93306", "Echocardiogram through the chest wall"),
    ("36556", "Central venous catheter placed"),
    ("43239", "Upper endoscopy with biopsy"),
    ("36430", "Blood transfusion"),
    ("49083", "Abdominal fluid drained under imaging"),
    ("27130", "Total hip replacement"),
    ("27447", "Total knee replacement"),
    ("47562", "Gallbladder removed by laparoscopy"),
    ("44970", "Appendix removed by laparoscopy"),
    ("93458", "Left heart catheterization with coronary angiography"),
)
OUTPATIENT: Final[tuple[tuple[str, str], ...]] = (
    ("99214", "Office visit, established patient, moderate"),
    ("99213", "Office visit, established patient, low"),
    ("36415", "Blood drawn from a vein"),
    ("80053", "Comprehensive metabolic panel"),
    ("85025", "Complete blood count with differential"),
    ("83036", "Hemoglobin A1c level"),
    ("80061", "Lipid panel"),
    ("84443", "Thyrotropin level"),
    ("90471", "Immunization given, one"),
    ("90686", "Influenza vaccine, quadrivalent"),
    ("93000", "Electrocardiogram, complete"),
    ("81001", "Urinalysis with microscopy"),
    ("99395", "Preventive visit, 18 to 39 years"),
    ("99396", "Preventive visit, 40 to 64 years"),
    ("99397", "Preventive visit, 65 years and older"),
    ("20610", "Large joint injected or drained"),
    ("71046", "Chest radiograph, two views"),
    ("73562", "Knee radiograph, three views"),
    ("77080", "Bone density by DXA"),
    ("94010", "Spirometry"),
    ("92014", "Eye examination, established patient"),
    ("97161", "Physical therapy evaluation, low"),
)
PREVENTIVE_AGES: Final = {"99395": (18, 39), "99396": (40, 64), "99397": (65, 120)}
STAY_WEIGHT, VISIT_WEIGHT = 11, 4
ADMISSION: Final = ("99223", "Hospital visit on the day of admission, high")
TITLES: Final = dict([ADMISSION, *INPATIENT, *OF_REASONS, *OUTPATIENT])

Slot = tuple[int, str]
"""A procedure to be: (minute at which it was performed, CPT code)."""


class ProcedureWriter:
    """Writes one person's Procedures as JSON text."""

    def __init__(self, person: Person, id_prefix: str, dice: Dice) -> None:
        self._dice = dice
        self._start = head("Procedure", id_prefix)
        self._subject = f',"subject":{{"reference":"Patient/{person.mrn}"}},"performedDateTime":"'

    def write(self, serial: int, minute: int, code: str) -> str:
        """One completed Procedure, filed within two hours of being done."""
        filed = stamp(min(minute + self._dice.between(5, 120), 0))
        return "".join(
            (self._start, f"{serial:05d}", '","meta":{"versionId":"1","lastUpdated":"', filed,
             '"},"status":"completed",', _CODES[code], self._subject, stamp(minute), '"}')
        )  # fmt: skip


_CODES: Final = {
    code: f'"code":{to_json(concept(coding(CPT, code, title), text=title))}' for code, title in TITLES.items()
}


def procedure_slots(
    days: Sequence[CareDay], total: int, person: Person, taken: set[Slot], dice: Dice
) -> list[Slot]:
    """Exactly `total` procedures over the patient's days, in order of time, none of which is `taken`."""
    newest_first = list(reversed(days))
    offers = [_of_day(day, person, taken, dice) for day in newest_first]
    weights = [STAY_WEIGHT if day.inpatient else VISIT_WEIGHT for day in newest_first]
    return sorted(fill(total, offers, weights))


def _of_day(day: CareDay, person: Person, taken: set[Slot], dice: Dice) -> list[Slot]:
    if day.stay_day is not None:
        visit = ADMISSION[0] if day.stay_day == 0 else INPATIENT[0][0]
        special = BY_NAME[day.reason].procedures[day.stay_day : day.stay_day + 1]
        codes = [*special, visit, *(code for code, _ in INPATIENT[1:6])]
        codes += [code for code, _ in dice.shuffled(INPATIENT[6:])]
        codes += ["82962", "94640", "97110", "94760"]
        begin, end = 330, 1320
    else:
        fitting = [code for code, _ in OUTPATIENT[2:] if _fits(code, person, day)]
        codes = [dice.pick(OUTPATIENT[:2])[0], *dice.shuffled(fitting)]
        begin, end = 480, 960
    offer = []
    for code in codes:
        slot = (at(day.day, dice.between(begin, end)), code)
        if slot[0] < 0 and slot not in taken:
            taken.add(slot)
            offer.append(slot)
    return offer


def _fits(code: str, person: Person, day: CareDay) -> bool:
    """Whether a code's wording fits the person's age and sex, and the season."""
    age = person.age + day.day // 365
    if code in PREVENTIVE_AGES:
        low, high = PREVENTIVE_AGES[code]
        return low <= age <= high
    if code == "90686":
        return date_text(day.day)[5:7] in {"09", "10", "11", "12", "01"}
    return code != "77080" or (person.gender == "female" and age >= 50)
