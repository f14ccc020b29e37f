"""Invented tasks with what a chart says about them: the stages on which the graders are tried.

They hold the cases that a chart of real results would not: values dated after now, and values in other
units, on which the two rule sets differ by design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from .categories import find_category
from .expect import LOINC, NDC, SNOMED
from .instants import parse_stamp
from .reference import Measurement, Reference
from .task import DEFAULT_NOW, Facts, PatientRef, Task

PATIENT: Final = PatientRef("Patient/S1000001", "S1000001")
OTHER_PATIENT: Final = "Patient/S1000002"
NOTE: Final = "Situation: fall. Background: none. Assessment: wrist fracture. Recommendation: please review."


@dataclass(frozen=True, slots=True)
class Scene:
    """A task, its reference, and answers that someone who looks in the wrong place would give.

    `decoys` are values that stand in the chart but are not the answer: older, newer than now, in
    another unit.
    """

    name: str
    task: Task
    reference: Reference
    decoys: tuple[float, ...] = ()


def scenes() -> tuple[Scene, ...]:
    """Every stage, the ten categories in turn."""
    return (
        _scene("found", "task1", solution=[PATIENT.mrn], texts=_PERSON),
        _scene("not found", "task1", solution=["Patient not found"], texts=_PERSON),
        _scene("age", "task2", born=date(1950, 11, 14)),
        _scene("reading", "task3", codes={"flowsheet": "BP"}, texts={"value": "118/77 mmHg"}),
        _scene(
            "in the window", "task4", [(2.1, "13T04:00"), (1.4, "12T12:00"), (1.1, "11T08:00")], (1.4, 1.1)
        ),
        _scene("older only", "task4", [(1.1, "11T08:00")], (1.1,)),
        _scene("dated after now", "task4", [(1.4, "13T20:00"), (2.1, "13T04:00")], (1.4,)),
        _scene("other unit", "task4", [(0.9, "13T04:00", "mmol/L")], (0.9,)),
        _scene("severe", "task5", [(0.8, "13T04:00"), (2.2, "12T12:00")], (2.2,)),
        _scene("moderate", "task5", [(1.0, "13T04:00"), (0.8, "12T12:00")], (0.8,)),
        _scene("mild", "task5", [(1.9, "13T04:00"), (1.2, "11T08:00")], (1.2,)),
        _scene("normal", "task5", [(2.0, "13T04:00"), (0.9, "12T12:00")], (0.9,)),
        _scene("older only", "task5", [(0.9, "11T08:00")], (0.9,)),
        _scene("dated after now", "task5", [(2.4, "13T20:00"), (1.2, "13T04:00")], (2.4,)),
        _scene("other unit", "task5", [(0.9, "13T04:00", "mmol/L")], (0.9,)),
        _scene("several", "task6", [(101, "13T04:00"), (120, "12T12:00"), (300, "11T08:00")], (101, 300)),
        _scene("older only", "task6", [(300, "11T08:00")], (300,)),
        _scene("several", "task7", [(101, "13T04:00"), (120, "12T12:00")], (120,)),
        _scene("never", "task7", []),
        _scene(
            "referral",
            "task8",
            codes={"order": "306181000000106", "order_system": SNOMED},
            texts={"note": NOTE},
        ),
        _scene("low", "task9", [(3.1, "13T04:00"), (4.0, "12T12:00")], (4.0,)),
        _scene("normal", "task9", [(3.5, "13T04:00"), (2.9, "12T12:00")], (2.9,)),
        _scene("never", "task9", []),
        _scene("overdue", "task10", [(7.9, "2022-11-13T10:14"), (6.0, "2021-01-05T08:00")], (6.0,)),
        _scene("never", "task10", []),
        _scene("recent", "task10", [(7.9, "2022-11-13T10:15"), (6.0, "2021-01-05T08:00")], (6.0,)),
    )


_PERSON: Final = {
    "given": "Ada",
    "family": "Ash",
    "birthdate": "1950-11-14",
    "not_found": "Patient not found",
}
_CODES: Final[Mapping[str, Mapping[str, str]]] = {
    "task4": {"lab": "MG"},
    "task5": {"lab": "MG", "medication": "0338-1715-40", "medication_system": NDC},
    "task6": {"lab": "GLU"},
    "task7": {"lab": "GLU"},
    "task9": {
        "lab": "K",
        "medication": "40032-917-01",
        "medication_system": NDC,
        "order": "2823-3",
        "order_system": LOINC,
    },
    "task10": {"lab": "A1C", "order": "4548-4", "order_system": LOINC},
}
_UNITS: Final = {"task9": "mmol/L", "task10": "%"}


def _scene(
    name: str,
    category_id: str,
    values: list[Any] | None = None,
    decoys: tuple[float, ...] = (),
    *,
    solution: list[Any] | None = None,
    codes: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    born: date | None = None,
) -> Scene:
    category = find_category(category_id)
    if category is None:
        raise ValueError(f"there is no category {category_id}")
    traits = category.traits
    unit = _UNITS.get(category_id, "mg/dL")
    task = Task(
        id=f"{category_id}_{name.replace(' ', '_')}",
        category=category_id,
        kind=traits.kind,
        difficulty=traits.difficulty,
        branch=name,
        instruction=traits.title,
        context="",
        now=DEFAULT_NOW,
        patient=None if solution == ["Patient not found"] else PATIENT,
        facts=Facts(codes or _CODES.get(category_id, {}), texts or {}, {"asks_value": True}),
        solution=solution,
    )
    measurements = tuple(_measurement(unit, *value) for value in values or ())
    return Scene(name, task, Reference(task.id, measurements, born), decoys)


def _measurement(usual: str, value: float, when: str, unit: str | None = None) -> Measurement:
    stamp = f"{when if when.startswith('20') else f'2023-11-{when}'}:00+00:00"
    at = parse_stamp(stamp)
    if at is None:
        raise ValueError(f"{stamp} is no time")
    return Measurement(at, stamp, value, unit or usual)
