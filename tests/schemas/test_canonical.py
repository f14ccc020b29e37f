"""The canonical R4 form, and validity by our table and by an independent validator."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.schemas.strategies import ANY_JSON, calls
from wardround_schemas.canonical import canonical_resource, validate_r4
from wardround_schemas.function import PROFILES, Function, Profile, decode, find_function, load_functions
from wardround_schemas.r4 import RESOURCE_TYPES

BASE = "http://127.0.0.1:8421/fhir"
BOUNDED = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def create(name: str, profile: Profile = "medagentbench") -> Function:
    found = find_function(f"{name}.create", profile)
    assert found is not None
    return found


CREATES = [f for profile in PROFILES for f in load_functions(profile) if f.kind == "create"]


def _ids(function: Function) -> str:
    return f"{function.name}-{function.profile}"


def example(resource_type: str, **changes: Any) -> dict[str, Any]:
    function = next(f for f in CREATES if f.resource_type == resource_type)
    return {**copy.deepcopy(function.example), **changes}


def independent_faults(resource_type: str, resource: dict[str, Any]) -> str | None:
    """What fhir.resources (R4B) says of a resource, None where it takes it."""
    module = importlib.import_module(f"fhir.resources.R4B.{resource_type.lower()}")
    try:
        getattr(module, resource_type).model_validate(copy.deepcopy(resource))
    except ValueError as error:
        return str(error)
    return None


def fault_paths(resource_type: str, **changes: Any) -> list[str]:
    return [fault.path for fault in validate_r4(resource_type, example(resource_type, **changes))]


# --- the form ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", CREATES, ids=_ids)
def test_the_example_is_its_own_canonical_form_and_valid_by_both_validators(function: Function) -> None:
    formed = canonical_resource(function.resource_type, function.example)
    assert formed == function.example
    assert validate_r4(function.resource_type, formed) == []
    assert independent_faults(function.resource_type, formed) is None


def test_route_text_becomes_a_codeable_concept() -> None:
    formed = canonical_resource(
        "MedicationRequest", example("MedicationRequest", dosageInstruction=[{"route": "IV"}])
    )
    assert formed["dosageInstruction"] == [{"route": {"text": "IV"}}]
    assert independent_faults("MedicationRequest", formed) is None


def test_one_note_becomes_a_list_and_a_list_stays_one() -> None:
    for note in ({"text": "Fasting."}, [{"text": "Fasting."}]):
        formed = canonical_resource("ServiceRequest", example("ServiceRequest", note=note))
        assert formed["note"] == [{"text": "Fasting."}]


@pytest.mark.parametrize(
    ("sent", "formed"),
    [
        ("2023-11-13T10:15:00+00:00", "2023-11-13T10:15:00+00:00"),
        ("2023-11-13T10:15:00Z", "2023-11-13T10:15:00Z"),
        ("2023-11-13T10:15:00.250-05:00", "2023-11-13T10:15:00.250-05:00"),
        ("2023-11-13T10:15:00.5", "2023-11-13T10:15:00.5+00:00"),
        ("2023-11-13T10:15", "2023-11-13T10:15:00+00:00"),
        ("2023-11-13T10:15Z", "2023-11-13T10:15:00Z"),
        ("2023-11-13", "2023-11-13"),
        ("2023", "2023"),
        ("soon", "soon"),
    ],
)
def test_times_get_the_seconds_and_the_zone_they_lack_and_nothing_else_changes(
    sent: str, formed: str
) -> None:
    assert canonical_resource("ServiceRequest", {"authoredOn": sent})["authoredOn"] == formed
    nested = {"dosageInstruction": [{"timing": {"event": [sent]}}], "note": {"time": sent, "text": sent}}
    whole = canonical_resource("MedicationRequest", nested)
    assert whole["dosageInstruction"][0]["timing"]["event"] == [formed]
    assert whole["note"] == [{"time": formed, "text": sent}]


def test_text_that_looks_like_a_time_is_left_alone_where_no_time_belongs() -> None:
    formed = canonical_resource(
        "Observation", {"valueString": "2023-11-13T10:15", "code": {"text": "2023-11-13T10:15"}}
    )
    assert formed["valueString"] == "2023-11-13T10:15"
    assert formed["code"] == {"text": "2023-11-13T10:15"}


def test_an_own_absolute_reference_becomes_relative_and_any_other_stays() -> None:
    own, other = f"{BASE}/Patient/S1", "http://elsewhere/fhir/Patient/S1"
    for reference, expected in (
        (own, "Patient/S1"),
        (other, other),
        ("S1", "S1"),
        (f"{BASE}x/Patient/S1",) * 2,
    ):
        sent = {
            "subject": {"reference": reference},
            "note": [{"authorReference": {"reference": reference}, "text": "x"}],
        }
        formed = canonical_resource("ServiceRequest", sent, base_url=BASE)
        assert formed["subject"]["reference"] == expected
        assert formed["note"][0]["authorReference"]["reference"] == expected
    assert (
        canonical_resource("ServiceRequest", {"subject": {"reference": own}})["subject"]["reference"] == own
    )


def test_what_holds_nothing_is_left_out_at_every_depth() -> None:
    sent: dict[str, Any] = {
        "code": {"coding": [{"code": "x", "display": None}], "text": ""},
        "note": [],
        "bodySite": None,
    }
    assert canonical_resource("ServiceRequest", sent) == {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"code": "x"}]},
    }


@pytest.mark.parametrize(
    ("resource_type", "name", "void"),
    [
        ("Observation", "valueString", ""),
        ("ServiceRequest", "code", {}),
        ("MedicationRequest", "dosageInstruction", []),
    ],
)
def test_what_the_function_needs_is_never_left_out_so_that_nothing_is_not_ordered(
    resource_type: str, name: str, void: object
) -> None:
    for value in (void, None):
        formed = canonical_resource(resource_type, example(resource_type, **{name: value}))
        assert formed[name] == value
        assert [fault.path for fault in validate_r4(resource_type, formed)] == [f"$.{name}"]


def test_a_missing_type_is_set_and_a_wrong_one_kept() -> None:
    assert canonical_resource("Observation", {})["resourceType"] == "Observation"
    assert canonical_resource("Observation", {"resourceType": "Patient"})["resourceType"] == "Patient"


def test_a_type_that_is_not_ours_is_only_cleaned() -> None:
    assert canonical_resource("Patient", {"note": {"text": "x"}, "gender": None}) == {
        "resourceType": "Patient",
        "note": {"text": "x"},
    }


def test_what_was_sent_is_never_altered() -> None:
    sent = example(
        "MedicationRequest",
        dosageInstruction=[{"route": "IV"}],
        note={"text": "x", "time": "2023-11-13T10:15"},
    )
    before = copy.deepcopy(sent)
    canonical_resource("MedicationRequest", sent)
    assert sent == before


def test_very_deep_input_is_neither_followed_nor_fatal() -> None:
    deep: dict[str, Any] = {"text": "x"}
    for _ in range(900):
        deep = {"extension": [{"url": "http://x", "extension": [deep]}]}
    sent = example("ServiceRequest", note=[deep])
    formed = canonical_resource("ServiceRequest", sent)
    assert "nested too deeply" in {fault.message for fault in validate_r4("ServiceRequest", formed)}


# --- validity ---------------------------------------------------------------------------------

SIMPLE = {"reference": "Patient/S1"}
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("ServiceRequest", {"status": "done"}, "$.status"),
    ("ServiceRequest", {"status": ["active"]}, "$.status"),
    ("ServiceRequest", {"intent": "must"}, "$.intent"),
    ("ServiceRequest", {"priority": "now"}, "$.priority"),
    ("ServiceRequest", {"note": {"text": "x"}}, "$.note"),
    ("ServiceRequest", {"note": [{"time": "2023-11-13"}]}, "$.note[0].text"),
    ("ServiceRequest", {"note": ["x"]}, "$.note[0]"),
    ("ServiceRequest", {"note": []}, "$.note"),
    ("ServiceRequest", {"colour": "red"}, "$.colour"),
    ("ServiceRequest", {"code": {"codings": []}}, "$.code.codings"),
    ("ServiceRequest", {"code": {}}, "$.code"),
    ("ServiceRequest", {"code": "x"}, "$.code"),
    ("ServiceRequest", {"code": {"coding": {"code": "x"}}}, "$.code.coding"),
    ("ServiceRequest", {"code": {"coding": [{"code": "x", "system": "a b"}]}}, "$.code.coding[0].system"),
    ("ServiceRequest", {"code": {"coding": [{"code": 5}]}}, "$.code.coding[0].code"),
    ("ServiceRequest", {"authoredOn": "2023-02-30"}, "$.authoredOn"),
    ("ServiceRequest", {"authoredOn": "2023-11-13T10:15:00"}, "$.authoredOn"),
    (
        "ServiceRequest",
        {"occurrenceDateTime": "2023-11-14", "occurrencePeriod": {"start": "2023"}},
        "$.occurrencePeriod",
    ),
    ("ServiceRequest", {"subject": {"reference": "S1"}}, "$.subject.reference"),
    ("ServiceRequest", {"subject": {"reference": "patient/S1"}}, "$.subject.reference"),
    ("ServiceRequest", {"subject": [SIMPLE]}, "$.subject"),
    ("ServiceRequest", {"doNotPerform": "false"}, "$.doNotPerform"),
    ("ServiceRequest", {"patientInstruction": "a\x00b"}, "$.patientInstruction"),
    ("ServiceRequest", {"id": "a/b"}, "$.id"),
    ("ServiceRequest", {"resourceType": "Observation"}, "$.resourceType"),
    ("MedicationRequest", {"medicationReference": SIMPLE}, "$.medicationReference"),
    ("MedicationRequest", {"dosageInstruction": {"text": "x"}}, "$.dosageInstruction"),
    ("MedicationRequest", {"dosageInstruction": [{"route": "IV"}]}, "$.dosageInstruction[0].route"),
    ("MedicationRequest", {"dosageInstruction": [{"sequence": 1.5}]}, "$.dosageInstruction[0].sequence"),
    (
        "MedicationRequest",
        {"dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": "2"}}]}]},
        "$.dosageInstruction[0].doseAndRate[0].doseQuantity.value",
    ),
    (
        "MedicationRequest",
        {"dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": True}}]}]},
        "$.dosageInstruction[0].doseAndRate[0].doseQuantity.value",
    ),
    (
        "MedicationRequest",
        {"dosageInstruction": [{"timing": {"repeat": {"periodUnit": "hours"}}}]},
        "$.dosageInstruction[0].timing.repeat.periodUnit",
    ),
    ("Observation", {"status": None}, "$.status"),
    ("Observation", {"valueInteger": 3}, "$.valueInteger"),
    ("Observation", {"issued": "2023-11-13"}, "$.issued"),
    ("Observation", {"category": [None]}, "$.category[0]"),
    ("Observation", {"component": [{"valueString": "x"}]}, "$.component[0].code"),
    ("Observation", {"extension": [{"valueString": "x"}]}, "$.extension[0].url"),
    ("Observation", {"extension": [{"url": "http://x", "valueFoo": 1}]}, "$.extension[0].valueFoo"),
    ("Observation", {"_status": {"colour": 1}}, "$._status.colour"),
    ("Observation", {"_category": {}}, "$._category"),
    ("Observation", {"text": {"status": "generated", "div": "x"}}, "$.text.div"),
    ("Observation", {"contained": [{"id": "a"}]}, "$.contained[0]"),
    ("Observation", {"effectivePeriod": {"start": "2023"}}, "$.effectivePeriod"),
]


@pytest.mark.parametrize(("resource_type", "changes", "path"), WRONG)
def test_what_r4_refuses_is_found_at_its_place(
    resource_type: str, changes: dict[str, Any], path: str
) -> None:
    assert path in fault_paths(resource_type, **changes)


@pytest.mark.parametrize("resource_type", RESOURCE_TYPES)
def test_a_missing_element_that_r4_needs_is_found(resource_type: str) -> None:
    needed = {
        "Observation": ["status", "code"],
        "MedicationRequest": ["status", "intent", "medicationCodeableConcept", "subject"],
        "ServiceRequest": ["status", "intent", "subject"],
    }
    for name in needed[resource_type]:
        resource = example(resource_type)
        del resource[name]
        assert [fault.path for fault in validate_r4(resource_type, resource)] == [f"$.{name}"]
        assert independent_faults(resource_type, resource) is not None


def test_the_invariants_of_r4_hold_that_a_server_would_check() -> None:
    dose = [{"doseAndRate": [{"doseQuantity": {"value": 1, "code": "g"}}]}]
    assert fault_paths("MedicationRequest", dosageInstruction=dose) == [
        "$.dosageInstruction[0].doseAndRate[0].doseQuantity.system"
    ]
    assert fault_paths("Observation", dataAbsentReason={"text": "lost"}) == ["$.dataAbsentReason"]
    assert fault_paths("Observation", extension=[{"url": "http://x"}]) == ["$.extension[0]"]


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("ServiceRequest", {"encounter": {"reference": "Encounter/1"}, "requester": {"display": "Dr. Who"}}),
    ("ServiceRequest", {"subject": {"reference": "urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"}}),
    ("ServiceRequest", {"subject": {"reference": "https://example.org/fhir/Patient/1", "type": "Patient"}}),
    (
        "ServiceRequest",
        {"occurrenceTiming": {"event": ["2023-11-14T08:00:00Z"]}} | {"occurrenceDateTime": None},
    ),
    (
        "ServiceRequest",
        {"meta": {"tag": [{"code": "x"}], "lastUpdated": "2023-11-13T10:15:00Z"}, "id": "a.b-1"},
    ),
    ("ServiceRequest", {"extension": [{"url": "http://x", "valueAddress": {"city": "Leeds"}}]}),
    (
        "ServiceRequest",
        {"text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">x</div>'}},
    ),
    ("ServiceRequest", {"_authoredOn": {"extension": [{"url": "http://x", "valueString": "y"}]}}),
    (
        "MedicationRequest",
        {"reportedBoolean": False, "category": [{"text": "inpatient"}], "priority": "stat"},
    ),
    (
        "MedicationRequest",
        {
            "dosageInstruction": [
                {
                    "sequence": 1,
                    "asNeededBoolean": False,
                    "timing": {
                        "repeat": {
                            "boundsDuration": {"value": 1, "unit": "d"},
                            "dayOfWeek": ["mon"],
                            "count": 2,
                        }
                    },
                    "doseAndRate": [
                        {"doseRange": {"low": {"value": 1}}, "rateRatio": {"numerator": {"value": 1}}}
                    ],
                }
            ]
        },
    ),
    (
        "Observation",
        {
            "component": [{"code": {"text": "a"}, "valueQuantity": {"value": 1.5}}],
            "issued": "2023-11-13T10:15:00Z",
        },
    ),
    (
        "Observation",
        {"performer": [{"reference": "#me"}], "contained": [{"resourceType": "Practitioner", "id": "me"}]},
    ),
]


@pytest.mark.parametrize(("resource_type", "changes"), RIGHT)
def test_what_r4_allows_beyond_our_parameters_is_valid(resource_type: str, changes: dict[str, Any]) -> None:
    resource = {k: v for k, v in example(resource_type, **changes).items() if v is not None}
    assert validate_r4(resource_type, resource) == []
    assert independent_faults(resource_type, resource) is None


@pytest.mark.parametrize("value", [None, 5, "x", []])
def test_what_is_no_object_is_no_resource(value: object) -> None:
    assert [fault.path for fault in validate_r4("Observation", value)] == ["$"]


def test_a_type_that_no_function_creates_is_refused() -> None:
    assert [fault.path for fault in validate_r4("Patient", {"resourceType": "Patient"})] == ["$.resourceType"]


# --- against the independent validator ----------------------------------------------------------


@pytest.mark.parametrize("function", CREATES, ids=_ids)
def test_a_call_that_is_valid_by_us_is_valid_by_the_independent_validator(function: Function) -> None:
    @seed(6)
    @BOUNDED
    @given(calls(function))
    def check(call: dict[str, Any]) -> None:
        decoded = decode(function, call)
        formed = canonical_resource(function.resource_type, decoded.arguments)
        faults = validate_r4(function.resource_type, formed)
        if function.profile == "r4":
            assert bool(decoded.faults) == bool(faults)
        if not faults:
            assert independent_faults(function.resource_type, formed) is None, formed

    check()


@pytest.mark.parametrize("function", [f for f in CREATES if f.profile == "r4"], ids=_ids)
def test_what_the_independent_validator_refuses_is_refused_by_us(function: Function) -> None:
    """Random damage to a valid resource: never valid by us alone."""
    names = st.sampled_from(
        [*function.input_schema["properties"], "extension", "meta", "language", "contained", "text"]
    )
    damage = st.dictionaries(names, ANY_JSON, min_size=1, max_size=2)

    @seed(7)
    @BOUNDED
    @given(damage)
    def check(changes: dict[str, Any]) -> None:
        formed = canonical_resource(function.resource_type, {**function.example, **changes})
        if independent_faults(function.resource_type, formed) is not None:
            assert validate_r4(function.resource_type, formed), formed

    check()
