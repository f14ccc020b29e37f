"""Medication orders with NDC.

The products are such as a United States hospital orders; the list is a setting for tasks, no reference.
Neither of the two replacements that the tasks ask for (magnesium sulfate, potassium chloride) is ever
among them: whether one was ordered is for the agent under test alone to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .clock import at, stamp
from .dice import Dice
from .people import Person
from .quota import fill
from .reasons import BY_NAME
from .timeline import CareDay
from .traits import Traits
from .wire import NDC, TERMINOLOGY, UCUM, coding, concept, head, to_json


@dataclass(frozen=True, slots=True)
class Drug:
    """A product and how it is ordered. `unit` is UCUM; `hours` is the interval between doses."""

    ndc: str
    name: str
    dose: float | int
    unit: str
    route: str
    hours: int


HOME: Final[dict[str, tuple[Drug, ...]]] = {
    "hypertension": (
        Drug("0069-1530-68", "Amlodipine 5 mg tablet", 5, "mg", "oral", 24),
        Drug("0078-0358-34", "Valsartan 80 mg tablet", 80, "mg", "oral", 24),
        Drug("0006-0952-54", "Losartan 50 mg tablet", 50, "mg", "oral", 24),
    ),
    "lipids": (
        Drug("0071-0156-23", "Atorvastatin 20 mg tablet", 20, "mg", "oral", 24),
        Drug("0310-0751-90", "Rosuvastatin 10 mg tablet", 10, "mg", "oral", 24),
    ),
    "diabetes": (
        Drug("0006-0277-31", "Sitagliptin 100 mg tablet", 100, "mg", "oral", 24),
        Drug("0597-0152-30", "Empagliflozin 10 mg tablet", 10, "mg", "oral", 24),
        Drug("0088-2220-33", "Insulin glargine 100 units/mL", 18, "[iU]", "subcutaneous", 24),
    ),
    "kidney": (Drug("0310-6210-30", "Dapagliflozin 10 mg tablet", 10, "mg", "oral", 24),),
    "heart_failure": (
        Drug("0078-0777-20", "Sacubitril 49 mg / valsartan 51 mg tablet", 1, "{tbl}", "oral", 12),
        Drug("0039-0060-13", "Furosemide 40 mg tablet", 40, "mg", "oral", 24),
    ),
    "afib": (
        Drug("0003-0894-21", "Apixaban 5 mg tablet", 5, "mg", "oral", 12),
        Drug("50458-579-30", "Rivaroxaban 20 mg tablet", 20, "mg", "oral", 24),
    ),
    "coronary": (Drug("63653-1171-1", "Clopidogrel 75 mg tablet", 75, "mg", "oral", 24),),
    "copd": (Drug("0597-0075-41", "Tiotropium 18 mcg inhalation capsule", 18, "ug", "inhalation", 24),),
    "asthma": (
        Drug("0173-0682-20", "Albuterol 90 mcg inhaler", 2, "{puff}", "inhalation", 6),
        Drug("0006-0117-31", "Montelukast 10 mg tablet", 10, "mg", "oral", 24),
    ),
    "thyroid": (Drug("0074-4552-90", "Levothyroxine 50 mcg tablet", 50, "ug", "oral", 24),),
    "depression": (
        Drug("0049-4900-66", "Sertraline 50 mg tablet", 50, "mg", "oral", 24),
        Drug("0456-2010-01", "Escitalopram 10 mg tablet", 10, "mg", "oral", 24),
    ),
    "anxiety": (Drug("0456-2010-01", "Escitalopram 10 mg tablet", 10, "mg", "oral", 24),),
    "reflux": (
        Drug("0008-0841-81", "Pantoprazole 40 mg tablet", 40, "mg", "oral", 24),
        Drug("0186-5040-31", "Esomeprazole 40 mg capsule", 40, "mg", "oral", 24),
    ),
    "back_pain": (Drug("0071-0805-24", "Gabapentin 300 mg capsule", 300, "mg", "oral", 8),),
    "prostate": (Drug("0597-0058-01", "Tamsulosin 0.4 mg capsule", 0.4, "mg", "oral", 24),),
    "osteoporosis": (Drug("0006-0031-44", "Alendronate 70 mg tablet", 70, "mg", "oral", 168),),
}
WARD: Final[tuple[Drug, ...]] = (
    Drug("0338-0049-04", "Sodium chloride 0.9 % 1,000 mL", 1000, "mL", "intravenous", 12),
    Drug("0338-0117-04", "Lactated Ringer's 1,000 mL", 1000, "mL", "intravenous", 12),
    Drug("0338-0017-04", "Dextrose 5 % 1,000 mL", 1000, "mL", "intravenous", 12),
    Drug("0075-0620-40", "Enoxaparin 40 mg/0.4 mL syringe", 40, "mg", "subcutaneous", 24),
    Drug("0002-7510-01", "Insulin lispro 100 units/mL", 4, "[iU]", "subcutaneous", 8),
    Drug("0173-0442-00", "Ondansetron 2 mg/mL injection", 4, "mg", "intravenous", 8),
    Drug("0045-0497-60", "Acetaminophen 500 mg tablet", 1000, "mg", "oral", 8),
    Drug("0008-0923-51", "Pantoprazole 40 mg vial", 40, "mg", "intravenous", 24),
)
ANTIBIOTICS: Final[tuple[Drug, ...]] = (
    Drug("0004-1964-01", "Ceftriaxone 1 g vial", 1, "g", "intravenous", 24),
    Drug("0206-8854-16", "Piperacillin 3 g / tazobactam 0.375 g vial", 3.375, "g", "intravenous", 6),
)
VISIT: Final[tuple[Drug, ...]] = (
    Drug("0029-6086-12", "Amoxicillin 875 mg / clavulanate 125 mg tablet", 1, "{tbl}", "oral", 12),
    Drug("0069-3060-75", "Azithromycin 250 mg tablet", 250, "mg", "oral", 24),
    Drug("0573-0150-20", "Ibuprofen 200 mg tablet", 400, "mg", "oral", 8),
    Drug("0054-0018-25", "Prednisone 20 mg tablet", 40, "mg", "oral", 24),
)
STAY_WEIGHT, VISIT_WEIGHT = 20, 7
_PER_DAY: Final = 8

Slot = tuple[int, str]
"""An order to be: (minute at which it was signed, NDC)."""

DRUGS: Final = {
    drug.ndc: drug
    for drug in (*(drug for found in HOME.values() for drug in found), *WARD, *ANTIBIOTICS, *VISIT)
}
WARD_NDCS: Final = frozenset(drug.ndc for drug in (*WARD, *ANTIBIOTICS))
_ROUTES: Final = {
    # SNOMED CT, as in FHIR's route-codes
    "oral": ("26643006", "Oral route"),
    "intravenous": ("47625008", "Intravenous route"),
    "subcutaneous": ("34206005", "Subcutaneous route"),
    "inhalation": ("447694001", "Respiratory tract route"),
}
_CATEGORIES: Final = {"inpatient": "Inpatient", "outpatient": "Outpatient", "community": "Community"}


class MedicationWriter:
    """Writes one person's MedicationRequests as JSON text."""

    def __init__(self, person: Person, id_prefix: str) -> None:
        self._start = head("MedicationRequest", id_prefix)
        self._subject = f'"subject":{{"reference":"Patient/{person.mrn}"}},"authoredOn":"'

    def write(self, serial: int, minute: int, ndc: str, status: str, category: str) -> str:
        """One order."""
        signed = stamp(minute)
        return "".join(
            (self._start, f"{serial:05d}", '","meta":{"versionId":"1","lastUpdated":"', signed,
             f'"}},"status":"{status}","intent":"order","category":[', _CATEGORY_TEXT[category],
             '],"priority":"routine",', _MEDICATIONS[ndc], self._subject, signed, _DOSAGES[ndc])
        )  # fmt: skip


