"""What the chart says about a task's patient: read once, judged from as often as needed.

The whole history of a code is read and the time window is cut here, in one place, so that the
answer does not depend on how a server understands dates in a search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from wardround_schemas.chart import ChartReader, search_all

from .instants import parse_day, parse_stamp
from .task import PatientRef, Task

PAGE = "5000"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One observation with a number: when (instant and as stored), how much, in which unit."""

    at: datetime
    stamp: str
    value: int | float
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """The chart's facts for one task; which of them are set depends on the category.

    `measurements` are in the server's order. `birth_date` is None where the task needs none or the
    chart has none.
    """

    task_id: str
    measurements: tuple[Measurement, ...] = ()
    birth_date: date | None = None


async def read_measurements(chart: ChartReader, patient: PatientRef, code: str) -> tuple[Measurement, ...]:
    """Every observation of a code with a number and a time, in the server's order.

    Raises ChartError when the chart can't be read; no observation is an empty tuple.
    """
    params = [("patient", patient.id), ("code", code), ("_count", PAGE)]
    return tuple(measurements_of(await search_all(chart, "Observation", params)))


def measurements_of(resources: Iterable[dict[str, Any]]) -> Iterable[Measurement]:
    """The measurements among Observations: those without a number or a time measured nothing."""
    for resource in resources:
        quantity = resource.get("valueQuantity")
        stamp = resource.get("effectiveDateTime") or resource.get("effectiveInstant")
        at = parse_stamp(stamp)
        if at is None or not isinstance(quantity, dict):
            continue
        value = quantity.get("value")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        unit = quantity.get("unit") or quantity.get("code")
        yield Measurement(at, str(stamp), value, unit if isinstance(unit, str) else None)


async def read_birth_date(chart: ChartReader, patient: PatientRef) -> date | None:
    """The patient's birth date, None where the chart has no such patient or no whole date.

    Raises ChartError when the chart can't be read.
    """
    found = await search_all(chart, "Patient", [("identifier", patient.mrn)])
    for resource in found:
        if resource.get("id") == patient.id:
            return parse_day(resource.get("birthDate"))
    return parse_day(found[0].get("birthDate")) if found else None


def newest(measurements: Iterable[Measurement]) -> Measurement | None:
    """The latest measurement; of several at the same instant the first in the server's order."""
    latest: Measurement | None = None
    for measurement in measurements:
        if latest is None or measurement.at > latest.at:
            latest = measurement
    return latest


def last_day(task: Task, reference: Reference, *, until_now: bool) -> list[Measurement]:
    """Measurements of the 24 hours before `now`, its first moment included.

    `until_now` leaves out what the chart dates later than `now`: the `clinical` rules do, the
    original's do not.
    """
    now = task.now_instant
    start = now - timedelta(hours=24)
    return [
        measurement
        for measurement in reference.measurements
        if measurement.at >= start and not (until_now and measurement.at > now)
    ]
