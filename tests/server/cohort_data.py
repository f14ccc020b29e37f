"""The cohort as the tests see it: plain resources, read anew from the bytes that the cohort gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import orjson

from wardround_server.chart.cohort import generate

Resource = dict[str, Any]
Reading = tuple[datetime, float]

NOW = datetime(2023, 11, 13, 10, 15, tzinfo=UTC)
DAY = timedelta(hours=24)
MINUTE = timedelta(minutes=1)
YEAR_AGO = datetime(2022, 11, 13, 10, 15, tzinfo=UTC)


@cache
def small_cohort() -> tuple[Resource, ...]:
    """Every resource of the small scale, default seed."""
    return tuple(orjson.loads(record) for record in generate("small"))


def of_type(resource_type: str, resources: Iterable[Resource] | None = None) -> list[Resource]:
    """The resources of one type, of the small cohort where none are given."""
    found = small_cohort() if resources is None else resources
    return [resource for resource in found if resource["resourceType"] == resource_type]


def local_code(resource: Resource) -> str:
    """The first coding's code."""
    code: str = resource["code"]["coding"][0]["code"]
    return code


def patient_of(resource: Resource) -> str:
    """The MRN in the subject's reference."""
    reference: str = resource["subject"]["reference"]
    return reference.removeprefix("Patient/")


def readings(code: str, resources: Iterable[Resource] | None = None) -> dict[str, list[Reading]]:
    """Each patient's results of one code, newest first; every patient has a list, if an empty one."""
    found: dict[str, list[Reading]] = defaultdict(list)
    for patient in of_type("Patient"):
        found[patient["id"]] = []
    for observation in of_type("Observation", resources):
        if local_code(observation) == code:
            when = datetime.fromisoformat(observation["effectiveDateTime"])
            found[patient_of(observation)].append((when, observation["valueQuantity"]["value"]))
    return {patient: sorted(series, reverse=True) for patient, series in found.items()}


Answers = dict[tuple[str, str], tuple[Reading, list[Reading]]]
"""By patient and code: the newest reading, and all of the last 24 hours in order of time."""

_MARKS = {code: f'"code":"{code}","display"'.encode() for code in ("MG", "K", "A1C", "GLU")}


def small_answers() -> Answers:
    """What the tasks ask of the small scale."""
    return {
        (patient, code): (series[0], sorted(reading for reading in series if reading[0] >= NOW - DAY))
        for code in _MARKS
        for patient, series in readings(code).items()
        if series
    }


def add_to_answers(record: bytes, answers: Answers) -> None:
    """Take one record into the answers; only those of the questioned codes are parsed."""
    if not record.startswith(b'{"resourceType":"Observation"'):
        return
    for code, mark in _MARKS.items():
        if mark in record:
            resource = orjson.loads(record)
            when = datetime.fromisoformat(resource["effectiveDateTime"])
            reading = (when, resource["valueQuantity"]["value"])
            newest, recent = answers.get((patient_of(resource), code), (reading, []))
            if when >= NOW - DAY:
                recent = sorted([*recent, reading])
            answers[patient_of(resource), code] = (max(newest, reading), recent)
