"""`builtin/oracle`: solves each task through the tools that every agent has.

It knows what the task's text says (see `brief`) and the benchmark's protocol; everything else it reads
from the chart, page by page, within eight rounds. It sees no grader, no stored solution and no
chart but through the tools.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_tasks.instants import age_in_years, parse_day, year_before
from wardround_tasks.quantities import GLUCOSE, HBA1C, MAGNESIUM, POTASSIUM, Analyte
from wardround_tasks.reference import Measurement, measurements_of

from . import orders
from .brief import Brief
from .scripted import Finish, Intent, Reply, Resource, Script, Search

PATIENT_PAGES: Final = 2
WINDOW_PAGES: Final = 4
NEWEST_PAGES: Final = 3
"""Most pages of a search, so that eight rounds hold them, the writes (one or two) and the end."""
PAGE: Final = "100"

Solver = Callable[[Brief], Script]
Reading = Generator[Intent, Reply, list[Resource]]


@dataclass(frozen=True, slots=True)
class Value:
    """A measurement in the protocol's unit, with its time as an instant and as stored."""

    number: int | float
    at: datetime
    stamp: str


def script(brief: Brief) -> Script:
    """The solution of a task's category."""
    solve = SOLVERS.get(brief.category)
    if solve is None:
        raise UserError(
            f"builtin/oracle can't solve {brief.task_id}: {brief.category} is another package's category"
        )
    yield from solve(brief)


def _nothing_is_enough(found: list[Resource]) -> bool:
    return False


def _has_measurement(found: list[Resource]) -> bool:
    return any(True for _ in measurements_of(found))


def _read_all(
    function: str,
    arguments: Mapping[str, Any],
    most: int,
    enough: Callable[[list[Resource]], bool] = _nothing_is_enough,
) -> Reading:
    """The matches of a search, page by page, `most` pages or until what was found is enough."""
    reply = yield Search(function, arguments)
    found = list(reply.resources)
    pages = 1
    while reply.next is not None and pages < most and not enough(found):
        reply = yield Search(function, {**_required(arguments), "page": reply.next})
        found.extend(reply.resources)
        pages += 1
    return found


def _required(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: arguments[name] for name in ("patient", "code") if name in arguments}


def _patient(brief: Brief) -> Generator[Intent, Reply, Resource | None]:
    """The task's patient, by the record number that the text gives."""
    found = yield from _read_all(
        "patient.search",
        {"identifier": brief.mrn},
        PATIENT_PAGES,
        lambda found: any(brief.mrn in _numbers(patient) for patient in found),
    )
    return next((patient for patient in found if brief.mrn in _numbers(patient)), None)


def _subject(brief: Brief) -> Generator[Intent, Reply, str]:
    patient = yield from _patient(brief)
    return f"Patient/{patient['id'] if patient is not None else brief.mrn}"


def _values(
    brief: Brief,
    subject: str,
    analyte: Analyte,
    most: int,
    enough: Callable[[list[Resource]], bool] = _nothing_is_enough,
    **narrowed: str,
) -> Generator[Intent, Reply, list[Value]]:
    """The task's laboratory values, newest page first."""
    arguments = {"patient": subject, "code": brief.lab, "_sort": "-date", "_count": PAGE, **narrowed}
    found = yield from _read_all("lab.search", arguments, most, enough)
    return [_value(measurement, analyte) for measurement in measurements_of(found)]


def _latest(brief: Brief, subject: str, analyte: Analyte) -> Generator[Intent, Reply, Value | None]:
    """The newest value ever: the first page that holds one has it."""
    return _newest((yield from _values(brief, subject, analyte, NEWEST_PAGES, _has_measurement)))


def _value(measurement: Measurement, analyte: Analyte) -> Value:
    return Value(analyte.convert(measurement.value, measurement.unit), measurement.at, measurement.stamp)


def _last_day(brief: Brief, subject: str, analyte: Analyte) -> Generator[Intent, Reply, list[Value]]:
    """Values of the 24 hours up to now."""
    now = orders.now_of(brief)
    start = now - timedelta(hours=24)
    found = yield from _values(brief, subject, analyte, WINDOW_PAGES, date=f"ge{start.isoformat()}")
    return [value for value in found if start <= value.at <= now]


