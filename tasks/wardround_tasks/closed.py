"""Which elements may stand in a write: what the protocol needs, and a few that change nothing.

FHIR has elements that turn an order into another one (timing.repeat, asNeeded, dispenseRequest,
modifierExtension). Rather than to know them all, the `clinical` rules let in what they know to be harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from .expect import (
    LOINC,
    NDC,
    OBSERVATION_CATEGORY,
    OBSERVATION_CATEGORY_R4,
    MedicationWrite,
    ServiceWrite,
    VitalWrite,
    walk,
)
from .instants import parse_instant
from .quantities import amount, per_hour
from .verdict import Code

Steps = tuple[str | int, ...]
Stray = tuple[Code, Steps, object]
"""What is wrong with an element, where it stands, what it is."""
Spec = Mapping[str, Any]
"""Permitted elements by name: {} where what is below is a value, or its own permitted elements."""

_VALUE: Final[Spec] = {}
_REFERENCE: Final[Spec] = dict.fromkeys(("reference", "type", "display"), _VALUE)
_SUBJECT: Final[Spec] = {
    **_REFERENCE,
    "identifier": dict.fromkeys(("system", "value", "use"), _VALUE),
}
_CONCEPT: Final[Spec] = {
    "coding": dict.fromkeys(("system", "version", "code", "display", "userSelected"), _VALUE),
    "text": _VALUE,
}
_QUANTITY: Final[Spec] = dict.fromkeys(("value", "unit", "system", "code", "comparator"), _VALUE)
_NOTE: Final[Spec] = {
    **dict.fromkeys(("text", "time", "authorString"), _VALUE),
    "authorReference": _REFERENCE,
}
_META: Final[Spec] = {
    **dict.fromkeys(("versionId", "lastUpdated", "source", "profile"), _VALUE),
    **dict.fromkeys(("tag", "security"), dict.fromkeys(("system", "version", "code", "display"), _VALUE)),
}
_COMMON: Final[Spec] = {
    **dict.fromkeys(("resourceType", "id", "language", "status"), _VALUE),
    "meta": _META,
    "text": dict.fromkeys(("status", "div"), _VALUE),
    "note": _NOTE,
    "identifier": dict.fromkeys(("system", "value", "use"), _VALUE),
    "subject": _SUBJECT,
    "encounter": _REFERENCE,
}
_ORDER: Final[Spec] = {
    **_COMMON,
    **dict.fromkeys(("intent", "priority", "authoredOn", "doNotPerform"), _VALUE),
    **dict.fromkeys(("requester", "performer", "recorder"), _REFERENCE),
    **dict.fromkeys(("category", "performerType", "reasonCode"), _CONCEPT),
}
_TIMING: Final[Spec] = {
    "event": _VALUE,
    "repeat": dict.fromkeys(("count", "duration", "durationUnit"), _VALUE),
    "code": {"text": _VALUE},
}
PERMITTED: Final[Mapping[str, Spec]] = {
    "MedicationRequest": {
        **_ORDER,
        "reportedBoolean": _VALUE,
        "medicationCodeableConcept": _CONCEPT,
        "dosageInstruction": {
            **dict.fromkeys(("sequence", "text", "patientInstruction", "asNeededBoolean"), _VALUE),
            "timing": _TIMING,
            "route": _CONCEPT,
            "doseAndRate": {
                "type": _CONCEPT,
                "doseQuantity": _QUANTITY,
                "rateQuantity": _QUANTITY,
                "rateRatio": {"numerator": _QUANTITY, "denominator": _QUANTITY},
            },
        },
    },
    "ServiceRequest": {
        **_ORDER,
        "asNeededBoolean": _VALUE,
        "code": _CONCEPT,
        "occurrenceDateTime": _VALUE,
    },
    "Observation": {
        **_COMMON,
        **dict.fromkeys(("effectiveDateTime", "issued", "valueString"), _VALUE),
        "category": _CONCEPT,
        "code": _CONCEPT,
        "performer": _REFERENCE,
        "component": {"code": _CONCEPT, "valueQuantity": _QUANTITY},
    },
}
"""By resource type: every element that may stand in a write of it."""


def strays(resource_type: str, resource: Mapping[str, Any]) -> Iterator[Stray]:
    """Every element of a canonical resource that is not permitted, and every flag that says yes."""
    yield from _strays(resource, PERMITTED[resource_type], ())
    for path in (
        ("reportedBoolean",),
        ("asNeededBoolean",),
        ("dosageInstruction", 0, "asNeededBoolean"),
    ):
        if walk(resource, *path) is True:
            yield "wrong_field", path, True


def _strays(value: object, spec: Spec, path: Steps) -> Iterator[Stray]:
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _strays(item, spec, (*path, place))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if name in spec:
                yield from _strays(item, spec[name], (*path, name))
            else:
                yield _code_of((*path, name)), (*path, name), item


def _code_of(path: Steps) -> Code:
    if path[0] == "dosageInstruction" and not {"route", "extension", "modifierExtension"} & set(path):
        return "wrong_dose"
    return "wrong_time" if str(path[0]).startswith(("occurrence", "effective")) else "wrong_field"


# --- what must say the same as the rest ------------------------------------------------------------


def medication_strays(resource: Mapping[str, Any], write: MedicationWrite) -> Iterator[Stray]:
    """Permitted elements of an order that contradict it: drug names, timing, the dosage in words."""
    concept = ("medicationCodeableConcept",)
    codings = walk(resource, *concept, "coding")
    texts: list[Steps] = [(*concept, "text")]
    for place, coding in enumerate(codings if isinstance(codings, list) else []):
        texts.append((*concept, "coding", place, "display"))
        if walk(coding, "code") != write.code and not _translates(coding, write):
            yield "wrong_code", (*concept, "coding", place), coding
    for path in texts:
        told = walk(resource, *path)
        if isinstance(told, str) and not _names_drug(told, write):
            yield "wrong_code", path, told
    dosage: Steps = ("dosageInstruction", 0)
    yield from _timing_strays(walk(resource, *dosage, "timing"), write, (*dosage, "timing"))
    for name in ("text", "patientInstruction"):
        told = walk(resource, *dosage, name)
        if isinstance(told, str) and not is_restatement(told, write):
            yield "wrong_dose", (*dosage, name), told
    amounts: Steps = (*dosage, "doseAndRate", 0)
    if write.hours is None:
        for name in ("rateQuantity", "rateRatio"):
            if isinstance(rate := walk(resource, *amounts, name), Mapping):
                yield "wrong_dose", (*amounts, name), rate
    kind = walk(resource, *amounts, "type")
    if any(word not in ("ordered", "calculated") for word in _words_of(kind)):
        yield "wrong_dose", (*amounts, "type"), kind


def _names_drug(told: str, write: MedicationWrite) -> bool:
    """A name has the ordered drug in it, and no other; without a known name, anything goes."""
    words = told.lower()
    if not write.drug or words.strip() == write.code:
        return True
    names = (write.drug, *SHORT_NAMES.get(write.drug, ()))
    return any(name in words for name in names) and not any(
        name in words for name in OTHER_DRUGS if name != write.drug
    )


def _translates(coding: object, write: MedicationWrite) -> bool:
    """A code of another system is the same drug where its display says so; a bare one can't be known."""
    display, system = walk(coding, "display"), walk(coding, "system")
    return isinstance(display, str) and system != NDC and bool(write.drug) and _names_drug(display, write)


