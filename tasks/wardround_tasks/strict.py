"""The `medagentbench` rules over what a task expects: the original's verdict, fault for fault.

Comparisons are Python's own on the values as sent: 2, 2.0 and, for 1, true are equal; an extra key
inside a value that "is exactly" compared fails; what is not named is not looked at.
"""

from __future__ import annotations

from typing import Any

from .answers import Said, clinical_answer
from .attempt import Attempt
from .expect import (
    MEAN_TOLERANCE,
    MISSING,
    OBSERVATION_CATEGORY,
    AnswerRule,
    Expected,
    MedicationWrite,
    ServiceWrite,
    VitalWrite,
    Write,
    number,
    seen,
    steps,
    walk,
)
from .verdict import Code, Failure


def judge_strict(attempt: Attempt, said: Said | None, expected: Expected) -> list[Failure]:
    """Every failure, writes first; without an answer (`said` None) those of the writes alone."""
    failures = _writes(attempt, expected.writes) if expected.writes else _no_writes(attempt)
    return failures if said is None else failures + strict_answer(said, expected.answer)


def strict_answer(said: Said, rule: AnswerRule) -> list[Failure]:
    """Judge the final answer."""
    if rule.kind == "any":
        return []
    if not said.is_json:
        return [Failure("answer_not_json", "$.answer", list(rule.values), said.text)]
    if _answers(said.value, rule):
        return []
    # What only its form keeps from being right is told apart from what is wrong.
    code: Code = "answer_wrong" if clinical_answer(said, rule)[0] else "answer_format"
    return [Failure(code, "$.answer", list(rule.values), said.value)]


def _answers(given: Any, rule: AnswerRule) -> bool:
    if rule.kind == "impossible":
        return False
    if rule.kind == "mean":
        return isinstance(given, list) and len(given) == 1 and near(given[0], rule.values[0], strictly=True)
    return bool(given == list(rule.values)) or (rule.empty_ok and given == [])


def near(given: object, wanted: object, *, strictly: bool, within: float = MEAN_TOLERANCE) -> bool:
    """Whether a number lies within a distance of another; what is no number does not."""
    left, right = number(given), number(wanted)
    if left is None or right is None:
        return False
    try:
        distance = abs(left - right)
    except OverflowError:  # an integer beyond every float
        return False
    return distance < within if strictly else distance <= within


def _no_writes(attempt: Attempt) -> list[Failure]:
    failures = [
        Failure("unexpected_write", f"$.calls[{place}]", "no write", call.resource_type)
        for place, call in enumerate(attempt.calls)
    ]
    if attempt.mentions_post and not failures:
        failures.append(Failure("unexpected_write", "$.mentions_post", False, True))
    return failures


def _writes(attempt: Attempt, writes: tuple[Write, ...]) -> list[Failure]:
    accepted = attempt.accepted
    failures: list[Failure] = [
        Failure("missing_write", "$.calls", write.resource_type, None) for write in writes[len(accepted) :]
    ]
    failures.extend(
        Failure("extra_write", f"$.calls[{place}]", None, call.resource_type)
        for place, call in accepted[len(writes) :]
    )
    for (place, call), write in zip(accepted, writes, strict=False):
        if call.resource_type != write.resource_type:
            failures.append(
                Failure(
                    "wrong_endpoint",
                    f"$.calls[{place}].resource_type",
                    write.resource_type,
                    call.resource_type,
                )
            )
            continue
        failures.extend(strict_resource(call.resource, write, f"$.calls[{place}].resource"))
    return failures


def strict_resource(resource: object, write: Write, path: str) -> list[Failure]:
    """Every field of a sent resource that is not as the original wants it."""
    probe = _Probe(resource, path)
    probe.exact(write.resource_type, "resourceType", code="wrong_endpoint")
    if isinstance(write, VitalWrite):
        _vital(probe, write)
    elif isinstance(write, MedicationWrite):
        _medication(probe, write)
    else:
        _service(probe, write)
    probe.subject(write.patient.reference)
    return probe.failures