def _newest(values: list[Value]) -> Value | None:
    latest: Value | None = None
    for value in values:
        if latest is None or value.at > latest.at:
            latest = value
    return latest


def _numbers(patient: Resource) -> list[str]:
    """Record numbers of a patient: identifiers, those typed MR first, and the id."""
    identifiers = [item for item in patient.get("identifier") or () if isinstance(item.get("value"), str)]
    identifiers.sort(key=lambda item: not _is_record_number(item))
    return [*(item["value"] for item in identifiers), str(patient.get("id"))]


def _is_record_number(identifier: Mapping[str, Any]) -> bool:
    codings = (identifier.get("type") or {}).get("coding") or ()
    return any(coding.get("code") in {"MR", "MRN"} for coding in codings)


def _named(patient: Resource, brief: Brief) -> bool:
    """Whether a patient has exactly the task's name and birth date: a search by name finds beginnings too."""
    if patient.get("birthDate") != brief.birth_date:
        return False
    wanted = brief.full_name.split()
    for name in patient.get("name") or ():
        parts = " ".join([*(name.get("given") or ()), str(name.get("family") or "")]).split()
        first = (name.get("given") or [""])[0]
        short = f"{first} {name.get('family') or ''}".split()
        if wanted in (parts, short):
            return True
    return False


# --- one solver per category --------------------------------------------------------------------


def _find_patient(brief: Brief) -> Script:
    arguments = {
        # A search compares one part of a name at a time, so the first given name has to do.
        "given": brief.given.split()[0],
        "family": brief.family,
        "birthdate": brief.birth_date,
    }
    found = yield from _read_all("patient.search", arguments, WINDOW_PAGES)
    matches = [patient for patient in found if _named(patient, brief)]
    yield Finish([_numbers(matches[0])[0]] if matches else [brief.not_found])


def _age(brief: Brief) -> Script:
    patient = yield from _patient(brief)
    born = parse_day(patient.get("birthDate")) if patient is not None else None
    yield Finish([age_in_years(born, orders.now_of(brief).date())] if born is not None else [-1])


def _record_pressure(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    yield orders.blood_pressure(brief, subject)
    yield Finish([])


def _magnesium(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    latest = _newest((yield from _last_day(brief, subject, MAGNESIUM)))
    yield Finish([latest.number if latest is not None else -1])


def _magnesium_order(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    latest = _newest((yield from _last_day(brief, subject, MAGNESIUM)))
    if latest is not None and (tier := orders.magnesium_tier(latest.number)) is not None:
        yield orders.magnesium(brief, subject, tier)
    yield Finish([latest.number if latest is not None else -1])


def _glucose_mean(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    values = yield from _last_day(brief, subject, GLUCOSE)
    yield Finish([sum(value.number for value in values) / len(values) if values else -1])


def _glucose_newest(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    latest = yield from _latest(brief, subject, GLUCOSE)
    yield Finish([latest.number if latest is not None else -1])


def _referral(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    yield orders.referral(brief, subject)
    yield Finish([])


def _potassium_order(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    latest = yield from _latest(brief, subject, POTASSIUM)
    if latest is not None and latest.number < orders.POTASSIUM_GOAL:
        yield orders.potassium(brief, subject, latest.number)
        yield orders.potassium_level(brief, subject)
    yield Finish([latest.number if latest is not None else -1])


def _hba1c(brief: Brief) -> Script:
    subject = yield from _subject(brief)
    latest = yield from _latest(brief, subject, HBA1C)
    if latest is None or latest.at < year_before(orders.now_of(brief)):
        yield orders.hba1c(brief, subject)
    yield Finish([latest.number, latest.stamp] if latest is not None else [-1])


SOLVERS: Final[Mapping[str, Solver]] = {
    "task1": _find_patient,
    "task2": _age,
    "task3": _record_pressure,
    "task4": _magnesium,
    "task5": _magnesium_order,
    "task6": _glucose_mean,
    "task7": _glucose_newest,
    "task8": _referral,
    "task9": _potassium_order,
    "task10": _hba1c,
}
