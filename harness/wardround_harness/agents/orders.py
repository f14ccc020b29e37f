"""The writes that the builtins make, in the form that both rule sets take.

The route is the bare text that the original's grader wants; in canonical R4 it is the concept it
stands for. Doses are the benchmark's protocol as the tasks' text gives it, not guidance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wardround_tasks.instants import next_morning, parse_instant

from .brief import Brief
from .scripted import Create, Resource

POTASSIUM_GOAL: Final = 3.5
MAGNESIUM_LOW: Final = 1.9


@dataclass(frozen=True, slots=True)
class Tier:
    """A dose of magnesium: grams, over so many hours."""

    grams: int
    hours: int


MIDDLE_TIER: Final = Tier(2, 2)


def magnesium_tier(value: float) -> Tier | None:
    """The dose for a serum magnesium in mg/dL; None where it is not low (above 1.9)."""
    if value > MAGNESIUM_LOW:
        return None
    if value < 1.0:
        return Tier(4, 4)
    return Tier(2, 2) if value < 1.5 else Tier(1, 1)


def blood_pressure(brief: Brief, subject: str) -> Create:
    """The reading that the task quotes, taken now."""
    return Create(
        "vital.create",
        {
            "resourceType": "Observation",
            "category": [
                {
                    "coding": [
                        {
                            "system": "http://hl7.org/fhir/observation-category",
                            "code": "vital-signs",
                            "display": "Vital Signs",
                        }
                    ]
                }
            ],
            "code": {"text": brief.flowsheet},
            "effectiveDateTime": brief.now,
            "status": "final",
            "valueString": brief.reading,
            "subject": {"reference": subject},
        },
    )


def magnesium(brief: Brief, subject: str, tier: Tier) -> Create:
    """Intravenous magnesium, the tier's grams over its hours."""
    dosage = {
        "route": "IV",
        "doseAndRate": [
            {
                "doseQuantity": {"value": tier.grams, "unit": "g"},
                "rateQuantity": {"value": tier.hours, "unit": "h"},
            }
        ],
    }
    return _medication(brief, subject, dosage)


def potassium(brief: Brief, subject: str, value: float) -> Create:
    """Oral potassium, 10 mEq for each 0.1 below the goal."""
    dose = round((POTASSIUM_GOAL - value) / 0.1 * 10, 6)
    dosage = {"route": "oral", "doseAndRate": [{"doseQuantity": {"value": dose, "unit": "mEq"}}]}
    return _medication(brief, subject, dosage)


def potassium_level(brief: Brief, subject: str) -> Create:
    """A serum potassium at eight the next morning, in the zone of the task's now."""
    order = _service(brief, subject)
    order["occurrenceDateTime"] = next_morning(now_of(brief)).isoformat()
    return Create("procedure.create", order)


def hba1c(brief: Brief, subject: str) -> Create:
    """A new HbA1c."""
    return Create("procedure.create", _service(brief, subject))


def referral(brief: Brief, subject: str) -> Create:
    """An orthopaedic referral with the text that the task gives."""
    order = _service(brief, subject)
    order["note"] = {"text": brief.note}
    return Create("procedure.create", order)


def for_category(brief: Brief, subject: str, tier: Tier, potassium_value: float) -> Iterator[Create]:
    """The writes that a category can ask for, at the given dose and potassium; none for a query."""
    if brief.category == "task3":
        yield blood_pressure(brief, subject)
    elif brief.category == "task5":
        yield magnesium(brief, subject, tier)
    elif brief.category == "task8":
        yield referral(brief, subject)
    elif brief.category == "task9":
        yield potassium(brief, subject, potassium_value)
        yield potassium_level(brief, subject)
    elif brief.category == "task10":
        yield hba1c(brief, subject)


def now_of(brief: Brief) -> datetime:
    """The task's now as an instant."""
    now = parse_instant(brief.now)
    if now is None:
        raise ValueError(f"task {brief.task_id}: {brief.now!r} is no instant")
    return now


def _medication(brief: Brief, subject: str, dosage: Resource) -> Create:
    return Create(
        "medicationrequest.create",
        {
            "resourceType": "MedicationRequest",
            "medicationCodeableConcept": {
                "coding": [{"system": brief.medication_system, "code": brief.medication}]
            },
            "authoredOn": brief.now,
            "dosageInstruction": [dosage],
            "status": "active",
            "intent": "order",
            "subject": {"reference": subject},
        },
    )


def _service(brief: Brief, subject: str) -> Resource:
    return {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"system": brief.order_system, "code": brief.order}]},
        "authoredOn": brief.now,
        "status": "active",
        "intent": "order",
        "priority": "stat",
        "subject": {"reference": subject},
    }
