"""What a builtin knows of a task: what its text says, in a form that a program reads.

Everything here stands in the instruction or the context that every agent is given. The stored
solution, the branch and the patient's record are left out on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wardround_tasks.expect import LOINC, NDC, SNOMED
from wardround_tasks.task import Task

NOT_FOUND = "Patient not found"
"""What the tasks want to hear where nobody has the name and birth date."""


@dataclass(frozen=True, slots=True)
class Brief:
    """A task as its text gives it. A field that its category does not have is empty."""

    task_id: str
    category: str
    now: str
    mrn: str = ""
    given: str = ""
    family: str = ""
    birth_date: str = ""
    not_found: str = ""
    lab: str = ""
    medication: str = ""
    medication_system: str = NDC
    order: str = ""
    order_system: str = LOINC
    flowsheet: str = ""
    reading: str = ""
    note: str = ""

    @property
    def full_name(self) -> str:
        """Given names, then the family name."""
        return f"{self.given} {self.family}"


def briefs(tasks: Iterable[Task]) -> dict[str, Brief]:
    """The brief of every task, by id."""
    return {task.id: read_brief(task) for task in tasks}


def read_brief(task: Task) -> Brief:
    """What the task's text says. Of the patient that is the record number, where the text names it."""
    codes, texts = task.facts.codes, task.facts.texts
    named = task.patient is not None and task.category != "task1"
    return Brief(
        task_id=task.id,
        category=task.category,
        now=task.now,
        mrn=task.patient.mrn if named and task.patient is not None else "",
        given=texts.get("given", ""),
        family=texts.get("family", ""),
        birth_date=texts.get("birthdate", ""),
        not_found=texts.get("not_found", NOT_FOUND),
        lab=codes.get("lab", ""),
        medication=codes.get("medication", ""),
        medication_system=codes.get("medication_system", NDC),
        order=codes.get("order", ""),
        order_system=codes.get("order_system", SNOMED if task.category == "task8" else LOINC),
        flowsheet=codes.get("flowsheet", ""),
        reading=texts.get("value", ""),
        note=texts.get("note", ""),
    )