SHORT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "magnesium": ("mgso4", "mag sulf"),
    "potassium": ("kcl", "k-dur", "klor-con"),
}
"""What clinicians write for a drug's name."""

OTHER_DRUGS: Final = ("magnesium", "potassium", "insulin", "calcium", "heparin")
"""Names that, beside the ordered drug's, make it doubtful which is meant."""


def _timing_strays(timing: object, write: MedicationWrite, path: Steps) -> Iterator[Stray]:
    """A timing that is not once, now."""
    events, repeat, word = walk(timing, "event"), walk(timing, "repeat"), walk(timing, "code", "text")
    now = parse_instant(write.now)
    if isinstance(events, list):
        start = None if now is None else now.replace(second=0, microsecond=0)
        instants = [parse_instant(event) for event in events]
        first = instants[0] if len(instants) == 1 else None
        if start is None or first is None or not timedelta(0) <= first - start < timedelta(minutes=1):
            yield "wrong_time", (*path, "event"), events
    if isinstance(repeat, Mapping):
        length = {"value": repeat.get("duration"), "unit": repeat.get("durationUnit")}
        fits = "duration" not in repeat or amount(length, "h") == write.hours is not None
        if repeat.get("count", 1) != 1 or not fits or ("durationUnit" in repeat) != ("duration" in repeat):
            yield "wrong_dose", (*path, "repeat"), repeat
    if isinstance(word, str) and word.strip().lower() not in ONCE:
        yield "wrong_dose", (*path, "code"), word