def _vital(probe: _Probe, write: VitalWrite) -> None:
    probe.one("category")
    probe.one("category", 0, "coding")
    coding = {"system": OBSERVATION_CATEGORY, "code": "vital-signs", "display": "Vital Signs"}
    probe.exact(coding, "category", 0, "coding", 0, code="wrong_code")
    probe.exact({"text": write.code_text}, "code", code="wrong_code")
    probe.exact(write.at, "effectiveDateTime", code="wrong_time")
    probe.exact("final", "status")
    probe.exact(write.value, "valueString")


def _medication(probe: _Probe, write: MedicationWrite) -> None:
    probe.exact(write.system, "medicationCodeableConcept", "coding", 0, "system", code="wrong_code")
    probe.exact(write.code, "medicationCodeableConcept", "coding", 0, "code", code="wrong_code")
    probe.contains(write.authored_minute, "authoredOn", code="wrong_time")
    dose = ("dosageInstruction", 0, "doseAndRate", 0, "doseQuantity")
    if write.hours is not None:
        probe.exact(write.route, "dosageInstruction", 0, "route")
        probe.exact({"value": write.dose, "unit": write.unit}, *dose, code="wrong_dose")
        rate = ("dosageInstruction", 0, "doseAndRate", 0, "rateQuantity")
        probe.exact({"value": write.hours, "unit": "h"}, *rate, code="wrong_dose")
    else:
        probe.word(write.route, "dosageInstruction", 0, "route")
        probe.near(write.dose, write.tolerance, *dose, "value", code="wrong_dose")
        probe.exact(write.unit, *dose, "unit", code="wrong_dose")
    probe.exact("active", "status")
    probe.exact("order", "intent")


def _service(probe: _Probe, write: ServiceWrite) -> None:
    probe.exact(write.system, "code", "coding", 0, "system", code="wrong_code")
    probe.exact(write.code, "code", "coding", 0, "code", code="wrong_code")
    probe.exact(write.now, "authoredOn", code="wrong_time")
    probe.exact("active", "status")
    probe.exact("order", "intent")
    probe.exact("stat", "priority")
    if write.note is not None:
        probe.contains(write.note, "note", "text")
    if write.at is not None:
        probe.contains(write.at[:14], "occurrenceDateTime", code="wrong_time")


class _Probe:
    """Looks at fields of one resource and keeps what is wrong with each."""

    def __init__(self, resource: object, path: str) -> None:
        self._resource = resource
        self._path = path
        self.failures: list[Failure] = []

    def _fail(self, code: Code, path: tuple[str | int, ...], expected: object, got: object) -> None:
        self.failures.append(Failure(code, steps(self._path, *path), expected, seen(got)))

    def exact(self, wanted: object, *path: str | int, code: Code = "wrong_field") -> None:
        """The value equals `wanted` by Python's equality."""
        got = walk(self._resource, *path)
        if got is MISSING or got != wanted:
            self._fail(code, path, wanted, got)

    def one(self, *path: str | int) -> None:
        """The value is a list of one element."""
        got = walk(self._resource, *path)
        if not isinstance(got, list) or len(got) != 1:
            self._fail("wrong_field", path, "a list of one element", got)

    def contains(self, wanted: str, *path: str | int, code: Code = "wrong_field") -> None:
        """The value is a string that contains `wanted`."""
        got = walk(self._resource, *path)
        if not isinstance(got, str) or wanted not in got:
            self._fail(code, path, f"a string with {wanted}", got)

    def word(self, wanted: str, *path: str | int) -> None:
        """The value is a string that is `wanted` once trimmed and lower-cased."""
        got = walk(self._resource, *path)
        if not isinstance(got, str) or got.lower().strip() != wanted:
            self._fail("wrong_field", path, wanted, got)

    def near(self, wanted: float, within: float, *path: str | int, code: Code) -> None:
        """The value is a number at most `within` from `wanted`."""
        got = walk(self._resource, *path)
        if not near(got, wanted, strictly=False, within=within):
            self._fail(code, path, round(wanted, 6), got)

    def subject(self, reference: str) -> None:
        """The subject is exactly this reference."""
        got = walk(self._resource, "subject")
        if got == {"reference": reference}:
            return
        named = walk(got, "reference")
        other = isinstance(named, str) and named != reference and not named.endswith(f"/{reference}")
        self._fail("wrong_patient" if other else "wrong_field", ("subject",), {"reference": reference}, got)
