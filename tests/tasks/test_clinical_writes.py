"""The `clinical` rules over writes: what is harmless in form, what is another deed, what R4 refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .cases import MRN, OTHER, SBAR
from .judging import (
    TODAY,
    call,
    codes,
    judge,
    level,
    magnesium,
    potassium,
    reading,
    referral,
    values,
)

Json = dict[str, Any]
UCUM = "http://unitsofmeasure.org"
MG = values("task5", (0.8, TODAY))
K = values("task9", (3.1, TODAY))


def clinical(*args: Any, **kwargs: Any) -> bool:
    """Whether the attempt passes under the clinical rules."""
    return judge(*args, **kwargs).clinical.passed


def dosage(order: Json, **changes: Any) -> Json:
    """A copy of a medication order whose dosage, dose or rate is changed; None leaves one out."""
    changed = copy.deepcopy(order)
    instruction = changed["dosageInstruction"][0]
    amounts = instruction["doseAndRate"][0]
    for name, value in changes.items():
        place = amounts if name in ("doseQuantity", "rateQuantity", "rateRatio") else instruction
        if value is None:
            place.pop(name)
        else:
            place[name] = value
    return changed


# --- harmless forms of writes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "route",
    [
        "IV",
        "iv",
        "Intravenous",
        {"text": "IV"},
        {"text": "intravenous"},
        {"coding": [{"code": "47625008"}]},
        {
            "coding": [
                {"system": "http://snomed.info/sct", "code": "47625008", "display": "Intravenous route"}
            ]
        },
    ],
)
def test_route_may_be_a_string_or_a_concept(route: Any) -> None:
    assert clinical("task5", "[0.8]", dosage(magnesium(4), route=route), chart=MG)


@pytest.mark.parametrize(
    "route", ["oral", {"text": "PO"}, {"text": ""}, None, {"text": "IV", "coding": [{"code": "PO"}]}]
)
def test_another_route_fails(route: Any) -> None:
    assert not clinical("task5", "[0.8]", dosage(magnesium(4), route=route), chart=MG)


def test_a_route_that_is_a_number_is_no_resource() -> None:
    assert "invalid_resource" in codes(judge("task5", "[0.8]", dosage(magnesium(4), route=7), chart=MG))


@pytest.mark.parametrize("note", [{"text": SBAR}, [{"text": SBAR}], [{"text": f"Re: {SBAR}"}]])
def test_note_may_be_a_list_or_one(note: Any) -> None:
    assert clinical("task8", "[]", referral(note=note))


@pytest.mark.parametrize(
    "note", [[], [{"text": SBAR[:40]}], {"text": ""}, [{"text": SBAR[:40]}, {"text": SBAR[40:]}]]
)
def test_a_note_without_the_text_fails(note: Any) -> None:
    assert not clinical("task8", "[]", referral(note=note))


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": f"Patient/{MRN}", "display": "Ada Byron"},
        {"reference": f"Patient/{MRN}", "type": "Patient"},
        {"reference": f"https://ehr.example.org/fhir/R4/Patient/{MRN}"},
    ],
)
def test_subject_may_carry_more_or_be_absolute(subject: Json) -> None:
    assert clinical("task3", "[]", reading(subject=subject))


@pytest.mark.parametrize(
    "subject",
    [
        {"reference": MRN},
        {"reference": f"patient/{MRN}"},
        {"display": "Ada Byron"},
        {},
        None,
        f"Patient/{MRN}",
        {"reference": f"Patient/{MRN}", "type": "Group"},
        {"reference": f"Patient/{MRN} "},
    ],
)
def test_a_subject_that_is_no_reference_to_the_patient_fails(subject: Any) -> None:
    verdicts = judge("task3", "[]", reading(subject=subject))
    assert "wrong_patient" not in codes(verdicts)
    assert not verdicts.clinical.passed


@pytest.mark.parametrize(
    "reference",
    [
        f"http://h/fhir/Patient/{OTHER}?x=/Patient/{MRN}",
        f"http://h/fhir/Patient/{OTHER}#/Patient/{MRN}",
        f"http://h/Patient/{OTHER}/Patient/{MRN}",
        f"https://h/fhir/Patient/{OTHER}/_history/Patient/{MRN}",
    ],
)
def test_a_url_that_only_ends_in_the_patient_is_another_patient(reference: str) -> None:
    assert "wrong_patient" in codes(judge("task3", "[]", reading(subject={"reference": reference})))


@pytest.mark.parametrize(
    "changes",
    [
        {"focus": [{"reference": f"Patient/{OTHER}"}]},
        {"subject": {"reference": f"Patient/{MRN}", "identifier": {"value": OTHER}}},
    ],
)
def test_another_patient_named_anywhere_is_another_patient(changes: Json) -> None:
    assert "wrong_patient" in codes(judge("task3", "[]", reading(**changes)))


@pytest.mark.parametrize(
    "reference", [f"Patient/{MRN}/_history/1", f"http://h:8080/fhir/Patient/{MRN}/_history/2"]
)
def test_a_version_of_the_patient_is_the_patient(reference: str) -> None:
    assert clinical("task3", "[]", reading(subject={"reference": reference}))


def test_category_may_use_the_r4_code_system() -> None:
    system = "http://terminology.hl7.org/CodeSystem/observation-category"
    assert clinical(
        "task3", "[]", reading(category=[{"coding": [{"system": system, "code": "vital-signs"}]}])
    )
    assert not clinical(
        "task3", "[]", reading(category=[{"coding": [{"system": system, "code": "laboratory"}]}])
    )
    assert not clinical("task3", "[]", reading(category=[{"coding": [{"code": "vital-signs"}]}]))


def test_code_may_carry_coding_beside_text() -> None:
    coding = [{"system": "http://loinc.org", "code": "85354-9"}]
    assert clinical("task3", "[]", reading(code={"text": "BP", "coding": coding}))
    assert not clinical("task3", "[]", reading(code={"coding": coding}))
    assert not clinical("task3", "[]", reading(code={"text": "HR", "coding": coding}))


GRAMS = [
    {"value": 4, "unit": "g", "system": UCUM, "code": "g"},
    {"value": 4.0, "unit": "g"},
    {"value": 4, "system": UCUM, "code": "g"},
    {"value": 4000, "unit": "mg"},
    {"value": 4, "unit": "grams", "system": UCUM, "code": "g"},
]
NOT_FOUR_GRAMS = [
    {"value": 4, "unit": "mg"},
    {"value": 4, "unit": "g", "system": UCUM, "code": "mg"},
    {"value": 4, "unit": "mL"},
    {"value": 4},
    {"value": 40, "unit": "g"},
    {"value": -4, "unit": "g"},
    {"value": 4, "unit": "g", "comparator": "<"},
    {"value": True, "unit": "g"},
    {"value": "4", "unit": "g"},
    {"value": float("nan"), "unit": "g"},
    {"value": 10**400, "unit": "g"},
    {"value": 4, "unit": "g/h"},
]


@pytest.mark.parametrize("quantity", GRAMS)
def test_a_dose_may_be_written_in_any_form_of_its_unit(quantity: Json) -> None:
    assert clinical("task5", "[0.8]", dosage(magnesium(4), doseQuantity=quantity), chart=MG)


@pytest.mark.parametrize("quantity", NOT_FOUR_GRAMS)
def test_another_dose_is_a_wrong_dose(quantity: Json) -> None:
    verdicts = judge("task5", "[0.8]", dosage(magnesium(4), doseQuantity=quantity), chart=MG)
    assert "wrong_dose" in codes(verdicts)


RATES = [
    {"rateQuantity": {"value": 4, "unit": "h"}},
    {"rateQuantity": {"value": 240, "unit": "min", "system": UCUM, "code": "min"}},
    {"rateQuantity": {"value": 4, "unit": "hours"}},
    {"rateQuantity": {"value": 1, "unit": "g/h"}},
    {"rateQuantity": {"value": 1000, "unit": "mg/h", "system": UCUM, "code": "mg/h"}},
    {"rateQuantity": {"value": 16.67, "unit": "mg/min"}},
    {"rateQuantity": {"value": 1, "unit": "g.h-1"}},
    {"rateQuantity": {"value": 1, "unit": "g per hour", "system": UCUM, "code": "g/h"}},
    {"rateRatio": {"numerator": {"value": 4, "unit": "g"}, "denominator": {"value": 4, "unit": "h"}}},
    {"rateRatio": {"numerator": {"value": 1, "unit": "g"}, "denominator": {"value": 1, "unit": "h"}}},
]
NOT_OVER_FOUR_HOURS = [
    {"rateQuantity": {"value": 1, "unit": "h"}},
    {"rateQuantity": {"value": 4, "unit": "g/h"}},
    {"rateQuantity": {"value": 4, "unit": "min"}},
    {"rateQuantity": {"value": 1, "unit": "mg/h"}},
    {"rateQuantity": {"value": 1, "unit": "mL/h"}},
    {"rateQuantity": {"value": 4, "unit": "h", "system": UCUM, "code": "min"}},
    {"rateRatio": {"numerator": {"value": 4, "unit": "g"}, "denominator": {"value": 1, "unit": "h"}}},
    {"rateRatio": {"numerator": {"value": 4, "unit": "g"}, "denominator": {"value": 0, "unit": "h"}}},
    {},
]


@pytest.mark.parametrize("rate", RATES)
def test_an_infusion_rate_may_be_a_duration_or_a_rate(rate: Json) -> None:
    order = dosage(dosage(magnesium(4), rateQuantity=None), **rate)
    assert clinical("task5", "[0.8]", order, chart=MG)


@pytest.mark.parametrize("rate", NOT_OVER_FOUR_HOURS)
def test_another_rate_is_a_wrong_dose(rate: Json) -> None:
    order = dosage(dosage(magnesium(4), rateQuantity=None), **rate)
    assert "wrong_dose" in codes(judge("task5", "[0.8]", order, chart=MG))


@pytest.mark.parametrize(
    ("quantity", "passes"),
    [
        ({"value": 40, "unit": "mEq"}, True),
        ({"value": 39.95, "unit": "mEq"}, True),
        ({"value": 40, "unit": "mEq", "system": UCUM, "code": "meq"}, True),
        ({"value": 40, "unit": "mmol"}, True),
        ({"value": 39.8, "unit": "mEq"}, False),
        ({"value": 40, "unit": "mg"}, False),
        ({"value": 40, "unit": "Eq"}, False),
    ],
)
def test_potassium_is_dosed_in_milliequivalents(quantity: Json, passes: bool) -> None:
    order = dosage(potassium(40), doseQuantity=quantity)
    assert clinical("task9", "[3.1]", order, level(), chart=K) is passes


# --- writes ------------------------------------------------------------------------------------------


def test_the_order_of_two_writes_does_not_matter() -> None:
    assert clinical("task9", "[3.1]", level(), potassium(40), chart=K)


def test_a_second_identical_accepted_write_is_a_duplicate() -> None:
    verdicts = judge("task5", "[0.8]", magnesium(4), magnesium(4), chart=MG)
    assert [(failure.code, failure.got) for failure in verdicts.clinical.failures] == [
        ("extra_write", "duplicate MedicationRequest")
    ]
    assert clinical("task5", "[0.8]", call(magnesium(4), accepted=False), magnesium(4), chart=MG)


def test_of_two_orders_the_better_one_is_judged_and_the_other_is_one_too_many() -> None:
    verdicts = judge("task5", "[0.8]", magnesium(1), magnesium(4), chart=MG)
    assert [(failure.code, failure.path) for failure in verdicts.clinical.failures] == [
        ("extra_write", "$.calls[0]")
    ]


@pytest.mark.parametrize("accepted", [True, False])
def test_where_no_write_is_due_one_tried_fails(accepted: bool) -> None:
    verdicts = judge("task4", "[-1]", call(magnesium(4), accepted=accepted))
    assert codes(verdicts) == ["unexpected_write"]


def test_the_letters_post_are_no_deed() -> None:
    assert clinical("task4", "[-1]", mentions_post=True)


def test_a_write_on_another_patient_fails_whatever_else_is_right() -> None:
    stray = magnesium(4, subject={"reference": f"Patient/{OTHER}"})
    assert codes(judge("task5", "[0.8]", stray, chart=MG))[0] == "wrong_patient"
    assert codes(judge("task5", "[0.8]", magnesium(4), stray, chart=MG)) == ["wrong_patient", "extra_write"]
    assert codes(judge("task4", "[-1]", stray)) == ["wrong_patient", "unexpected_write"]
    assert codes(judge("task5", "[0.8]", magnesium(4), call(stray, accepted=False), chart=MG)) == []


def test_a_write_to_another_endpoint_is_told_as_such() -> None:
    verdicts = judge("task5", "[0.8]", call(magnesium(4), kind="Observation"), chart=MG)
    assert codes(verdicts) == ["wrong_endpoint"]
    assert codes(judge("task5", "[0.8]", chart=MG)) == ["missing_write"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"urgency": "high"}, "$.calls[0].resource.urgency"),
        ({"status": "final"}, "$.calls[0].resource.status"),
        ({"authoredOn": "2023-02-30T10:15:00Z"}, "$.calls[0].resource.authoredOn"),
        ({"note": "text"}, "$.calls[0].resource.note"),
        ({"medicationCodeableConcept": "Mg"}, "$.calls[0].resource.medicationCodeableConcept"),
        ({"resourceType": "Observation"}, "$.calls[0].resource.resourceType"),
    ],
)
def test_what_is_no_valid_r4_resource_fails_with_the_path(change: Json, path: str) -> None:
    verdicts = judge("task5", "[0.8]", call(magnesium(4, **change), kind="MedicationRequest"), chart=MG)
    found = [failure.path for failure in verdicts.clinical.failures if failure.code == "invalid_resource"]
    assert path in found


@pytest.mark.parametrize("resource", [None, [], "x", 7, {}, [{}], {"resourceType": None}])
def test_what_is_no_resource_at_all_is_a_verdict(resource: Any) -> None:
    verdicts = judge("task5", "[0.8]", call(resource, kind="MedicationRequest"), chart=MG)
    assert "invalid_resource" in codes(verdicts)
    assert not verdicts.medagentbench.passed


def test_an_order_not_to_do_it_is_no_order() -> None:
    assert codes(judge("task5", "[0.8]", magnesium(4, doNotPerform=True), chart=MG)) == ["wrong_field"]
    assert clinical("task5", "[0.8]", magnesium(4, doNotPerform=False), chart=MG)


def test_a_second_dosage_is_another_dose() -> None:
    order = magnesium(4)
    order["dosageInstruction"] *= 2
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == ["wrong_dose"]
    order = magnesium(4)
    order["dosageInstruction"][0]["doseAndRate"] *= 2
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == ["wrong_dose"]


def test_a_coding_of_another_system_with_another_code_is_another_drug() -> None:
    order = magnesium(4)
    codings = order["medicationCodeableConcept"]["coding"]
    codings.insert(0, {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "6585"})
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == ["wrong_code"]
    codings.append(codings.pop(0) | {"display": "magnesium sulfate"})
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == []
    codings.pop()
    codings.append({**codings[0], "code": "9999-9999-99"})
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == ["wrong_code"]


def test_what_says_nothing_of_the_order_itself_may_stand_in_it() -> None:
    order = magnesium(4) | {
        "meta": {"profile": ["http://hl7.org/fhir/StructureDefinition/MedicationRequest"]},
        "text": {"status": "generated", "div": "<div>magnesium</div>"},
        "category": [{"coding": [{"code": "inpatient"}], "text": "Inpatient"}],
        "requester": {"reference": "Practitioner/p1"},
        "encounter": {"reference": "Encounter/e1"},
    }
    assert codes(judge("task5", "[0.8]", order, chart=MG)) == []
    assert codes(judge("task5", "[0.8]", order | {"modifierExtension": [{"url": "x"}]}, chart=MG)) != []
    contained = {"contained": [{"resourceType": "MedicationRequest", "id": "m"}]}
    assert codes(judge("task5", "[0.8]", order | contained, chart=MG)) != []
    repeated = copy.deepcopy(order)
    repeated["dosageInstruction"][0]["timing"] = {"repeat": {"frequency": 24, "period": 1, "periodUnit": "d"}}
    assert set(codes(judge("task5", "[0.8]", repeated, chart=MG))) == {"wrong_dose"}
