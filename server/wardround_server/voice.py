"""The sentences that a session says to whoever called, apart from results of the chart itself."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .capture import Capture
from .journal import Delivery
from .settings import Voice, WriteMode

_MODE_NOTES: dict[WriteMode, str] = {
    "off": "Writes are off: create tools are not offered.",
    "capture": "Writes are captured: an order is recorded for review and is NOT sent to any FHIR server.",
    "overlay": (
        "Writes are captured: an order is recorded for review and is NOT sent to any FHIR server. "
        "Later searches of this session show it."
    ),
    "confirm": (
        "Writes ask first: the person is asked about each order, "
        "and it is sent to the FHIR server only after a yes."
    ),
    "forward": "Writes are live: a valid order is sent to the FHIR server at once.",
}


def mode_note(mode: WriteMode) -> str:
    """What the write mode means for whoever is about to call a create tool."""
    return _MODE_NOTES[mode]


def accepted_text(capture: Capture, voice: Voice, mode: WriteMode) -> str:
    """The answer to a create that is on disk and goes no further."""
    if voice == "evaluation":
        return (
            f"Accepted and carried out: the {capture.resource_type} has been created. "
            "If nothing is left to do, give your final answer."
        )
    note = (
        f"Captured, not sent: {capture.resource_type} number {capture.seq} of this session is recorded "
        "for review. No FHIR server has received it."
    )
    if mode == "overlay":
        note += " Later searches of this session show it."
    return note


def delivered_text(capture: Capture, delivery: Delivery) -> str:
    """The answer to a create that was sent to the FHIR server, or could not be."""
    name = f"{capture.resource_type} number {capture.seq} of this session"
    if delivery.state == "sent":
        where = f", id {delivery.id}" if delivery.id else ""
        return f"Sent: the FHIR server took {name} (HTTP {delivery.status}{where})."
    if delivery.state == "refused":
        return f"Not sent: the FHIR server refused {name} (HTTP {delivery.status}): {delivery.error}."
    if delivery.state == "unsent":
        return f"Not sent: {name} is recorded, but did not reach the FHIR server: {delivery.error}."
    return (
        f"Not confirmed: {name} is recorded, but the FHIR server did not confirm it: {delivery.error}. "
        "It may or may not have been stored: check the chart before ordering again."
    )


def declined_text(capture: Capture, reason: str) -> str:
    """The answer to a create that the person did not agree to."""
    return (
        f"Not sent: {reason}. {capture.resource_type} number {capture.seq} of this session "
        "is recorded as not sent."
    )


def question_text(capture: Capture, summary: str) -> str:
    """What the person is asked before an order is sent."""
    return f"Send this {capture.resource_type} to the FHIR server?\n\n{summary}"


def budget_text(budget: int) -> str:
    """The answer to each call past the budget."""
    return f"Refused: this session's budget of {budget} calls is used up. No further call is carried out."


FINISHED_TEXT = "Refused: this session is finished, its answer is given. No further call is carried out."
FINISH_TEXT = "The answer is recorded and the session is finished."
NOT_FHIR_TEXT = "Refused: the order is not a FHIR resource and was not sent."
NOT_JSON_TEXT = (
    "Refused: the order holds what JSON does not carry unchanged (a number too large, half a character, "
    "or too deep a nesting) and was not sent."
)
WRITES_OFF_TEXT = "Refused: writes are off in this session, so create calls are not carried out."
JOURNAL_TEXT = (
    "Not accepted: the order could not be written to the journal, so it was not recorded and not sent. "
    "This is a fault of the server, not of the call."
)
KEY_REUSED_TEXT = (
    "Refused: this idempotency key was already used for a different order. "
    "Send each new order with a key of its own."
)


def chart_error_text(error: Exception) -> str:
    """The answer to a read that failed; never to be mistaken for an empty result."""
    return f"Error: the chart could not be read: {error}. This is a failure, not an empty result."


def unknown_tool_text(name: str, known: Iterable[str]) -> str:
    """The answer to a call of a tool that does not exist."""
    names = list(known)
    near = difflib.get_close_matches(name[:200], names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool named {name[:100]!r}.{hint} The tools are: {', '.join(names)}."
