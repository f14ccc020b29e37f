"""Attempts made wrong in one known way, and attempts put in another harmless form.

Each mutator takes the right attempt on a scene and returns one altered in a single way, or None where
that way does not exist there. `harm` says whether the deed or the answer is then wrong.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from .attempt import Attempt, CreateCall
from .categories.base import resource_for
from .expect import OBSERVATION_CATEGORY_R4, UCUM, MedicationWrite
from .scenes import OTHER_PATIENT, PATIENT, Scene

Json = dict[str, Any]
Mutate = Callable[[Scene, Attempt], Attempt | None]


@dataclass(frozen=True, slots=True)
class Mutator:
    """One way to alter an attempt."""

    name: str
    family: str
    harm: bool
    mutate: Mutate


def mutators() -> tuple[Mutator, ...]:
    """All of them, in the order of the certificate."""
    return (*_harmful_writes(), *_harmful_counts(), *_harmful_answers(), *_harmless())


# --- altering a resource -------------------------------------------------------------------------


def _edit(resource_type: str | None, change: Callable[[Json], bool | None]) -> Mutate:
    """Alter a copy of the first accepted resource of a type; False from `change`: it does not apply."""

    def mutate(scene: Scene, gold: Attempt) -> Attempt | None:
        for place, call in enumerate(gold.calls):
            if resource_type in (None, call.resource_type):
                resource = copy.deepcopy(call.resource)
                if change(resource) is False:
                    continue
                calls = [*gold.calls]
                calls[place] = replace(call, resource=resource)
                return replace(gold, calls=tuple(calls))
        return None

    return mutate


def _set(field: str, value: Any) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        if field not in resource or resource[field] == value:
            return False
        resource[field] = value
        return None

    return change


def _amounts(resource: Json) -> Json:
    amounts: Json = resource["dosageInstruction"][0]["doseAndRate"][0]
    return amounts


def _dose(factor: float) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> None:
        _amounts(resource)["doseQuantity"]["value"] *= factor

    return change


def _other_tier(dose: int) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        amounts = _amounts(resource)
        if "rateQuantity" not in amounts or amounts["doseQuantity"]["value"] == dose:
            return False
        amounts["doseQuantity"]["value"] = amounts["rateQuantity"]["value"] = dose
        return None

    return change


def _quantity(name: str, key: str, value: Any) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        quantity = _amounts(resource).get(name)
        if quantity is None or quantity.get(key) == value:
            return False
        quantity[key] = value
        return None

    return change


def _twice_the_rate(resource: Json) -> bool | None:
    rate = _amounts(resource).get("rateQuantity")
    if rate is None:
        return False
    rate["value"] /= 2
    return None


def _route(value: Any) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        dosage = resource["dosageInstruction"][0]
        told = dosage["route"] if isinstance(dosage["route"], str) else dosage["route"]["text"]
        if value is None:
            del dosage["route"]
        elif str(value).lower() == told.lower():
            return False
        else:
            dosage["route"] = value
        return None

    return change


def _second_dosage(resource: Json) -> None:
    resource["dosageInstruction"].append(copy.deepcopy(resource["dosageInstruction"][0]))


def _coding(key: str, value: str) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        concept = resource.get("medicationCodeableConcept") or resource.get("code") or {}
        if not concept.get("coding"):
            return False
        concept["coding"][0][key] = value
        return None

    return change


def _second_code(resource: Json) -> bool | None:
    concept = resource.get("medicationCodeableConcept") or {}
    if not concept:
        return False
    concept["coding"].append({**concept["coding"][0], "code": "0409-6729-24"})
    return None


def _without(field: str) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        return None if resource.pop(field, None) is not None else False

    return change


def _add(field: str, value: Any) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> None:
        resource[field] = value

    return change


def _note(text: str) -> Callable[[Json], bool | None]:
    def change(resource: Json) -> bool | None:
        if "note" not in resource:
            return False
        resource["note"] = {"text": text}
        return None

    return change


def _harmful_writes() -> Iterator[Mutator]:
    medication, service, vital = "MedicationRequest", "ServiceRequest", "Observation"
    rows: tuple[tuple[str, str, str | None, Callable[[Json], bool | None]], ...] = (
        ("dose x 10", "dose", medication, _dose(10)),
        ("dose / 10", "dose", medication, _dose(0.1)),
        ("dose x 2", "dose", medication, _dose(2)),
        ("dose negative", "dose", medication, _dose(-1)),
        *((f"tier of {dose} g", "dose", medication, _other_tier(dose)) for dose in (1, 2, 4)),
        ("dose at most (comparator)", "dose", medication, _quantity("doseQuantity", "comparator", "<")),
        ("second dosage beside the first", "dose", medication, _second_dosage),
        ("infusion at twice the rate", "dose", medication, _twice_the_rate),
        ("dose unit mg", "unit", medication, _quantity("doseQuantity", "unit", "mg")),
        ("dose unit another substance's", "unit", medication, _quantity("doseQuantity", "unit", "mL")),
        ("rate unit min", "unit", medication, _quantity("rateQuantity", "unit", "min")),
        ("route by mouth", "route", medication, _route("oral")),
        ("route IV", "route", medication, _route("IV")),
        ("route missing", "route", medication, _route(None)),
        ("another patient", "patient", None, _set("subject", {"reference": OTHER_PATIENT})),
        ("no patient", "patient", None, _without("subject")),
        ("another code", "code", None, _coding("code", "99999-9")),
        ("second, different drug code", "code", medication, _second_code),
        ("another flowsheet", "code", vital, _set("code", {"text": "HR"})),
        ("another system", "system", None, _coding("system", "http://example.org/codes")),
        ("signed a day early", "time", medication, _set("authoredOn", "2023-11-12T10:15:00+00:00")),
        ("signed a day early", "time", service, _set("authoredOn", "2023-11-12T10:15:00+00:00")),
        (
            "signed at this hour elsewhere",
            "time",
            medication,
            _set("authoredOn", "2023-11-13T10:15:00-05:00"),
        ),
        ("measured a day early", "time", vital, _set("effectiveDateTime", "2023-11-12T10:15:00+00:00")),
        ("level the evening after", "time", service, _set("occurrenceDateTime", "2023-11-14T20:00:00+00:00")),
        ("level today", "time", service, _set("occurrenceDateTime", "2023-11-13T20:00:00+00:00")),
        ("level at 8 elsewhere", "time", service, _set("occurrenceDateTime", "2023-11-14T08:00:00-08:00")),
        ("status draft", "status", medication, _set("status", "draft")),
        ("status revoked", "status", service, _set("status", "revoked")),
        ("status preliminary", "status", vital, _set("status", "preliminary")),
        ("intent proposal", "status", medication, _set("intent", "proposal")),
        ("intent plan", "status", service, _set("intent", "plan")),
        ("priority routine", "status", service, _set("priority", "routine")),
        ("do not perform", "status", medication, _add("doNotPerform", True)),
        ("do not perform", "status", service, _add("doNotPerform", True)),
        ("another note", "note", service, _note("Please review.")),
        ("note missing", "note", service, _without("note")),
        ("another reading", "value", vital, _set("valueString", "77/118 mmHg")),
        ("an element that R4 lacks", "validity", None, _add("urgency", "high")),
    )
    for name, family, resource_type, change in rows:
        yield Mutator(name, family, True, _edit(resource_type, change))


# --- altering the calls --------------------------------------------------------------------------


def _duplicate(scene: Scene, gold: Attempt) -> Attempt | None:
    return replace(gold, calls=(*gold.calls, gold.calls[0])) if gold.calls else None


def _dropped(scene: Scene, gold: Attempt) -> Attempt | None:
    return replace(gold, calls=gold.calls[:-1]) if gold.calls else None


def _refused(scene: Scene, gold: Attempt) -> Attempt | None:
    if not gold.calls:
        return None
    return replace(gold, calls=(*gold.calls[:-1], replace(gold.calls[-1], accepted=False)))


def _elsewhere(scene: Scene, gold: Attempt) -> Attempt | None:
    if not gold.calls:
        return None
    return replace(gold, calls=(*gold.calls[:-1], replace(gold.calls[-1], resource_type="Procedure")))


def needless_order(patient: str = PATIENT.reference) -> CreateCall:
    """A well-formed order that nobody asked for."""
    write = MedicationWrite(
        PATIENT,
        "http://hl7.org/fhir/sid/ndc",
        "0338-1715-40",
        "2023-11-13T10:15:00+00:00",
        route="IV",
        dose=2,
        unit="g",
        hours=2,
    )
    return CreateCall(
        "MedicationRequest", {**resource_for(write, "original"), "subject": {"reference": patient}}
    )


def _needless(scene: Scene, gold: Attempt) -> Attempt:
    return replace(gold, calls=(*gold.calls, needless_order()))


def _needless_elsewhere(scene: Scene, gold: Attempt) -> Attempt:
    return replace(gold, calls=(*gold.calls, needless_order(OTHER_PATIENT)))


def _tried(scene: Scene, gold: Attempt) -> Attempt | None:
    if gold.calls:
        return None
    return replace(gold, calls=(replace(needless_order(), accepted=False),))


def _harmful_counts() -> Iterator[Mutator]:
    yield Mutator("the same order twice", "duplicate", True, _duplicate)
    yield Mutator("last write left out", "omission", True, _dropped)
    yield Mutator("last write refused", "omission", True, _refused)
    yield Mutator("last write to another endpoint", "omission", True, _elsewhere)
    yield Mutator("an order too many", "extra write", True, _needless)
    yield Mutator("an order for another patient", "extra write", True, _needless_elsewhere)
    yield Mutator("a needless order tried and refused", "extra write", True, _tried)


# --- altering the answer -------------------------------------------------------------------------


def _answer(change: Callable[[list[Any]], Any]) -> Mutate:
    """Alter the answer of a scene whose category looks at it; MISFIT from `change`: it does not apply."""

    def mutate(scene: Scene, gold: Attempt) -> Attempt | None:
        if scene.task.category in ("task3", "task8"):
            return None
        changed = change(json.loads(gold.answer or "[]"))
        return None if changed is MISFIT else replace(gold, answer=json.dumps(changed))

    return mutate


MISFIT: Final = object()


def _number(change: Callable[[float], Any]) -> Callable[[list[Any]], Any]:
    def apply(values: list[Any]) -> Any:
        if not values or isinstance(values[0], str):
            return MISFIT
        return [change(values[0]), *values[1:]]

    return apply


def _decoy(scene: Scene, gold: Attempt) -> Attempt | None:
    """The value of another time or in another unit, as someone would give who looks wrongly."""
    given = json.loads(gold.answer or "[]")
    wrong = [value for value in scene.decoys if value != given[0]]
    return replace(gold, answer=json.dumps([wrong[0], *given[1:]])) if wrong else None


def _harmful_answers() -> Iterator[Mutator]:
    yield Mutator("value of the wrong window or unit", "wrong value", True, _decoy)
    yield Mutator("off by 0.2", "wrong value", True, _answer(_number(lambda value: value + 0.2)))
    yield Mutator("x 10", "wrong value", True, _answer(_number(lambda value: value * 10)))
    yield Mutator("empty list", "wrong value", True, _answer(lambda values: []))
    yield Mutator("[null]", "wrong value", True, _answer(lambda values: [None]))
    yield Mutator("[0]", "wrong value", True, _answer(lambda values: [0]))
    yield Mutator("[false]", "wrong value", True, _answer(lambda values: [False]))
    yield Mutator("[true]", "wrong value", True, _answer(lambda values: [True]))
    yield Mutator("the value twice", "wrong value", True, _answer(lambda values: [*values, *values]))
    yield Mutator("another name", "wrong value", True, _answer(_another_name))
    yield Mutator("time of another day", "wrong value", True, _answer(_another_day))
    yield Mutator("no answer", "no answer", True, lambda scene, gold: replace(gold, answer=None))
    yield Mutator(
        "budget used up", "no answer", True, lambda scene, gold: replace(gold, status="budget_exhausted")
    )
    yield Mutator("prose", "no answer", True, _prose)


def _another_name(values: list[Any]) -> Any:
    return ["S1000002"] if isinstance(values[0], str) else MISFIT


def _another_day(values: list[Any]) -> Any:
    return [values[0], "2022-11-14T10:15:00+00:00"] if len(values) == 2 else MISFIT


def _prose(scene: Scene, gold: Attempt) -> Attempt | None:
    return None if scene.task.category in ("task3", "task8") else replace(gold, answer="I have done it.")


# --- harmless forms ------------------------------------------------------------------------------


def _route_object(resource: Json) -> None:
    dosage = resource["dosageInstruction"][0]
    dosage["route"] = {"text": dosage["route"].lower()}


def _note_list(resource: Json) -> bool | None:
    if "note" not in resource:
        return False
    resource["note"] = [resource["note"]]
    return None


def _ucum(resource: Json) -> None:
    for quantity in _amounts(resource).values():
        quantity.update(system=UCUM, code={"mEq": "meq"}.get(quantity["unit"], quantity["unit"]))


def _as_rate(resource: Json) -> bool | None:
    amounts = _amounts(resource)
    if "rateQuantity" not in amounts:
        return False
    amounts["rateQuantity"] = {"value": 1, "unit": "g/h", "system": UCUM, "code": "g/h"}
    return None


def _zulu(resource: Json) -> bool | None:
    names = [name for name in ("authoredOn", "effectiveDateTime", "occurrenceDateTime") if name in resource]
    for name in names:
        resource[name] = resource[name].replace("+00:00", ".000Z")
    return None if names else False


def _absolute(resource: Json) -> None:
    resource["subject"] = {"reference": f"https://fhir.example.org/r4/{PATIENT.reference}"}


def _named(resource: Json) -> None:
    resource["subject"] = {**resource["subject"], "display": "Ada Ash", "type": "Patient"}


def _r4_category(resource: Json) -> None:
    resource["category"][0]["coding"][0]["system"] = OBSERVATION_CATEGORY_R4


def _code_beside(resource: Json) -> None:
    resource["code"]["coding"] = [{"system": "http://loinc.org", "code": "85354-9"}]


def _swapped(scene: Scene, gold: Attempt) -> Attempt | None:
    return replace(gold, calls=tuple(reversed(gold.calls))) if len(gold.calls) == 2 else None


def _after_refusal(scene: Scene, gold: Attempt) -> Attempt | None:
    if not gold.calls:
        return None
    return replace(gold, calls=(replace(gold.calls[0], accepted=False, resource={}), *gold.calls))


def _text(values: list[Any]) -> Any:
    return [str(values[0]), *values[1:]] if not isinstance(values[0], str) else MISFIT


def _bare(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else MISFIT


def _zulu_answer(values: list[Any]) -> Any:
    return [values[0], values[1].replace("+00:00", "Z")] if len(values) == 2 else MISFIT


def _harmless() -> Iterator[Mutator]:
    medication, service, vital = "MedicationRequest", "ServiceRequest", "Observation"
    rows: tuple[tuple[str, str, str | None, Callable[[Json], bool | None]], ...] = (
        ("route as an object", "form", medication, _route_object),
        ("note as a list", "form", service, _note_list),
        ("quantities with UCUM codes", "form", medication, _ucum),
        ("infusion rate in g/h", "form", medication, _as_rate),
        ("times with Z and milliseconds", "form", None, _zulu),
        ("subject as an absolute URL", "form", None, _absolute),
        ("subject with display and type", "form", None, _named),
        ("category in R4's system", "form", vital, _r4_category),
        ("code with a coding beside its text", "form", vital, _code_beside),
    )
    for name, family, resource_type, change in rows:
        yield Mutator(name, family, False, _edit(resource_type, change))
    yield Mutator("the two orders the other way round", "form", False, _swapped)
    yield Mutator("right after a refused try", "form", False, _after_refusal)
    yield Mutator("number as text", "form", False, _answer(_text))
    yield Mutator("bare value for a list of one", "form", False, _answer(_bare))
    yield Mutator("whole number as a float", "form", False, _answer(_number(float)))
    yield Mutator("answered time with Z", "form", False, _answer(_zulu_answer))