ONCE: Final = ("once", "stat", "now", "once now", "one time", "one-time")
"""How a timing says once."""
_FILLERS: Final = frozenset(
    [
        "a",
        "as",
        "at",
        "by",
        "dose",
        "for",
        "give",
        "administer",
        "infuse",
        "infusion",
        "infused",
        "mouth",
        "now",
        "of",
        "once",
        "one-time",
        "over",
        "rate",
        "replacement",
        "single",
        "stat",
        "take",
        "the",
        "via",
        "magnesium",
        "sulfate",
        "sulphate",
        "potassium",
        "chloride",
    ]
)
_ROUTE_WORDS: Final = {
    "iv": frozenset({"iv", "intravenous", "intravenously"}),
    "oral": frozenset({"oral", "orally", "po", "mouth"}),
}
_AMOUNT: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]{1,20}(?:/[a-z]{1,20})?)")


def is_restatement(told: str, write: MedicationWrite) -> bool:
    """Whether a dosage in words says nothing but the ordered dose, time and route.

    Every amount in it is the dose, the hours or the rate; every other word is a filler, the drug's or the
    route's. So "1 g IV over 1 hour" may stand beside 1 g over 1 h, and "twice a day" nowhere.
    """
    text = told[:300].lower().replace("\N{MICRO SIGN}", "u")
    if len(told) > 300:
        return False
    for value, unit in _AMOUNT.findall(text):
        if not _is_ordered({"value": float(value), "unit": unit}, write):
            return False
    words = re.split(r"[\s.,;:()]+", _AMOUNT.sub(" ", text))
    other_drug = {"magnesium", "potassium"} - {write.drug} if write.drug else set()
    known = (_FILLERS - other_drug) | _ROUTE_WORDS.get(write.route.lower(), frozenset())
    if write.route.lower() != "oral":
        known -= {"mouth", "take"}
    return all(word in known for word in words if word)


def _is_ordered(quantity: dict[str, Any], write: MedicationWrite) -> bool:
    dose = amount(quantity, write.unit)
    if dose is not None:
        return abs(dose - write.dose) <= max(write.tolerance, 1e-6) + 1e-9
    if write.hours is None:
        return False
    hours, rate = amount(quantity, "h"), per_hour(quantity, write.unit)
    if hours is not None:
        return abs(hours - write.hours) <= 1e-6
    return rate is not None and abs(rate * write.hours / write.dose - 1) <= 0.01


def _words_of(concept: object) -> list[str]:
    codings = walk(concept, "coding")
    told = [walk(concept, "text")]
    for coding in codings if isinstance(codings, list) else []:
        told += [walk(coding, "code"), walk(coding, "display")]
    return [" ".join(word.lower().split()) for word in told if isinstance(word, str)]


