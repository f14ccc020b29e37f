"""One clinical task, as contract section 5 writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .instants import parse_instant

Kind = Literal["query", "action"]
Difficulty = Literal["easy", "medium", "hard"]
_REFERENCE = re.compile(r"Patient/[A-Za-z0-9.-]{1,64}")
DEFAULT_NOW = "2023-11-13T10:15:00+00:00"
"""The moment at which the original files' and the bundled set's tasks are set."""


class FieldError(ValueError):
    """A record's field is missing or of the wrong type; `field` is its dotted name."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"{field_name} {problem}")
        self.field = field_name
        self.problem = problem


@dataclass(frozen=True, slots=True)
class PatientRef:
    """The patient of a task: the FHIR reference that a write's subject must carry, and the MRN."""

    reference: str
    mrn: str

    @property
    def id(self) -> str:
        """The logical id: what follows the last slash of the reference."""
        return self.reference.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the task's text tells an agent, in a form that programs read (docs/tasks.md lists the keys).

    `codes` are search and order codes, `texts` are quoted strings, `values` are everything else.
    """

    codes: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """A task: what the agent is told (`instruction`, `context`) and what the graders need.

    `category` is task1 to task10 or a plugin's; `branch` names the case that the chart puts the task in, for
    balance and reports; no grader reads it. `solution` is the stored answer where there is one.
    """

    id: str
    category: str
    kind: Kind
    difficulty: Difficulty
    branch: str
    instruction: str
    context: str
    now: str
    patient: PatientRef | None
    facts: Facts
    solution: list[Any] | None = None

    @property
    def now_instant(self) -> datetime:
        """`now` as an instant; raises ValueError where it is not a dateTime with a zone."""
        instant = parse_instant(self.now)
        if instant is None:
            raise ValueError(f"task {self.id}: now is {self.now!r}, not a dateTime with a zone")
        return instant

    @property
    def asks_value(self) -> bool:
        """Whether the text asks for the measured value, so that `[]` is no answer."""
        return self.facts.values.get("asks_value", True) is not False

    def code(self, name: str) -> str:
        """One of `facts.codes`; raises ValueError naming the task where it is missing."""
        try:
            return self.facts.codes[name]
        except KeyError:
            raise ValueError(f"task {self.id}: facts.codes.{name} is missing") from None

    def text(self, name: str) -> str:
        """One of `facts.texts`; raises ValueError naming the task where it is missing."""
        try:
            return self.facts.texts[name]
        except KeyError:
            raise ValueError(f"task {self.id}: facts.texts.{name} is missing") from None

    def to_json(self) -> dict[str, Any]:
        """The task's record, keys in the contract's order."""
        return {
            "id": self.id,
            "category": self.category,
            "kind": self.kind,
            "difficulty": self.difficulty,
            "branch": self.branch,
            "instruction": self.instruction,
            "context": self.context,
            "now": self.now,
            "patient": None
            if self.patient is None
            else {"reference": self.patient.reference, "mrn": self.patient.mrn},
            "facts": {
                "codes": dict(self.facts.codes),
                "texts": dict(self.facts.texts),
                "values": dict(self.facts.values),
            },
            "solution": self.solution,
        }

    @classmethod
    def from_json(cls, record: object) -> Task:
        """Read a record; raises FieldError naming the first field that is missing or wrong."""
        if not isinstance(record, dict):
            raise FieldError("task", "is not a JSON object")
        now = _text(record, "now", "now")
        if parse_instant(now) is None:
            raise FieldError("now", "is not a dateTime with a zone")
        solution = record.get("solution")
        if solution is not None and not isinstance(solution, list):
            raise FieldError("solution", "is not a list")
        return cls(
            id=_text(record, "id", "id"),
            category=_text(record, "category", "category"),
            kind=_choice(record, "kind", ("query", "action")),
            difficulty=_choice(record, "difficulty", ("easy", "medium", "hard")),
            branch=_text(record, "branch", "branch", default=""),
            instruction=_text(record, "instruction", "instruction"),
            context=_text(record, "context", "context", default=""),
            now=now,
            patient=_patient(record.get("patient")),
            facts=_facts(record.get("facts")),
            solution=solution,
        )


def _text(record: Mapping[str, Any], key: str, name: str, *, default: str | None = None) -> str:
    value = record.get(key, default)
    if not isinstance(value, str):
        raise FieldError(name, "is missing" if key not in record else "is not text")
    if not value and default is None:
        raise FieldError(name, "is empty")
    return value


def _choice(record: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> Any:
    value = record.get(key)
    if value not in choices:
        raise FieldError(key, f"is not one of {', '.join(choices)}")
    return value


def _patient(value: object) -> PatientRef | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise FieldError("patient", "is not an object")
    reference = _text(value, "reference", "patient.reference")
    if not _REFERENCE.fullmatch(reference):
        raise FieldError("patient.reference", "is not Patient/ and an id")
    return PatientRef(reference, _text(value, "mrn", "patient.mrn"))


def _facts(value: object) -> Facts:
    if value is None:
        return Facts()
    if not isinstance(value, dict):
        raise FieldError("facts", "is not an object")
    parts: dict[str, dict[str, Any]] = {}
    for name in ("codes", "texts", "values"):
        part = value.get(name, {})
        if not isinstance(part, dict):
            raise FieldError(f"facts.{name}", "is not an object")
        for key, item in part.items():
            if name != "values" and not isinstance(item, str):
                raise FieldError(f"facts.{name}.{key}", "is not text")
        parts[name] = dict(part)
    return Facts(**parts)
