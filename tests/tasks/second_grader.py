"""A second `medagentbench` grader, written from the rules alone and sharing nothing with the first.

It works on plain records: the original-style entry of a task, an attempt's record, the patient's raw
resources. A rule that does not hold raises somewhere, and whatever raises fails.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

NOW = "2023-11-13T10:15:00+00:00"
DAY_AGO = dt.datetime(2023, 11, 12, 10, 15, tzinfo=dt.UTC)
YEAR_AGO = dt.datetime(2022, 11, 13, 10, 15, tzinfo=dt.UTC)
Record = dict[str, Any]


def passes(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    """The verdict on one attempt."""
    if attempt.get("status", "completed") != "completed" or attempt.get("answer") is None:
        return False
    try:
        return _RULES[entry["id"].split("_")[0]](entry, attempt, chart) is True
    except Exception:  # noqa: BLE001 - the rules: "it never raises"
        return False


def _silent(attempt: Record) -> bool:
    return not attempt["calls"] and not attempt.get("mentions_post", False)


def _sent(attempt: Record, *kinds: str) -> list[Record] | None:
    taken = [call for call in attempt["calls"] if call["accepted"]]
    if [call["resource_type"] for call in taken] != list(kinds):
        return None
    bodies = [call["resource"] for call in taken]
    return (
        bodies
        if all(body["resourceType"] == kind for body, kind in zip(bodies, kinds, strict=True))
        else None
    )


def _says(attempt: Record, *lists: list[Any]) -> bool:
    said = json.loads(attempt["answer"])
    return any(said == wanted for wanted in lists)


def _history(
    entry: Record, chart: list[Record], code: str, since: dt.datetime | None
) -> list[tuple[dt.datetime, Any, str]]:
    rows = []
    for resource in chart:
        if resource["resourceType"] != "Observation" or not _is_about(resource, entry):
            continue
        if resource["code"]["text"] == code:
            stamp = resource["effectiveDateTime"]
            when = dt.datetime.fromisoformat(stamp)
            if since is None or when >= since:
                rows.append((when, resource["valueQuantity"]["value"], stamp))
    return rows


def _last(rows: list[tuple[dt.datetime, Any, str]]) -> tuple[dt.datetime, Any, str] | None:
    # sorted() is stable, and a reversed sort keeps equal elements in their order
    ranked = sorted(rows, key=lambda row: row[0], reverse=True)
    return ranked[0] if ranked else None


def _is_about(body: Record, entry: Record) -> bool:
    return bool(body["subject"] == {"reference": "Patient/" + entry["eval_MRN"]})


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a string")
    return value


def _item(values: Any, place: int) -> Any:
    if type(values) is not list:
        raise TypeError("not a list")
    return values[place]


def _drug(body: Record, ndc: str) -> bool:
    coding = _item(body["medicationCodeableConcept"]["coding"], 0)
    return (
        coding["system"] == "http://hl7.org/fhir/sid/ndc"
        and coding["code"] == ndc
        and "2023-11-13T10:15" in _text(body["authoredOn"])
        and (body["status"], body["intent"]) == ("active", "order")
    )


def _request(body: Record, system: str, code: str) -> bool:
    coding = _item(body["code"]["coding"], 0)
    found = [coding["system"], coding["code"], body["authoredOn"], body["status"], body["intent"]]
    return found == [system, code, NOW, "active", "order"] and body["priority"] == "stat"


def _task1(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    return _silent(attempt) and _says(attempt, entry["sol"])


def _task2(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    born = next(resource["birthDate"] for resource in chart if resource["resourceType"] == "Patient")
    year, month, day = (int(part) for part in born.split("-"))
    age = 2023 - year if (month, day) <= (11, 13) else 2022 - year
    return _silent(attempt) and _says(attempt, [age])


def _task3(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    bodies = _sent(attempt, "Observation")
    if bodies is None:
        return False
    body = bodies[0]
    quoted = entry["instruction"].split('"')[1]
    if type(body["category"]) is not list or type(body["category"][0]["coding"]) is not list:
        return False
    return body["category"][0]["coding"] == [
        {
            "code": "vital-signs",
            "display": "Vital Signs",
            "system": "http://hl7.org/fhir/observation-category",
        }
    ] and [
        len(body["category"]),
        body["code"],
        body["effectiveDateTime"],
        body["status"],
        body["valueString"],
        _is_about(body, entry),
    ] == [1, {"text": "BP"}, NOW, "final", quoted, True]


def _task4(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    row = _last(_history(entry, chart, "MG", DAY_AGO))
    return _silent(attempt) and _says(attempt, [-1 if row is None else row[1]])


def _task5(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    row = _last(_history(entry, chart, "MG", DAY_AGO))
    if row is None:
        return _silent(attempt)
    if row[1] > 1.9:
        return _silent(attempt) and _says(attempt, [row[1]], [])
    bodies = _sent(attempt, "MedicationRequest")
    if bodies is None:
        return False
    grams = next(dose for limit, dose in ((1, 4), (1.5, 2), (99, 1)) if row[1] < limit)
    order = _item(bodies[0]["dosageInstruction"], 0)
    amounts = _item(order["doseAndRate"], 0)
    return (
        _drug(bodies[0], "0338-1715-40")
        and order["route"] == "IV"
        and amounts["doseQuantity"] == {"unit": "g", "value": grams}
        and amounts["rateQuantity"] == {"unit": "h", "value": grams}
        and _is_about(bodies[0], entry)
        and _says(attempt, [row[1]], [])
    )


def _task6(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    values = [row[1] for row in _history(entry, chart, "GLU", DAY_AGO)]
    mean = sum(values, 0.0) / len(values) if values else -1
    said = json.loads(attempt["answer"])
    if type(said) is not list or len(said) != 1 or type(said[0]) not in (int, float, bool):
        return False
    return _silent(attempt) and -0.1 < said[0] - mean < 0.1


def _task7(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    row = _last(_history(entry, chart, "GLU", None))
    return _silent(attempt) and _says(attempt, [-1 if row is None else row[1]])


def _task8(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    bodies = _sent(attempt, "ServiceRequest")
    if bodies is None:
        return False
    words = entry["instruction"].split('"')[1]
    return (
        _request(bodies[0], "http://snomed.info/sct", "306181000000106")
        and words in _text(bodies[0]["note"]["text"])
        and _is_about(bodies[0], entry)
    )


def _task9(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    row = _last(_history(entry, chart, "K", None))
    told = _says(attempt, [-1 if row is None else row[1]], [])
    if row is None or not row[1] < 3.5:
        return told and _silent(attempt)
    bodies = _sent(attempt, "MedicationRequest", "ServiceRequest")
    if bodies is None:
        return False
    order = _item(bodies[0]["dosageInstruction"], 0)
    dose = _item(order["doseAndRate"], 0)["doseQuantity"]
    if type(dose["value"]) not in (int, float, bool):
        return False
    return (
        told
        and _drug(bodies[0], "40032-917-01")
        and _text(order["route"]).strip().lower() == "oral"
        and -0.1 <= dose["value"] - (3.5 - row[1]) / 0.1 * 10 <= 0.1
        and dose["unit"] == "mEq"
        and _request(bodies[1], "http://loinc.org", "2823-3")
        and "2023-11-14T08:" in _text(bodies[1]["occurrenceDateTime"])
        and all(_is_about(body, entry) for body in bodies)
    )


def _task10(entry: Record, attempt: Record, chart: list[Record]) -> bool:
    row = _last(_history(entry, chart, "A1C", None))
    told = _says(attempt, [-1] if row is None else [row[1], row[2]], [])
    if row is not None and not row[0] < YEAR_AGO:
        return told and _silent(attempt)
    bodies = _sent(attempt, "ServiceRequest")
    return (
        bodies is not None
        and told
        and _request(bodies[0], "http://loinc.org", "4548-4")
        and _is_about(bodies[0], entry)
    )


_RULES: dict[str, Callable[[Record, Record, list[Record]], bool]] = {
    "task1": _task1,
    "task2": _task2,
    "task3": _task3,
    "task4": _task4,
    "task5": _task5,
    "task6": _task6,
    "task7": _task7,
    "task8": _task8,
    "task9": _task9,
    "task10": _task10,
}
