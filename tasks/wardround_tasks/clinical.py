"""The `clinical` rules over what a task expects: right deed, right patient, right dose.

Judged is the canonical R4 form of each write, so the harmless ways of writing one thing are one
thing; what a FHIR R4 server would refuse fails whatever else is right with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from wardround_schemas.canonical import canonical_resource, validate_r4

from .answers import Said, clinical_answer
from .attempt import Attempt, CreateCall
from .closed import Stray, medication_strays, service_strays, strays, vital_strays
from .expect import (
    MISSING,
    OBSERVATION_CATEGORY,
    OBSERVATION_CATEGORY_R4,
    Expected,
    MedicationWrite,
    ServiceWrite,
    VitalWrite,
    Write,
    seen,
    steps,
    walk,
)
from .instants import parse_instant, same_instant
from .jsontext import too_deep
from .quantities import amount, per_hour, ratio_per_hour
from .severity import REFUSED
from .task import PatientRef
from .verdict import Code, Failure

EXACT = 1e-6


def judge_clinical(
    attempt: Attempt, said: Said | None, expected: Expected, patient: PatientRef | None
) -> tuple[list[Failure], list[Failure]]:
    """(failures, notes), writes first; without an answer (`said` None) those of the writes alone."""
    if expected.writes:
        failures = _writes(attempt, expected.writes)
    else:
        failures = [
            Failure("unexpected_write", f"$.calls[{place}]", "no write", _tried(call))
            for place, call in enumerate(attempt.calls)
        ]
    failures = [*_other_patients(attempt, patient), *failures]
    wrong, notes = clinical_answer(said, expected.answer) if said is not None else ([], [])
    return failures + wrong, notes


def _tried(call: CreateCall) -> str:
    return call.resource_type if call.accepted else f"{call.resource_type}{REFUSED}"


def _other_patients(attempt: Attempt, patient: PatientRef | None) -> Iterator[Failure]:
    """Accepted writes that name someone else, wherever they stand and whatever was expected."""
    for place, call in attempt.accepted:
        if too_deep(call.resource):
            continue
        for path, told in _patients_named(call.resource, ()):
            if patient is None or not _may_mean(told, patient, path):
                wanted = None if patient is None else patient.reference
                at = path[:1] if path[0] == "subject" else path
                yield Failure("wrong_patient", steps(f"$.calls[{place}].resource", *at), wanted, told)
                break


def _patients_named(
    value: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text that says whom a resource is about: the subject's reference, its identifier, and any
    other reference to a patient."""
    pairs: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, item in pairs:
        below = (*path, key)
        if not isinstance(item, str):
            yield from _patients_named(item, below)
        elif below in (("subject", "reference"), ("subject", "identifier", "value")) or (
            key == "reference" and _PATIENT.search(item)
        ):
            yield below, item


def _may_mean(told: str, patient: PatientRef, path: tuple[str | int, ...]) -> bool:
    """Whether a text can only mean the patient, well written or not."""
    ids = _PATIENT.findall(told)
    if path[-1] == "reference" and ids:
        return all(found == patient.id for found in ids)
    return told.strip().rsplit("/", 1)[-1] == patient.id


def is_patient(reference: object, patient: PatientRef) -> bool:
    """Whether a reference is [base/]Patient/ID[/_history/V] of the patient, base an http(s) URL.

    There is no query and no fragment, and the base names no patient itself.
    """
    if not isinstance(reference, str):
        return False
    found = _REFERENCE.fullmatch(reference)
    if found is None or found["patient"] != patient.reference:
        return False
    return not {"Patient", ".", "..", "_history"} & set((found["base"] or "").split("/"))


_PATIENT = re.compile(r"patient/([A-Za-z0-9.-]{1,64})", re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?P<base>https?://[A-Za-z0-9.:\[\]-]+/(?:[A-Za-z0-9._~-]+/)*)?"
    r"(?P<patient>Patient/[A-Za-z0-9.-]{1,64})(?:/_history/[A-Za-z0-9.-]{1,64})?"
)


