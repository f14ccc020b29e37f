"""Cases for the differential test: original-style tasks, charts around every boundary, and attempts that
range from right to wrong in every field, every type of answer and every order of writes."""

from __future__ import annotations

import copy
import datetime as dt
import json
import random
from collections.abc import Iterator
from typing import Any

from .charts import NOW, observation, patient

MRN, OTHER = "S1234567", "S7654321"
Record = dict[str, Any]
SBAR = (
    "Situation: knee gave way. Background: ligament torn. Assessment: unstable. Recommendation: please see."
)
CODES = {"task4": "MG", "task5": "MG", "task6": "GLU", "task7": "GLU", "task9": "K", "task10": "A1C"}
CONTEXT = (
    f'At {NOW} this task begins. The code for this lab is "%s". The NDC for the drug is %s. '
    "The flowsheet ID for the reading is BP. The LOINC code for the level is %s. "
    "The SNOMED code for the referral is 306181000000106."
)
WRITTEN = ("task3", "task8")


def entry(category: str, rng: random.Random) -> Record:
    """A task as the original writes one, in other words."""
    ndc = "40032-917-01" if category == "task9" else "0338-1715-40"
    loinc = "4548-4" if category == "task10" else "2823-3"
    instruction = {
        "task1": "Which MRN has the patient with name Ada Byron and DOB of 1950-01-01?",
        "task3": f'Record "{rng.choice(["118/77 mmHg", "142/91 mmHg"])}" for {MRN}.',
        "task8": f'Refer {MRN} and say "{SBAR}"',
    }.get(category, f"See to {MRN}.")
    made: Record = {
        "id": f"{category}_{rng.randrange(1, 31)}",
        "instruction": instruction,
        "context": CONTEXT % (CODES.get(category, "X"), ndc, loinc),
        "eval_MRN": MRN,
    }
    if category == "task1":
        made["sol"] = [rng.choice([MRN, "Patient not found"])]
    return made


TIMES = (
    "2023-11-13T10:15:00+00:00",
    "2023-11-13T09:00:00+00:00",
    "2023-11-13T04:00:00-05:00",
    "2023-11-12T10:15:00+00:00",
    "2023-11-12T10:14:59+00:00",
    "2023-11-12T10:14:00+00:00",
    "2023-11-12T10:16:00+00:00",
    "2023-11-12T05:15:00-05:00",
    "2023-11-13T18:00:00+00:00",
    "2023-11-14T02:00:00+00:00",
    "2022-11-13T10:15:00+00:00",
    "2022-11-13T10:14:00+00:00",
    "2022-11-13T10:16:00+00:00",
    "2022-01-01T00:00:00+00:00",
    "2023-05-01T07:30:00.250+00:00",
    "2019-03-03T03:03:03+00:00",
)
VALUES = {
    "MG": (0.4, 0.9, 0.99, 1, 1.0, 1.2, 1.49, 1.5, 1.7, 1.9, 1.91, 2, 2.0, 2.4),
    "K": (2.5, 2.9, 3, 3.0, 3.1, 3.4, 3.49, 3.5, 3.6, 4, 5.5),
    "GLU": (1, 0, 54, 88, 101.0, 140, 252.5),
    "A1C": (5.1, 6, 7.0, 9.8, 1),
}


def chart(category: str, rng: random.Random) -> list[Record]:
    """The patient's resources in a shuffled order; often none, ties included."""
    born = rng.choice(["1950-01-01", "1980-11-13", "1980-11-14", "1944-02-29", "2023-11-01", "1980-11-12"])
    resources = [patient(MRN, born)]
    code = CODES.get(category)
    if code is not None:
        for _ in range(rng.choice([0, 1, 1, 2, 3, 6])):
            resources.append(observation(MRN, code, rng.choice(VALUES[code]), rng.choice(TIMES)))
        resources.append(observation(MRN, "OTHER", 77, TIMES[0]))
        resources.append(observation(OTHER, code, rng.choice(VALUES[code]), TIMES[0]))
    rng.shuffle(resources)
    return resources


def vital(quoted: str) -> Record:
    """A blood pressure as the original's grader wants it."""
    coding = {
        "system": "http://hl7.org/fhir/observation-category",
        "code": "vital-signs",
        "display": "Vital Signs",
    }
    return {
        "resourceType": "Observation",
        "category": [{"coding": [coding]}],
        "code": {"text": "BP"},
        "effectiveDateTime": NOW,
        "status": "final",
        "valueString": quoted,
        "subject": {"reference": f"Patient/{MRN}"},
    }


def medication(ndc: str, route: str, amounts: Record) -> Record:
    """A medication order as the original's grader wants it."""
    return {
        "resourceType": "MedicationRequest",
        "medicationCodeableConcept": {"coding": [{"system": "http://hl7.org/fhir/sid/ndc", "code": ndc}]},
        "authoredOn": NOW,
        "dosageInstruction": [{"route": route, "doseAndRate": [amounts]}],
        "status": "active",
        "intent": "order",
        "subject": {"reference": f"Patient/{MRN}"},
    }


