"""What a task expects of an attempt: the writes, field by field, and the answer.

A category states these once for both rule sets; `strict.py` and `clinical.py` judge them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .task import PatientRef

NDC = "http://hl7.org/fhir/sid/ndc"
LOINC = "http://loinc.org"
SNOMED = "http://snomed.info/sct"
UCUM = "http://unitsofmeasure.org"
OBSERVATION_CATEGORY = "http://hl7.org/fhir/observation-category"
OBSERVATION_CATEGORY_R4 = "http://terminology.hl7.org/CodeSystem/observation-category"
MEAN_TOLERANCE = 0.1
"""How far an answered mean may be off, itself excluded."""
STORED_TOLERANCE = 1e-6
"""How far a stored value may be off under `clinical`."""


@dataclass(frozen=True, slots=True)
class VitalWrite:
    """An Observation that records a value: flowsheet code, time, the value's text."""

    patient: PatientRef
    code_text: str
    at: str
    value: str
    resource_type: str = "Observation"


@dataclass(frozen=True, slots=True)
class MedicationWrite:
    """A MedicationRequest for one dose.

    `authored_minute` is `now` to the minute (YYYY-MM-DDTHH:MM). With `hours` the dose runs as an
    infusion over that time and the dose is exact; without, it is taken by mouth and may be
    `tolerance` off. `drug` is the word that a name of the drug has in it, in small letters; "" takes any.
    """

    patient: PatientRef
    system: str
    code: str
    now: str
    route: str
    dose: float
    unit: str
    hours: float | None = None
    tolerance: float = 0.0
    drug: str = ""
    resource_type: str = "MedicationRequest"

    @property
    def authored_minute(self) -> str:
        """`now` to the minute, as written."""
        return self.now[:16]


@dataclass(frozen=True, slots=True)
class ServiceWrite:
    """A ServiceRequest: code, signed now, stat; with a note to contain or a time to be done at.

    `at` is the occurrence as a dateTime; any minute of its hour will do.
    """

    patient: PatientRef
    system: str
    code: str
    now: str
    note: str | None = None
    at: str | None = None
    resource_type: str = "ServiceRequest"


Write = VitalWrite | MedicationWrite | ServiceWrite


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """What the final answer must be.

    kind "exact": the list `values`; "mean": one number within 0.1 of `values[0]`; "any": whatever;
    "unless_wrong": whatever does not state another value than `values[0]` (numbers in `also` may
    stand beside it); "impossible": no answer is right, for the chart lacks what it takes.

    `empty_ok`: `[]` will do (medagentbench). For the clinical rules: `units` are the spellings,
    without blanks and case, that may follow a number in a string; `times` names the places of
    `values` that are instants; `tolerance` is how far a number may be off; `stored` is a converted
    value as the chart has it, with its unit, which a string may give as well.
    """

    kind: Literal["exact", "mean", "any", "unless_wrong", "impossible"]
    values: tuple[str | int | float, ...] = ()
    empty_ok: bool = False
    units: frozenset[str] = frozenset()
    also: tuple[float, ...] = ()
    times: frozenset[int] = frozenset()
    tolerance: float = STORED_TOLERANCE
    stored: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """All that one rule set asks of an attempt on a task. No `writes` means that none may be tried."""

    answer: AnswerRule
    writes: tuple[Write, ...] = ()


def steps(path: str, *more: str | int) -> str:
    """A JSON path below another: keys after a dot, places in brackets."""
    return path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in more)


def walk(value: object, *path: str | int) -> object:
    """The value at a path into JSON, MISSING where there is none; never raises."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return MISSING
            value = value[step]
        else:
            if not isinstance(value, Mapping) or step not in value:
                return MISSING
            value = value[step]
    return value


class _Missing:
    """What stands for a field that is not there; equal to nothing else."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


def seen(value: object) -> object:
    """A value for a failure's `got`: null where there was none."""
    return None if value is MISSING else value


def number(value: object) -> int | float | None:
    """A JSON number; Python's True and False count as 1 and 0 here, as its arithmetic has them."""
    return value if isinstance(value, (int, float)) else None