def _writes(attempt: Attempt, writes: tuple[Write, ...]) -> list[Failure]:
    """Pair the accepted writes with the expected ones by type, then judge each pair.

    The order of two writes does not matter. A second write of a type is an extra one; one of a type that
    is not expected at all stands for a missing one that went to the wrong place.
    """
    left = list(attempt.accepted)
    failures: list[Failure] = []
    lacking: list[Write] = []
    for write in writes:
        fitting = [pair for pair in left if pair[1].resource_type == write.resource_type]
        if not fitting:
            lacking.append(write)
            continue
        judged = [(judge_resource(call.resource, write, place), place) for place, call in fitting]
        best, chosen = min(judged, key=lambda pair: (len(pair[0]), pair[1]))
        failures.extend(best)
        left = [pair for pair in left if pair[0] != chosen]
    kinds = {write.resource_type for write in writes}
    strays = [pair for pair in left if pair[1].resource_type not in kinds]
    for write in lacking:
        if strays:
            place, call = strays.pop(0)
            left = [pair for pair in left if pair[0] != place]
            path = f"$.calls[{place}].resource_type"
            failures.append(Failure("wrong_endpoint", path, write.resource_type, call.resource_type))
        else:
            failures.append(Failure("missing_write", "$.calls", write.resource_type, None))
    failures.extend(Failure("extra_write", f"$.calls[{p}]", None, _kind(attempt, p, c)) for p, c in left)
    return failures


def _kind(attempt: Attempt, place: int, call: CreateCall) -> str:
    """What an extra write is: the same order once more, or another one."""
    twins = [
        other
        for at, other in attempt.accepted
        if at != place and other.resource_type == call.resource_type and _same(other.resource, call.resource)
    ]
    return f"duplicate {call.resource_type}" if twins else call.resource_type


def _same(left: object, right: object) -> bool:
    if too_deep(left) or too_deep(right):
        return False
    return left == right


def judge_resource(resource: object, write: Write, place: int) -> list[Failure]:
    """Every failure of one accepted resource against what was expected in its place."""
    path = f"$.calls[{place}].resource"
    if not isinstance(resource, dict) or too_deep(resource):
        return [Failure("invalid_resource", path, f"a {write.resource_type}", resource)]
    canonical = canonical_resource(write.resource_type, resource)
    judge = _Judge(canonical, path, write.patient)
    judge.subject()
    if isinstance(write, VitalWrite):
        _vital(judge, write)
    elif isinstance(write, MedicationWrite):
        _medication(judge, write)
    else:
        _service(judge, write)
    faults = [
        Failure("invalid_resource", path + fault.path.removeprefix("$"), fault.expected, fault.message)
        for fault in validate_r4(write.resource_type, canonical)
    ]
    told = {failure.path for failure in (*judge.failures, *faults)}
    judge.strays((stray for stray in _strays(canonical, write)), told)
    return [*judge.failures, *faults]


def _strays(canonical: dict[str, Any], write: Write) -> Iterator[Stray]:
    yield from strays(write.resource_type, canonical)
    if isinstance(write, MedicationWrite):
        yield from medication_strays(canonical, write)
    elif isinstance(write, VitalWrite):
        yield from vital_strays(canonical, write)
    else:
        yield from service_strays(canonical, write)


def _vital(judge: _Judge, write: VitalWrite) -> None:
    judge.vital_signs()
    judge.text(write.code_text, "code", "text", code="wrong_code")
    judge.instant(write.at, "effectiveDateTime")
    judge.exact("final", "status")
    judge.text(write.value, "valueString")


