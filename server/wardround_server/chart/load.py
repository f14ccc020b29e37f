"""Loading charts from FHIR files: what was read, what was kept, and what could not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from wardround_schemas.errors import UserError

from .extract import ResourceFault
from .params import SEARCHED_TYPES
from .sources import find_files, read_file
from .writer import ChartWriter

FAULTS_NAMED = 200
"""How many faults a report names one by one; the rest are only counted."""


@dataclass(frozen=True, slots=True)
class LoadFault:
    """One resource that was not kept: the file, where in it, and why."""

    file: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}, {self.place}: {self.message}"


@dataclass(slots=True)
class LoadReport:
    """What a load did.

    `counts` are the resources read by type; `added`, `replaced` and `unchanged` add up to them. Types
    beyond the searched six are kept for reads by id; `read_only_types` counts those. `faulty` is
    the number of lines and entries that were not kept, `faults` the first of them.
    """

    files: int = 0
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faulty: int = 0
    faults: list[LoadFault] = field(default_factory=list)

    @property
    def read_only_types(self) -> dict[str, int]:
        """Resources of types that can be read by id but not searched."""
        return {name: number for name, number in self.counts.items() if name not in SEARCHED_TYPES}

    def note(self, fault: LoadFault) -> None:
        """Count a fault, and name it while there is room."""
        self.faulty += 1
        if len(self.faults) < FAULTS_NAMED:
            self.faults.append(fault)


Progress = Callable[[int, int, int], None]
"""Called with (files done, files in all, resources kept so far)."""


def load_paths(
    paths: Sequence[Path | str],
    out: Path | str,
    *,
    name: str = "",
    extend: bool = True,
    progress: Progress | None = None,
) -> LoadReport:
    """Load NDJSON, Bundles, single resources, `.gz` and folders of them into a chart file.

    An existing chart `out` is added to (`extend`): a resource of the same type and id is replaced,
    never doubled. The file changes whole or not at all. Raises UserError for a missing path, a file that
    can't be written, or where not one resource could be read.
    """
    files = find_files([Path(path).expanduser() for path in paths])
    if not files:
        raise UserError("nothing to load", mend="name files or folders of FHIR resources")
    report = LoadReport()
    with ChartWriter(out, name=name, extend=extend) as writer:
        for file in files:
            _load_file(file, writer, report)
            report.files += 1
            if progress is not None:
                progress(report.files, len(files), report.counts.total())
        if not report.counts:
            first = report.faults[0] if report.faults else "the files are empty"
            raise UserError(f"no FHIR resource could be read: {first}")
        if report.faulty:
            writer.meta(load_faults=report.faulty, first_fault=str(report.faults[0]))
    return report


def _load_file(file: Path, writer: ChartWriter, report: LoadReport) -> None:
    for item in read_file(file):
        message = item.fault
        if not message:
            try:
                outcome = writer.put(item.body)
            except ResourceFault as error:
                message = str(error)
            else:
                setattr(report, outcome, getattr(report, outcome) + 1)
                report.counts[_type_of(item.body)] += 1
                continue
        report.note(LoadFault(str(file), item.place, message))


def _type_of(body: bytes) -> str:
    """The type of a resource that has been stored."""
    head = b'{"resourceType":"'
    if body.startswith(head):
        return body[len(head) : body.index(b'"', len(head))].decode()
    return str(orjson.loads(body)["resourceType"])