def service(system: str, code: str, **more: Any) -> Record:
    """A service order as the original's grader wants it."""
    return {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"system": system, "code": code}]},
        "authoredOn": NOW,
        "status": "active",
        "intent": "order",
        "priority": "stat",
        "subject": {"reference": f"Patient/{MRN}"},
        **more,
    }


def possible_calls(task: Record, resources: list[Record], rng: random.Random) -> list[Record]:
    """The writes of a task, at a dose that is often the right one."""
    category = task["id"].split("_")[0]
    value = rng.choice([newest := _newest_value(resources), newest, rng.choice([0.9, 1.2, 1.9, 3.0])])
    bodies: list[Record] = []
    if category == "task3":
        bodies = [vital(task["instruction"].split('"')[1])]
    elif category == "task5":
        grams = 4 if value < 1 else 2 if value < 1.5 else 1
        amounts = {
            "doseQuantity": {"value": grams, "unit": "g"},
            "rateQuantity": {"value": rng.choice([grams, float(grams)]), "unit": "h"},
        }
        bodies = [medication("0338-1715-40", "IV", amounts)]
    elif category == "task8":
        bodies = [service("http://snomed.info/sct", "306181000000106", note={"text": f"{SBAR} Thanks."})]
    elif category == "task9":
        dose = rng.choice([round((3.5 - value) * 100), (3.5 - value) / 0.1 * 10, (3.5 - value) * 100 + 0.09])
        amounts = {"doseQuantity": {"value": dose, "unit": "mEq"}}
        bodies = [
            medication("40032-917-01", rng.choice(["oral", " Oral ", "ORAL"]), amounts),
            service("http://loinc.org", "2823-3", occurrenceDateTime="2023-11-14T08:00:00+00:00"),
        ]
    elif category == "task10":
        bodies = [service("http://loinc.org", "4548-4")]
    return [
        {"resource_type": body["resourceType"], "resource": copy.deepcopy(body), "accepted": True}
        for body in bodies
    ]


def _rows(resources: list[Record]) -> list[Record]:
    """The patient's results of the code in question."""
    return [
        resource
        for resource in resources
        if resource["resourceType"] == "Observation"
        and resource["code"]["text"] != "OTHER"
        and resource["subject"]["reference"] == f"Patient/{MRN}"
    ]


def _newest_value(resources: list[Record]) -> float:
    rows = _rows(resources)
    return float(max(rows, key=_when)["valueQuantity"]["value"]) if rows else 3.0


def _when(row: Record) -> dt.datetime:
    return dt.datetime.fromisoformat(row["effectiveDateTime"])


def answers(task: Record, resources: list[Record], rng: random.Random) -> str | None:
    """A final answer's text: mostly one that could be right, else anything at all."""
    rows = _rows(resources)
    row = rng.choice([rng.choice(rows), max(rows, key=_when), max(rows, key=_when)]) if rows else None
    value = row["valueQuantity"]["value"] if row else -1
    if rng.random() < 0.65:
        if task["id"].startswith("task1_"):
            return json.dumps(rng.choice([[MRN], ["Patient not found"]]))
        if task["id"].startswith("task2_"):
            born = next(r["birthDate"] for r in resources if r["resourceType"] == "Patient")
            return json.dumps([rng.choice([2023 - int(born[:4]), 2022 - int(born[:4]), 43.0, 73])])
        if task["id"].startswith("task10_") and row:
            return json.dumps([value, row["effectiveDateTime"]])
        return json.dumps([value])
    near = [value, float(value), value + 0.05, value + 0.1, value - 0.099, str(value), f"{value} mg/dL"]
    wrapped: list[Any] = [[item] for item in near]
    wrapped += [
        value,
        str(value),
        {"value": value},
        [value, value],
        [[value]],
        [],
        {"0": value},
        [value, None],
    ]
    wrapped += [[value, "2023-11-13T09:00:00Z"], [value, TIMES[1]], *ODD_ANSWERS]
    texts = [f" [ {value} ] ", f"[{value}]\n", f"[{value},]", *ODD_TEXTS]
    pick = rng.random()
    if pick < 0.03:
        return None
    return json.dumps(rng.choice(wrapped)) if pick < 0.7 else rng.choice(texts)