def _medication(judge: _Judge, write: MedicationWrite) -> None:
    judge.coded(write.system, write.code, "medicationCodeableConcept")
    judge.within(write.now, 60, "authoredOn")
    judge.exact("active", "status")
    judge.exact("order", "intent")
    judge.not_negated()
    if not judge.single("dosageInstruction") or not judge.single("dosageInstruction", 0, "doseAndRate"):
        return
    judge.route(write.route)
    judge.dose(write)
    if write.hours is not None:
        judge.infusion(write.dose, write.unit, write.hours)


def _service(judge: _Judge, write: ServiceWrite) -> None:
    judge.coded(write.system, write.code, "code")
    judge.instant(write.now, "authoredOn")
    judge.exact("active", "status")
    judge.exact("order", "intent")
    judge.exact("stat", "priority")
    judge.not_negated()
    if write.note is not None:
        judge.note(write.note)
    if write.at is not None:
        judge.within(write.at, 3600, "occurrenceDateTime")


class _Judge:
    """Looks at fields of one resource in canonical form and keeps what is wrong with each."""

    def __init__(self, resource: dict[str, Any], path: str, patient: PatientRef) -> None:
        self._resource = resource
        self._path = path
        self._patient = patient
        self.failures: list[Failure] = []

    def _at(self, *path: str | int) -> object:
        return walk(self._resource, *path)

    def _fail(self, code: Code, path: tuple[str | int, ...], expected: object, got: object) -> None:
        self.failures.append(Failure(code, steps(self._path, *path), expected, seen(got)))

    def subject(self) -> None:
        """The subject is a well-formed reference to the patient."""
        subject = self._at("subject")
        reference = walk(subject, "reference")
        kind = walk(subject, "type")
        if not is_patient(reference, self._patient) or kind not in (MISSING, "Patient"):
            self._fail("wrong_field", ("subject",), {"reference": self._patient.reference}, subject)

    def strays(self, found: Iterable[Stray], told: set[str]) -> None:
        """Elements that may not stand there, but for those whose fault has been told."""
        for code, path, got in found:
            at = steps(self._path, *path)
            if not any(at == known or at.startswith((f"{known}.", f"{known}[")) for known in told):
                self._fail(code, path, None, got)

    def exact(self, wanted: str, *path: str | int) -> None:
        """The value is this code."""
        got = self._at(*path)
        if got != wanted:
            self._fail("wrong_field", path, wanted, got)

    def text(self, wanted: str, *path: str | int, code: Code = "wrong_field") -> None:
        """The value is this text, runs of blanks aside."""
        got = self._at(*path)
        if not isinstance(got, str) or got.split() != wanted.split():
            self._fail(code, path, wanted, got)

    def instant(self, wanted: str, *path: str | int) -> None:
        """The value is a dateTime of the same instant."""
        got = self._at(*path)
        if not same_instant(got, wanted):
            self._fail("wrong_time", path, wanted, got)

    def within(self, start: str, seconds: int, *path: str | int) -> None:
        """The value is a dateTime in the minute or the hour in which `start` lies."""
        got = self._at(*path)
        first, at = parse_instant(start), parse_instant(got)
        if first is not None and at is not None:
            first = first.replace(second=0, microsecond=0)
            if timedelta(0) <= at - first < timedelta(seconds=seconds):
                return
        self._fail("wrong_time", path, start, got)

    def coded(self, system: str, code: str, field: str) -> None:
        """One coding has the system and code, and none of that system has another code."""
        codings = self._at(field, "coding")
        ours = [
            walk(coding, "code")
            for coding in (codings if isinstance(codings, list) else [])
            if walk(coding, "system") == system
        ]
        if not ours or any(found != code for found in ours):
            self._fail("wrong_code", (field, "coding"), {"system": system, "code": code}, codings)

    def vital_signs(self) -> None:
        """A category says vital signs, in either code system."""
        categories = self._at("category")
        for category in categories if isinstance(categories, list) else []:
            codings = walk(category, "coding")
            for coding in codings if isinstance(codings, list) else []:
                known = walk(coding, "system") in (OBSERVATION_CATEGORY, OBSERVATION_CATEGORY_R4)
                if known and walk(coding, "code") == "vital-signs":
                    return
        self._fail("wrong_code", ("category",), "vital-signs", categories)

    def not_negated(self) -> None:
        """The order is not one to leave the thing undone."""
        if self._at("doNotPerform") is True:
            self._fail("wrong_field", ("doNotPerform",), False, True)

    def single(self, *path: str | int) -> bool:
        """The value is a list of one element: a second dose beside the first is another dose."""
        got = self._at(*path)
        if isinstance(got, list) and len(got) == 1:
            return True
        self._fail("wrong_dose", path, "a list of one element", got)
        return False

    def route(self, wanted: str) -> None:
        """All that the route says, in words and codes, is this, case aside."""
        route = self._at("dosageInstruction", 0, "route")
        codings = walk(route, "coding")
        words = [walk(route, "text")]
        for coding in codings if isinstance(codings, list) else []:
            words += [walk(coding, "code"), walk(coding, "display")]
        told = [word for word in words if isinstance(word, str)]
        if not told or not all(is_route(word, wanted) for word in told):
            self._fail("wrong_field", ("dosageInstruction", 0, "route"), wanted, route)

    def dose(self, write: MedicationWrite) -> None:
        """The dose is the protocol's, in its unit or one that it converts to."""
        path = ("dosageInstruction", 0, "doseAndRate", 0, "doseQuantity")
        quantity = self._at(*path)
        given = amount(quantity, write.unit)
        tolerance = max(write.tolerance, EXACT) + 1e-9
        if given is None or abs(given - write.dose) > tolerance:
            self._fail("wrong_dose", path, {"value": round(write.dose, 6), "unit": write.unit}, quantity)

    def infusion(self, dose: float, unit: str, hours: float) -> None:
        """The rate is a duration of so many hours, or the dose over them."""
        path = ("dosageInstruction", 0, "doseAndRate", 0)
        quantity, ratio = self._at(*path, "rateQuantity"), self._at(*path, "rateRatio")
        duration, rate = amount(quantity, "h"), per_hour(quantity, unit)
        if rate is None:
            rate = ratio_per_hour(ratio, unit)
        if duration is not None and abs(duration - hours) <= EXACT:
            return
        # 1 g/h may be written 16.67 mg/min: a rate is right to a hundredth of itself.
        if duration is None and rate is not None and abs(rate - dose / hours) <= 0.01 * dose / hours:
            return
        self._fail("wrong_dose", (*path, "rateQuantity"), {"value": hours, "unit": "h"}, quantity)

    def note(self, wanted: str) -> None:
        """A note's text contains the words, runs of blanks aside."""
        notes = self._at("note")
        words = " ".join(wanted.split())
        for note in notes if isinstance(notes, list) else [notes]:
            text = walk(note, "text")
            if isinstance(text, str) and words in " ".join(text.split()):
                return
        self._fail("wrong_field", ("note",), f"a note with {wanted}", notes)


ROUTES = {
    "iv": frozenset(
        [
            "iv",
            "i.v.",
            "intravenous",
            "intravenous route",
            "47625008",
            "intravenously",
            "iv infusion",
            "intravenous infusion",
            "infusion",
            "qualifier value",
        ]
    ),
    "oral": frozenset(
        ["oral", "po", "p.o.", "per os", "by mouth", "oral route", "26643006", "orally", "qualifier value"]
    ),
}
"""Route names and the SNOMED CT and HL7 codes for them, by the protocol's word."""


def is_route(told: str, wanted: str) -> bool:
    """Whether each part of a route's name ("Oral (PO)", "Infusion, intravenous") is one of this route's."""
    names = ROUTES[wanted.lower()]
    parts = [" ".join(part.split()) for part in re.split(r"[(),/;]", told.lower())]
    return any(parts) and all(part in names for part in parts if part) and set(parts) != {"infusion"}
