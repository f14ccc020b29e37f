"""What a category is: its rules, its reference solution and its generator, together in one module."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
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
from ..quantities import Analyte, squeeze
from ..reference import Measurement, Reference
from ..survey import CodeMap, Person, Survey
from ..task import Difficulty, Facts, Kind, PatientRef, Task
from ..verdict import RuleSet

CONVERTED_TOLERANCE = 0.01
"""How far a value that had to be converted may be off, as a share of it."""
Form = Literal["medagentbench", "r4", "original"]
"""How an expected write is put: as a profile's schema types it, or as the original's grader wants it."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is fixed for all tasks of a category. `difficulty` is assigned by the number of steps.

    `codes` and `texts` are the facts that a task of the category must carry; `needs_patient` and
    `needs_solution` say what else it must have.
    """

    id: str
    title: str
    kind: Kind
    difficulty: Difficulty
    steps: str
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    needs_patient: bool = True
    needs_solution: bool = False


@dataclass(frozen=True, slots=True)
class Quota:
    """How many of a category's 30 tasks a branch gets.

    `side` groups the branches that may stand in for each other where a chart lacks one: those that
    need the write, those that must not have it.
    """

    branch: str
    count: int
    side: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that a chart could supply: who, when, in which branch, with which texts."""

    branch: str
    now: datetime
    person: Person | None
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What makes it this candidate: no two tasks of a category share it."""
        who = self.person.ref.reference if self.person is not None else "nobody"
        return "/".join((who, *self.texts.values()))


@dataclass(frozen=True, slots=True)
class Draft:
    """What a category writes of a task: the context's sentences, the facts, a stored solution."""

    context: tuple[str, ...]
    facts: Facts
    solution: list[Any] | None = None


class Grader(Protocol):
    """What it takes to judge tasks of a category; all that a plugin must have."""

    @property
    def traits(self) -> Traits:
        """What is fixed for all its tasks."""
        ...

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Read from the chart what both rule sets need; ChartError passes through."""
        ...

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """What a rule set asks of an attempt. Pure."""
        ...


class Category(Grader, Protocol):
    """One of the ten categories: a module of this folder, looked up in `CATEGORIES`; it makes tasks too."""

    @property
    def quotas(self) -> tuple[Quota, ...]:
        """How a set's 30 tasks are divided over its branches."""
        ...

    @property
    def phrases(self) -> tuple[str, ...]:
        """Its instructions, with `{mrn}` and the facts' texts to be filled in."""
        ...

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Every task of the category that the chart can supply, in a stable order."""
        ...

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The words and facts of one task."""
        ...


def patient_of(task: Task) -> PatientRef:
    """The task's patient; raises ValueError where a category that needs one has none."""
    if task.patient is None:
        raise ValueError(f"task {task.id}: {task.category} needs a patient")
    return task.patient


def person_of(candidate: Candidate) -> PatientRef:
    """The candidate's patient; raises ValueError where a category that needs one has none."""
    if candidate.person is None:
        raise ValueError(f"a candidate of branch {candidate.branch} needs a patient")
    return candidate.person.ref


def value_answer(
    measurement: Measurement | None, analyte: Analyte, rules: RuleSet, *, with_time: bool = False
) -> AnswerRule:
    """The answer that states a measurement, `[-1]` where there is none.

    Under `clinical` a value stored in another unit is wanted in the protocol's, to a hundredth.
    """
    if measurement is None:
        return AnswerRule("exact", (-1,), units=analyte.spellings)
    value, tolerance, stored = measurement.value, STORED_TOLERANCE, None
    units = analyte.spellings
    if rules == "clinical" and measurement.unit is not None:
        value = analyte.convert(measurement.value, measurement.unit)
        if value is measurement.value:
            units |= {squeeze(measurement.unit)}
        else:
            tolerance = CONVERTED_TOLERANCE * abs(value)
            stored = (float(measurement.value), squeeze(measurement.unit))
    values: tuple[str | int | float, ...] = (value, measurement.stamp) if with_time else (value,)
    return AnswerRule(
        "exact",
        values,
        units=units,
        times=frozenset({1}) if with_time else frozenset(),
        tolerance=tolerance,
        stored=stored,
    )


def gold_attempt(task: Task, expected: Expected, profile: Form) -> Attempt:
    """An attempt that does exactly what is expected, in one of the forms.

    `r4` writes FHIR (route a CodeableConcept, note a list), `medagentbench` what its schema types
    (route an object with a text, note one object), `original` what its grader wants (route a string).
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


def resource_for(write: Write, profile: Form) -> dict[str, Any]:
    """The resource of an expected write in one of the forms."""
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