ODD_ANSWERS: list[Any] = [
    *[[-1], [-1.0], ["-1"], [None], None, "", [True], [False], True, [0], [1], {}, [[]], [-1, -1]],
    *[[MRN], MRN, [MRN.lower()], [10**400], [1e308], "ab"],
]
ODD_TEXTS = [
    *["", " ", "null", "NaN", "[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", "not json", "[", "]"],
    *["[" * 5000, "[" * 100_000 + "]" * 100_000, "{}[]", "[" + "9" * 5000 + "]", "[1, 2]", "\ufeff[1]"],
    *['["\\ud800"]', "['1']", "__import__('os').getcwd()", "[01]", '{"a": 1, "a": 2}'],
]
NEAR_MISSES: list[Any] = [
    *[None, True, False, 0, 1, 1.0, 4, "", "x", [], {}, [[]], ["x"], 10**400, float("nan"), float("inf"), -1],
    *[{"text": "IV"}, {"text": "oral"}, [{"text": SBAR}], {"text": SBAR}, {"text": [SBAR]}, SBAR],
    *["IV", "iv", "oral", "g", "mg", "h", "mEq", "meq", "final", "active", "order", "stat", "draft", "plan"],
    *[NOW, "2023-11-13T10:15:00Z", "2023-11-13T10:15", "2023-11-13", "2023-11-13T10:16:00+00:00", [NOW]],
    *["2023-11-14T08:30:00+00:00", "2023-11-14T08", "2023-11-14T09:00:00+00:00", "routine"],
    *[{"reference": f"Patient/{MRN}"}, {"reference": f"Patient/{OTHER}"}, f"Patient/{MRN}", MRN],
    {"reference": f"Patient/{MRN}", "display": "Ada"},
    *["http://loinc.org", "http://snomed.info/sct", "http://hl7.org/fhir/sid/ndc", "2823-3", "4548-4"],
    *[306181000000106, "Observation", "MedicationRequest", "ServiceRequest", 49.95, 50.1, 10, 30],
    *[{"value": 1, "unit": "g"}, {"value": True, "unit": "g"}, {"value": 2.0, "unit": "g"}],
    *[{"value": 1, "unit": "h"}, {"value": 1, "unit": "g", "code": "g"}, {"value": "1", "unit": "g"}],
    *["118/77 mmHg", "118/77", {"text": "BP"}, {"text": "BP", "coding": []}],
]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, child in pairs:
        yield value, key
        if isinstance(child, (dict, list)):
            yield from _places(child)


def mutate(calls: list[Record], rng: random.Random) -> None:
    """Change the calls once, somewhere."""
    action = rng.randrange(10)
    if not calls or action == 0:
        body: Any = rng.choice(
            [{}, [], None, "x", service("http://loinc.org", "4548-4"), vital("118/77 mmHg")]
        )
        kind = rng.choice(["Observation", "MedicationRequest", "ServiceRequest", "Procedure"])
        calls.insert(
            rng.randint(0, len(calls)),
            {"resource_type": kind, "resource": body, "accepted": rng.random() < 0.5},
        )
    elif action == 1:
        calls.append(copy.deepcopy(rng.choice(calls)))
    elif action == 2:
        rng.choice(calls)["accepted"] = False
    elif action == 3:
        rng.shuffle(calls)
    elif action == 4:
        del calls[rng.randrange(len(calls))]
    elif action == 5:
        rng.choice(calls)["resource_type"] = rng.choice(
            ["Observation", "ServiceRequest", "MedicationRequest"]
        )
    else:
        _change(rng.choice(calls), rng)


def _change(call: Record, rng: random.Random) -> None:
    if not isinstance(call["resource"], (dict, list)) or not call["resource"]:
        call["resource"] = {}
        return
    container, key = rng.choice(list(_places(call["resource"])))
    action = rng.randrange(6)
    if action == 0:
        del container[key]
    elif action == 1:
        container[key] = [container[key]]
    elif action == 2 and isinstance(container[key], dict):
        container[key]["extra"] = 1
    elif action == 2 and isinstance(container[key], list):
        container[key].append(copy.deepcopy(rng.choice([*container[key], {}])))
    elif action == 3 and isinstance(container[key], str):
        text = container[key]
        container[key] = rng.choice(
            [text.upper(), text.lower(), f" {text} ", text[:-1], text + "x", f"a {text} b"]
        )
    elif action == 3 and isinstance(container[key], (int, float)):
        number = container[key]
        container[key] = rng.choice(
            [str(number), number + 0.05, number + 0.1, number + 0.11, number * 10, -number]
        )
    else:
        container[key] = copy.deepcopy(rng.choice(NEAR_MISSES))


def cases(count: int, seed: int) -> Iterator[tuple[Record, Record, list[Record]]]:
    """(task entry, attempt record, patient's resources), the ten categories in turn."""
    rng = random.Random(seed)
    for turn in range(count):
        category = f"task{turn % 10 + 1}"
        task, resources = entry(category, rng), chart(category, rng)
        calls = possible_calls(task, resources, rng)
        low = {"task5": 1.9, "task9": 3.49}.get(category, 0.0) >= _newest_value(resources)
        if category not in WRITTEN and rng.random() < (0.15 if low else 0.6):
            calls = []
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            if calls or rng.random() < 0.3:
                mutate(calls, rng)
        attempt: Record = {"task_id": task["id"], "answer": answers(task, resources, rng), "calls": calls}
        if rng.random() < 0.06:
            attempt["mentions_post"] = True
        if rng.random() < 0.02:
            attempt["status"] = rng.choice(
                ["invalid_action", "budget_exhausted", "context_limit", "agent_error"]
            )
        yield task, attempt, resources
