"""What a chart has to make tasks from: its patients and their results of the four questioned codes.

Read through searches alone, so that any FHIR R4 server will do. People are sorted by reference: the
same data give the same survey, in whatever order a server lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from wardround_schemas.chart import ChartReader, search_all
from wardround_schemas.errors import UserError

from .instants import parse_day, parse_instant
from .quantities import GLUCOSE, HBA1C, MAGNESIUM, POTASSIUM, Analyte
from .reference import PAGE, Measurement, measurements_of, newest
from .task import DEFAULT_NOW, PatientRef

ANALYTES: Final[Mapping[str, Analyte]] = {
    "MG": MAGNESIUM,
    "GLU": GLUCOSE,
    "K": POTASSIUM,
    "A1C": HBA1C,
}
FINAL_STATES: Final = frozenset({"final", "amended", "corrected"})
MOST_PATIENTS: Final = 1000
DAY: Final = timedelta(hours=24)
MINUTE: Final = timedelta(minutes=1)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CodeMap:
    """A server's own codes for what the tasks ask. The defaults are the benchmark's.

    `labs` are search tokens (`MG`, `http://loinc.org|2601-3`) by MG, GLU, K and A1C; `flowsheet` is the
    text under which a blood pressure is filed; the others are the codes that orders carry.
    """

    labs: Mapping[str, str] = field(default_factory=lambda: {name: name for name in ANALYTES})
    flowsheet: str = "BP"
    magnesium_ndc: str = "0338-1715-40"
    potassium_ndc: str = "40032-917-01"
    potassium_loinc: str = "2823-3"
    hba1c_loinc: str = "4548-4"
    referral_snomed: str = "306181000000106"

    @classmethod
    def from_json(cls, record: object, source: str) -> CodeMap:
        """Read a code map: MG, GLU, K, A1C, BP and the fields above, all texts, all optional.

        Raises UserError naming the key that is unknown or not text.
        """
        if not isinstance(record, dict):
            raise UserError(f"{source} is not a JSON object", mend='write {"MG": "...", "K": "..."}')
        labs = {name: name for name in ANALYTES}
        others: dict[str, str] = {}
        names = {name.replace("flowsheet", "BP"): name for name in cls.__dataclass_fields__ if name != "labs"}
        for key, value in record.items():
            if key not in labs and key not in names:
                known = ", ".join((*labs, *names))
                raise UserError(f"{source}: {str(key)[:40]!r} is no code's name", mend=f"one of {known}")
            if not isinstance(value, str) or not value.strip():
                raise UserError(f"{source}: {key} is not text")
            if key in labs:
                labs[key] = value
            else:
                others[names[key]] = value
        return cls(labs=labs, **others)


@dataclass(frozen=True, slots=True)
class Series:
    """A person's results of one code, in the server's order.

    `usable` is False where two graders, or two readers, could differ over them: results that are not
    final, in another unit than the protocol's, without a number or a full time, or two different ones
    at the newest instant.
    """

    measurements: tuple[Measurement, ...] = ()
    usable: bool = True

    @property
    def newest(self) -> Measurement | None:
        """The latest measurement."""
        return newest(self.measurements)


@dataclass(frozen=True, slots=True)
class Person:
    """One patient of the chart: reference and MRN, name, birth date, results by code name."""

    ref: PatientRef
    given: str
    family: str
    birth_date: date | None
    series: Mapping[str, Series]

    @property
    def name(self) -> str:
        """First given name and family name."""
        return f"{self.given} {self.family}"


@dataclass(frozen=True, slots=True)
class Survey:
    """The people of a chart and when its tasks are set.

    `now` is one moment for all tasks where the chart ends at it; None where each task is set at a
    moment of its own, chosen by the patient's results. `latest` is after every result.
    """

    people: tuple[Person, ...]
    now: datetime | None
    latest: datetime

    def moments(self, series: Series, *offsets: timedelta) -> list[datetime]:
        """Moments at which to set a task over a series: `now`, or so long after its newest result."""
        if self.now is not None:
            return [self.now]
        last = series.newest
        if last is None:
            return [self.latest]
        return [last.at.astimezone(UTC) + offset for offset in offsets]


async def read_survey(
    chart: ChartReader,
    codes: CodeMap,
    *,
    now: datetime | None = None,
    most: int = MOST_PATIENTS,
    progress: Progress | None = None,
) -> Survey:
    """Read at most `most` patients and their results. Raises ChartError; UserError without patients.

    `now` fixes the moment. Without it, it is the benchmark's where the chart's results end within the
    day before that; else each task gets its own.
    """
    resources = await _patients(chart, most)
    people = [person for person in map(_person, resources) if person is not None]
    if not people:
        raise UserError("the chart has no patient with a name and an identifier")
    people.sort(key=lambda person: person.ref.reference)
    full = []
    for done, person in enumerate(people, start=1):
        series = {name: await _series(chart, person.ref, codes.labs[name], name) for name in ANALYTES}
        full.append(Person(person.ref, person.given, person.family, person.birth_date, series))
        if progress is not None:
            progress(done, len(people))
    times = [m.at for person in full for series in person.series.values() for m in series.measurements]
    default = parse_instant(DEFAULT_NOW)
    assert default is not None  # noqa: S101 - a constant of ours
    if now is None and times and default - DAY <= max(times) <= default:
        now = default
    latest = now or (
        (max(times) + timedelta(hours=2)).astimezone(UTC).replace(second=0, microsecond=0)
        if times
        else default
    )
    return Survey(tuple(full), now, latest)


async def _patients(chart: ChartReader, most: int) -> list[dict[str, Any]]:
    page = await chart.search("Patient", [("_count", str(min(most, 500)))])
    found = page.resources()
    while page.next is not None and len(found) < most:
        page = await chart.next_page(page.next)
        found.extend(page.resources())
    return found[:most]


def _person(resource: dict[str, Any]) -> Person | None:
    """A patient whom a task can name: id, an identifier, a given and a family name."""
    patient_id, mrn = resource.get("id"), _mrn(resource)
    names = [name for name in resource.get("name") or () if isinstance(name, dict)]
    names.sort(key=lambda name: name.get("use") not in ("official", None))
    if not isinstance(patient_id, str) or mrn is None or not names:
        return None
    given, family = names[0].get("given") or [], names[0].get("family")
    if not given or not isinstance(given[0], str) or not isinstance(family, str):
        return None
    if '"' in f"{given[0]}{family}" or resource.get("active") is False:
        return None
    born = parse_day(resource.get("birthDate"))
    return Person(PatientRef(f"Patient/{patient_id}", mrn), given[0], family, born, {})


def _mrn(resource: dict[str, Any]) -> str | None:
    """The identifier that is typed as a medical record number, else the first one."""
    values = []
    for identifier in resource.get("identifier") or ():
        value = identifier.get("value") if isinstance(identifier, dict) else None
        if not isinstance(value, str) or not value.strip():
            continue
        codings = (identifier.get("type") or {}).get("coding") or ()
        if any(coding.get("code") == "MR" for coding in codings):
            return value
        values.append(value)
    return values[0] if values else None


async def _series(chart: ChartReader, patient: PatientRef, code: str, name: str) -> Series:
    params = [("patient", patient.id), ("code", code), ("_count", PAGE)]
    resources = await search_all(chart, "Observation", params)
    measurements = tuple(measurements_of(resources))
    analyte = ANALYTES[name]
    usable = (
        len(measurements) == len(resources)
        and all(resource.get("status") in FINAL_STATES for resource in resources)
        and all(m.unit is None or analyte.is_unit(m.unit) for m in measurements)
        and all(parse_instant(m.stamp) is not None and m.at.microsecond == 0 for m in measurements)
    )
    latest = newest(measurements)
    if latest is not None and len({m.value for m in measurements if m.at == latest.at}) > 1:
        usable = False
    return Series(measurements, usable)
