"""Sentences that several categories' contexts share: codes, time windows, and the forms of orders.

A context says everything that either rule set looks at. The doses are the benchmark's protocol in our
words; they are not guidance.
"""

from __future__ import annotations

import json

from .task import PatientRef


def moment(now: str) -> str:
    """When the task is set."""
    return f"It is {now} now."


def who(patient: PatientRef) -> str:
    """How writes and searches name the patient."""
    return f"In FHIR the patient is {patient.reference}."


def lab(what: str, token: str) -> str:
    """Under which code results are filed."""
    system, bar, code = token.rpartition("|")
    if bar and system:
        return f"{what} results are filed under code {code} of system {system} (search for {token})."
    return f"{what} results are filed under code {token}."


LAST_DAY = (
    "A result counts if it is timed no earlier than 24 hours before now; one timed exactly 24 hours "
    "before now still counts."
)


def number_answer(unit: str, *, mean: bool = False) -> str:
    """The form of an answer that is one number."""
    how = "not rounded to whole numbers" if mean else "the number as the chart has it"
    return f"Answer with a list of one number in {unit}, {how}; if there is none, answer [-1]."


def medication_form(system: str, code: str, now: str, patient: PatientRef, dosage: str) -> str:
    """How a medication order is to be written."""
    return (
        "Write the order as a MedicationRequest: medicationCodeableConcept with one coding, system "
        f"{system} and code {code}; authoredOn {now}; {dosage}; status active; intent order; "
        f"subject {_subject(patient)}."
    )


def service_form(what: str, system: str, code: str, now: str, patient: PatientRef, extra: str = "") -> str:
    """How an order for a test or a referral is to be written."""
    return (
        f"Write {what} as a ServiceRequest: code with one coding, system {system} and code {code}; "
        f"authoredOn exactly {now}; status active; intent order; priority stat{extra}; "
        f"subject {_subject(patient)}."
    )


def _subject(patient: PatientRef) -> str:
    return json.dumps({"reference": patient.reference})


def hours(count: int) -> str:
    """So many hours."""
    return "1 hour" if count == 1 else f"{count} hours"
