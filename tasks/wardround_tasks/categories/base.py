"""What a category is: its rules, its reference solution and its generator, together in one module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from wardround_schemas.chart import ChartReader

from ..attempt import Attempt, CreateCall
from ..expect import (
    OBSERVATION_CATEGORY,
    OBSERVATION_CATEGORY_R4,
    STORED_TOLERANCE,
    AnswerRule,
    Expected,
    MedicationWrite,
    VitalWrite,
    Write,
)
from ..quantities import Analyte
from ..reference import Measurement, Reference
from ..task import Difficulty, Kind, PatientRef, Task
from ..verdict import RuleSet

Profile = Literal["medagentbench", "r4"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What is fixed for all tasks of a category. `difficulty` is assigned by the number of steps.

    `codes` and `texts` are the facts that a task of the category must carry.
    """

    id: str
    title: str
    kind: Kind
    difficulty: Difficulty
    steps: str
    branches: tuple[str, ...]
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class Category(Protocol):
    """One of the ten categories: a module of this folder, looked up in `CATEGORIES`."""

    traits: Traits

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Read from the chart what both rule sets need; ChartError passes through."""
        ...

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """What a rule set asks of an attempt. Pure."""
        ...


def patient_of(task: Task) -> PatientRef:
    """The task's patient; raises ValueError where a category that needs one has none."""
    if task.patient is None:
        raise ValueError(f"task {task.id}: {task.category} needs a patient")
    return task.patient


def value_answer(
    measurement: Measurement | None, analyte: Analyte, rules: RuleSet, *, with_time: bool = False
) -> AnswerRule:
    """The answer that states a measurement, `[-1]` where there is none.

    Under `clinical` a value stored in another unit is wanted in the protocol's, to a hundredth.
    """
    if measurement is None:
        return AnswerRule("exact", (-1,), units=analyte.spellings)
    value, tolerance = measurement.value, STORED_TOLERANCE
    if rules == "clinical":
        value = analyte.convert(measurement.value, measurement.unit)
        if value is not measurement.value:
            tolerance = 0.01 * abs(value)
    values: tuple[str | int | float, ...] = (value, measurement.stamp) if with_time else (value,)
    return AnswerRule(
        "exact",
        values,
        units=analyte.spellings,
        times=frozenset({1}) if with_time else frozenset(),
        tolerance=tolerance,
    )


def gold_attempt(task: Task, expected: Expected, profile: Profile) -> Attempt:
    """An attempt that does exactly what is expected, in the form that a profile's schema gives.

    `r4` writes FHIR (route a CodeableConcept, note a list), `medagentbench` what its schema types
    (route a CodeableConcept too, note one object).
    """
    calls = tuple(
        CreateCall(write.resource_type, resource_for(write, profile), True) for write in expected.writes
    )
    answer = list(expected.answer.values) if expected.answer.kind != "any" else []
    return Attempt(task.id, answer=json.dumps(answer), calls=calls)


def tidy(value: float) -> int | float:
    """A number as a person writes it: without the noise of binary fractions, whole where it is."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def resource_for(write: Write, profile: Profile | Literal["original"]) -> dict[str, Any]:
    """The resource of an expected write in a profile's form; "original" is what its grader wants."""
    subject = {"reference": write.patient.reference}
    if isinstance(write, VitalWrite):
        system = OBSERVATION_CATEGORY_R4 if profile == "r4" else OBSERVATION_CATEGORY
        coding = {"system": system, "code": "vital-signs", "display": "Vital Signs"}
        return {
            "resourceType": "Observation",
            "category": [{"coding": [coding]}],
            "code": {"text": write.code_text},
            "effectiveDateTime": write.at,
            "status": "final",
            "valueString": write.value,
            "subject": subject,
        }
    if isinstance(write, MedicationWrite):
        dose: dict[str, Any] = {"doseQuantity": {"value": tidy(write.dose), "unit": write.unit}}
        if write.hours is not None:
            dose["rateQuantity"] = {"value": tidy(write.hours), "unit": "h"}
        route: Any = write.route if profile == "original" else {"text": write.route}
        return {
            "resourceType": "MedicationRequest",
            "medicationCodeableConcept": {"coding": [{"system": write.system, "code": write.code}]},
            "authoredOn": write.now,
            "dosageInstruction": [{"route": route, "doseAndRate": [dose]}],
            "status": "active",
            "intent": "order",
            "subject": subject,
        }
    service: dict[str, Any] = {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"system": write.system, "code": write.code}]},
        "authoredOn": write.now,
        "status": "active",
        "intent": "order",
        "priority": "stat",
        "subject": subject,
    }
    if write.note is not None:
        note = {"text": write.note}
        service["note"] = [note] if profile == "r4" else note
    if write.at is not None:
        service["occurrenceDateTime"] = write.at
    return service