def _dosage(drug: Drug) -> dict[str, Any]:
    code, display = _ROUTES[drug.route]
    every = (
        f"every {drug.hours} hours" if drug.hours < 24 else {24: "once daily", 168: "once weekly"}[drug.hours]
    )
    shown = drug.unit.strip("{}").replace("[iU]", "units").replace("ug", "mcg").replace("tbl", "tablet")
    repeat: dict[str, Any] = {"frequency": 1, "period": drug.hours, "periodUnit": "h"}
    if drug.hours >= 24:
        repeat = {"frequency": 1, "period": drug.hours // 24, "periodUnit": "d"}
    return {
        "text": f"{drug.dose} {shown} {drug.route} {every}",
        "timing": {"repeat": repeat},
        "route": concept(coding("http://snomed.info/sct", code, display), text=drug.route),
        "doseAndRate": [
            {"doseQuantity": {"value": drug.dose, "unit": shown, "system": UCUM, "code": drug.unit}}
        ],
    }


_MEDICATIONS: Final = {
    ndc: f'"medicationCodeableConcept":{to_json(concept(coding(NDC, ndc, drug.name), text=drug.name))},'
    for ndc, drug in DRUGS.items()
}
_DOSAGES: Final = {ndc: f'","dosageInstruction":{to_json([_dosage(drug)])}}}' for ndc, drug in DRUGS.items()}
_CATEGORY_TEXT: Final = {
    code: to_json(concept(coding(TERMINOLOGY + "medicationrequest-category", code, display), text=display))
    for code, display in _CATEGORIES.items()
}


def home_drugs(traits: Traits, dice: Dice) -> list[str]:
    """NDCs of what the person takes at home for good."""
    return [dice.pick(HOME[trait]).ndc for trait in sorted(traits) if trait in HOME]


def medication_slots(
    days: Sequence[CareDay], total: int, home: Sequence[str], taken: set[Slot], dice: Dice
) -> list[Slot]:
    """Exactly `total` orders over the patient's days, in order of time, none of which is `taken`."""
    newest_first = list(reversed(days))
    offers = [_of_day(day, home, taken, dice) for day in newest_first]
    weights = [STAY_WEIGHT if day.inpatient else VISIT_WEIGHT for day in newest_first]
    return sorted(fill(total, offers, weights))


def _of_day(day: CareDay, home: Sequence[str], taken: set[Slot], dice: Dice) -> list[Slot]:
    pool = [drug.ndc for drug in (WARD if day.inpatient else VISIT)]
    if day.inpatient and BY_NAME[day.reason].infection:
        pool += [drug.ndc for drug in ANTIBIOTICS]
    ordered = dice.shuffled([*home, *pool])[:_PER_DAY]
    begin, end = (330, 1320) if day.inpatient else (490, 970)
    offer = []
    for ndc in ordered:
        slot = (at(day.day, dice.between(begin, end)), ndc)
        if slot[0] < 0 and slot not in taken:
            taken.add(slot)
            offer.append(slot)
    return offer


def order_state(minute: int, ndc: str, dice: Dice) -> tuple[str, str]:
    """(status, category) of an order: ward orders run for days, prescriptions for months."""
    on_ward = ndc in WARD_NDCS
    age = -minute // 1440
    category = "inpatient" if on_ward else dice.pick(("community", "community", "outpatient"))
    if age <= (3 if on_ward else 90):
        return "active", category
    return ("stopped" if dice.chance(0.15) else "completed"), category