def service_strays(resource: Mapping[str, Any], write: ServiceWrite) -> Iterator[Stray]:
    """Codes of another service, another day, and notes beside the one asked for or that take it back."""
    codings = walk(resource, "code", "coding")
    for place, coding in enumerate(codings if isinstance(codings, list) else []):
        if walk(coding, "code") != write.code:
            yield "wrong_code", ("code", "coding", place), coding
    when = walk(resource, "occurrenceDateTime")
    if write.at is None and isinstance(when, str) and not _is_same_day(when, write.now):
        yield "wrong_time", ("occurrenceDateTime",), when
    notes = walk(resource, "note")
    if isinstance(notes, list):
        for place, note in enumerate(notes):
            text = walk(note, "text")
            taken_back = isinstance(text, str) and _UNDONE.search(text)
            if (write.note is not None and place > 0) or (write.note is None and taken_back):
                yield "wrong_field", ("note", place), note


_UNDONE: Final = re.compile(
    r"\b(?:cancel\w*|not|don'?t|hold|ignore|disregard|instead|void|error|wrong)\b", re.IGNORECASE
)
"""Words in a note that nobody asked for by which an order may be taken back."""


def _is_same_day(when: str, now: str) -> bool:
    """Whether a date or an instant lies on now's day, in now's zone."""
    instant, at = parse_instant(when), parse_instant(now)
    if instant is None or at is None:
        return when == now[:10]
    return instant.astimezone(at.tzinfo).date() == at.date()


def vital_strays(resource: Mapping[str, Any], write: VitalWrite) -> Iterator[Stray]:
    """Codes of another measurement, categories beside vital signs, components of another reading."""
    codings = walk(resource, "code", "coding")
    for place, coding in enumerate(codings if isinstance(codings, list) else []):
        system, code = walk(coding, "system"), walk(coding, "code")
        if not (code == write.code_text or (system == LOINC and code in PANELS)):
            yield "wrong_code", ("code", "coding", place), coding
    categories = walk(resource, "category")
    for place, category in enumerate(categories if isinstance(categories, list) else []):
        codings = walk(category, "coding")
        for at, coding in enumerate(codings if isinstance(codings, list) else []):
            known = walk(coding, "system") in (OBSERVATION_CATEGORY, OBSERVATION_CATEGORY_R4)
            if not known or walk(coding, "code") != "vital-signs":
                yield "wrong_code", ("category", place, "coding", at), coding
        text = walk(category, "text")
        if isinstance(text, str) and text.lower().replace("-", " ").split() not in (["vital", "signs"],):
            yield "wrong_code", ("category", place, "text"), text
    components = walk(resource, "component")
    reading = re.match(r"\s*(\d+)\s*/\s*(\d+)", write.value)
    for place, part in enumerate(components if isinstance(components, list) else []):
        if reading is None or not _is_part(part, int(reading[1]), int(reading[2])):
            yield "wrong_field", ("component", place), part


PANELS: Final = ("85354-9", "55284-4")
"""LOINC: blood pressure panel; blood pressure systolic and diastolic."""


def _is_part(part: object, systolic: int, diastolic: int) -> bool:
    """Whether a component repeats one half of the reading."""
    codings = walk(part, "code", "coding")
    codes = {walk(coding, "code") for coding in (codings if isinstance(codings, list) else [])}
    systems = {walk(coding, "system") for coding in (codings if isinstance(codings, list) else [])}
    wanted = {"8480-6": systolic, "8462-4": diastolic}.get(str(next(iter(codes), "")))
    quantity = walk(part, "valueQuantity")
    units = {walk(quantity, "unit"), walk(quantity, "code")} - {walk(None, "missing")}
    return (
        (len(codes), systems, wanted is not None) == (1, {LOINC}, True)
        and bool(units)
        and units <= {"mmHg", "mm[Hg]"}
        and walk(quantity, "comparator") is walk(None, "missing")
        and walk(quantity, "value") == wanted
    )
