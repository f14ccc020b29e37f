"""MedAgentBench's own task files (test_data_v1.json, test_data_v2.json), read unchanged.

Each entry has id, instruction, context, mostly eval_MRN, and sol where the answer is stored. All else
is taken from its words: the moment, the codes, the quoted value and the referral's text. The files
state no difficulty; it is assigned by category.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .categories import find_category
from .categories.find_patient import NOT_FOUND
from .expect import LOINC, NDC, SNOMED
from .instants import parse_instant
from .task import DEFAULT_NOW, Facts, FieldError, PatientRef, Task

_NOW: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2})")
_QUOTED: Final = re.compile(r'"([^"]+)"')
_LAB: Final = re.compile(r'code for [^"]{1,40}"([^"]+)"')
_FLOWSHEET: Final = re.compile(r"flowsheet ID for [\w ]+ is (\w+)")
_NDC: Final = re.compile(r"NDC for [\w ]+ is ([\d-]+)")
_SNOMED: Final = re.compile(r"SNOMED code for [\w ]+ is (\d+)")
_LOINC: Final = re.compile(r"LOINC code for [\w ]+ is:? ?(\d+-\d)")
_PERSON: Final = re.compile(r"with name (.+?) and DOB of (\d{4}-\d{2}-\d{2})")
UNSTATED = "unstated"
"""The branch of an original task: only the chart tells it."""


def task_from_original(entry: object) -> Task:
    """One entry as a Task, ids, words and stored solutions kept.

    Raises FieldError naming the field that is missing, of the wrong type, or lacks what its
    category needs.
    """
    if not isinstance(entry, dict):
        raise FieldError("entry", "is not a JSON object")
    task_id = _text(entry, "id")
    category = find_category(task_id.split("_")[0])
    if category is None:
        raise FieldError("id", f"is {task_id!r}, which names none of task1 to task10")
    instruction, context = _text(entry, "instruction"), _text(entry, "context", may_be_empty=True)
    solution = entry.get("sol")
    if solution is not None and not isinstance(solution, list):
        raise FieldError("sol", "is not a list")
    mrn = entry.get("eval_MRN")
    if mrn is not None and (not isinstance(mrn, str) or not mrn):
        raise FieldError("eval_MRN", "is not text")
    traits = category.traits
    if traits.id == "task1" and solution is None:
        raise FieldError("sol", "is missing, and task1 needs it")
    if traits.id != "task1" and mrn is None:
        raise FieldError("eval_MRN", f"is missing, and {traits.id} needs it")
    return Task(
        id=task_id,
        category=traits.id,
        kind=traits.kind,
        difficulty=traits.difficulty,
        branch=UNSTATED,
        instruction=instruction,
        context=context,
        now=_now(context),
        patient=None if mrn is None else PatientRef(f"Patient/{mrn}", mrn),
        facts=_FACTS[traits.id](instruction, context),
        solution=solution,
    )


def _text(entry: Mapping[str, Any], field: str, *, may_be_empty: bool = False) -> str:
    value = entry.get(field)
    if not isinstance(value, str):
        raise FieldError(field, "is missing" if field not in entry else "is not text")
    if not value and not may_be_empty:
        raise FieldError(field, "is empty")
    return value


def _now(context: str) -> str:
    match = _NOW.search(context)
    if match is None:
        return DEFAULT_NOW
    if parse_instant(match[0]) is None:
        raise FieldError("context", f"names the time {match[0]}, which does not exist")
    return match[0]


def _find(pattern: re.Pattern[str], text: str, field: str, what: str) -> str:
    match = pattern.search(text)
    if match is None:
        raise FieldError(field, f"names no {what}")
    return match[1]


def _person(instruction: str, context: str) -> Facts:
    match = _PERSON.search(instruction)
    if match is None:
        raise FieldError("instruction", "names no patient and birth date")
    given, _, family = match[1].rpartition(" ")
    texts = {"given": given, "family": family, "birthdate": match[2], "not_found": NOT_FOUND}
    return Facts(texts=texts)


def _nothing(instruction: str, context: str) -> Facts:
    return Facts()


def _blood_pressure(instruction: str, context: str) -> Facts:
    return Facts(
        codes={"flowsheet": _find(_FLOWSHEET, context, "context", "flowsheet code")},
        texts={"value": _find(_QUOTED, instruction, "instruction", "quoted value")},
    )


def _lab(instruction: str, context: str) -> Facts:
    return Facts(codes={"lab": _find(_LAB, context, "context", "laboratory code")})


def _magnesium_order(instruction: str, context: str) -> Facts:
    codes = {
        "lab": _find(_LAB, context, "context", "laboratory code"),
        "medication": _find(_NDC, context, "context", "NDC"),
        "medication_system": NDC,
    }
    return Facts(codes=codes, values={"asks_value": False})


def _referral(instruction: str, context: str) -> Facts:
    return Facts(
        codes={"order": _find(_SNOMED, context, "context", "SNOMED code"), "order_system": SNOMED},
        texts={"note": _find(_QUOTED, instruction, "instruction", "quoted referral text")},
    )


def _potassium_order(instruction: str, context: str) -> Facts:
    codes = {
        "lab": _find(_LAB, context, "context", "laboratory code"),
        "medication": _find(_NDC, context, "context", "NDC"),
        "medication_system": NDC,
        "order": _find(_LOINC, context, "context", "LOINC code"),
        "order_system": LOINC,
    }
    return Facts(codes=codes, values={"asks_value": False})


def _hba1c(instruction: str, context: str) -> Facts:
    codes = {
        "lab": _find(_LAB, context, "context", "laboratory code"),
        "order": _find(_LOINC, context, "context", "LOINC code"),
        "order_system": LOINC,
    }
    return Facts(codes=codes, values={"asks_value": True})


_FACTS: Final[Mapping[str, Callable[[str, str], Facts]]] = {
    "task1": _person,
    "task2": _nothing,
    "task3": _blood_pressure,
    "task4": _lab,
    "task5": _magnesium_order,
    "task6": _lab,
    "task7": _lab,
    "task8": _referral,
    "task9": _potassium_order,
    "task10": _hba1c,
}
