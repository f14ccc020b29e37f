"""What models really send: accepted where the meaning is certain, explained where it is not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from wardround_schemas.decode import MAX_VALUES
from wardround_schemas.function import (
    MAX_EXPLANATION,
    PROFILES,
    Function,
    Profile,
    decode,
    explain,
    find_function,
    search_query,
)

BASE = "http://127.0.0.1:8421/fhir"


def function(name: str, profile: Profile = "medagentbench") -> Function:
    found = find_function(name, profile)
    assert found is not None
    return found


LAB = function("lab.search")
ORDER = function("medicationrequest.create")
SERVICE = function("procedure.create")
VITAL = function("vital.create")


def order(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ORDER.example), **changes}


def service(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SERVICE.example), **changes}


def paths(found: Function, arguments: object, base_url: str | None = BASE) -> list[str]:
    return [fault.path for fault in decode(found, arguments, base_url=base_url).faults]


# --- accepted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", '{}""', b"{}", {}, '"{}"'])
def test_nothing_at_all_is_a_call_where_all_is_optional(arguments: object) -> None:
    decoded = decode(function("patient.search"), arguments)
    assert decoded.arguments == {}
    assert decoded.faults == ()


def test_arguments_may_come_as_json_text_once_or_twice_encoded() -> None:
    text = json.dumps(LAB.example)
    for sent in (text, text.encode(), json.dumps(text)):
        assert decode(LAB, sent).arguments == LAB.example
        assert decode(LAB, sent).faults == ()


def test_an_object_or_list_may_come_as_a_json_string_at_any_depth() -> None:
    sent = order(
        subject=json.dumps({"reference": "Patient/S1"}),
        dosageInstruction=json.dumps([{"route": '{"text": "IV"}', "doseAndRate": "[]"}]),
    )
    decoded = decode(ORDER, sent)
    assert decoded.faults == ()
    assert decoded.arguments["subject"] == {"reference": "Patient/S1"}
    assert decoded.arguments["dosageInstruction"] == [{"route": {"text": "IV"}, "doseAndRate": []}]


def test_a_string_that_looks_like_json_stays_one_where_the_schema_has_a_string() -> None:
    sent = {**VITAL.example, "valueString": '{"a": 1}'}
    assert decode(VITAL, sent).arguments["valueString"] == '{"a": 1}'


def test_nulls_for_absent_options_are_dropped_at_every_depth() -> None:
    sent = service(note=None, occurrenceDateTime=None)
    sent["code"]["coding"][0]["display"] = None
    decoded = decode(SERVICE, sent)
    assert decoded.faults == ()
    assert not {"note", "occurrenceDateTime"} & decoded.arguments.keys()
    assert "display" not in decoded.arguments["code"]["coding"][0]


def test_a_null_for_what_is_required_is_a_fault() -> None:
    assert paths(LAB, {"patient": None, "code": "MG"}) == ["$.patient"]


def test_empty_strings_for_absent_options_of_a_search_are_dropped() -> None:
    decoded = decode(LAB, {"patient": "S1", "code": "MG", "date": "", "_sort": ""})
    assert decoded.faults == ()
    assert search_query(LAB, decoded.arguments) == [("patient", "S1"), ("code", "MG")]


@pytest.mark.parametrize("patient", ["S123", "Patient/S123", f"{BASE}/Patient/S123"])
def test_a_patient_may_be_an_id_a_reference_or_an_own_url(patient: str) -> None:
    decoded = decode(LAB, {"patient": patient, "code": "MG"}, base_url=BASE)
    assert decoded.faults == ()
    assert ("patient", "S123") in search_query(LAB, decoded.arguments)


@pytest.mark.parametrize(
    "patient",
    [
        "http://elsewhere/fhir/Patient/S123",
        f"{BASE}x/Patient/S123",
        f"{BASE}/Patient/S123/_history/1",
        f"{BASE}/Group/S123",
        "Group/S123",
        "S123,S124",
        "S123\n",
        "S 123",
        "",
        "S" * 65,
        "../Patient/S1",
    ],
)
def test_whatever_else_is_given_for_a_patient_is_refused(patient: str) -> None:
    assert paths(LAB, {"patient": patient, "code": "MG"}) == ["$.patient"]


def test_an_absolute_patient_is_refused_where_the_own_base_is_unknown() -> None:
    assert paths(LAB, {"patient": f"{BASE}/Patient/S1", "code": "MG"}, base_url=None) == ["$.patient"]


@pytest.mark.parametrize(
    ("date", "sent"),
    [
        ("2023-11-12", ["2023-11-12"]),
        ("ge2023-11-12T10:15:00+00:00", ["ge2023-11-12T10:15:00+00:00"]),
        ("le2023", ["le2023"]),
        ("gt2023-11-12T10:15", ["gt2023-11-12T10:15"]),
        (["2023-11-12"], ["2023-11-12"]),
        (["ge2023-11-12", "lt2023-11-13"], ["ge2023-11-12", "lt2023-11-13"]),
        ('["ge2023-11-12", "lt2023-11-13"]', ["ge2023-11-12", "lt2023-11-13"]),
    ],
)
def test_a_date_is_one_prefixed_date_or_both_ends_of_a_range(date: object, sent: list[str]) -> None:
    decoded = decode(LAB, {"patient": "S1", "code": "MG", "date": date})
    assert decoded.faults == ()
    assert [v for name, v in search_query(LAB, decoded.arguments) if name == "date"] == sent


@pytest.mark.parametrize(
    ("date", "path", "says"),
    [
        ("ge2023-11-12,le2023-11-13", "$.date", "list of two"),
        ("2023-02-30", "$.date", "no day 30"),
        ("2023-13-01", "$.date", "no month 13"),
        ("ge2023-11-12T10%3A15", "$.date", "percent-encoded"),
        ("yesterday", "$.date", "FHIR date"),
        ("2023-11-12T10:15:00 00:00", "$.date", "FHIR date"),
        ("2023-11-12T25:00:00Z", "$.date", "time of day"),
        (["2023-11-12", "lt2023-11-13"], "$.date[0]", "needs a prefix"),
        (["ge2023-11-12", "lt2023-11-31"], "$.date[1]", "no day 31"),
        (["ge2023-11-12", 5], "$.date[1]", "not a string"),
        ([], "$.date", "too short"),
        (["ge2023", "lt2024", "lt2025"], "$.date", "too long"),
        (20231112, "$.date", "wrong type"),
    ],
)
def test_a_date_that_is_not_certain_is_refused_at_its_place(date: object, path: str, says: str) -> None:
    faults = decode(LAB, {"patient": "S1", "code": "MG", "date": date}).faults
    assert [fault.path for fault in faults] == [path]
    assert says in faults[0].message


def test_page_needs_no_other_parameter_and_is_not_sent() -> None:
    decoded = decode(LAB, {"page": "http://x/next"})
    assert decoded.faults == ()
    assert search_query(LAB, decoded.arguments) == []
    assert paths(LAB, {"page": "http://x/next", "cod": "MG"}) == ["$.cod"]


def test_count_may_be_written_as_digits_and_keeps_its_bounds() -> None:
    found = function("condition.search")
    assert search_query(found, decode(found, {"patient": "S1", "_count": "50"}).arguments)[1] == (
        "_count",
        "50",
    )
    for wrong in (0, -1, 5001, "0", "5001", "many", 1.5, True):
        assert paths(found, {"patient": "S1", "_count": wrong}) == ["$._count"]


def test_parameters_are_sent_under_their_fhir_names() -> None:
    orders = function("medicationrequest.search")
    sent = search_query(orders, {"patient": "Patient/S1", "date": ["ge2023", "lt2024"], "_sort": "-date,_id"})
    assert sent == [
        ("patient", "S1"),
        ("authoredon", "ge2023"),
        ("authoredon", "lt2024"),
        ("_sort", "-authoredon,_id"),
    ]
    patients = function("patient.search")
    assert search_query(patients, {"legal-sex": "female", "gender": "female"}) == [("gender", "female")]


def test_legal_sex_that_contradicts_gender_is_refused() -> None:
    assert paths(function("patient.search"), {"gender": "male", "legal-sex": "female"}) == ["$.legal-sex"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("route", ["IV", {"text": "IV"}])
@pytest.mark.parametrize("note", [{"text": "Fasting."}, [{"text": "Fasting."}]])
def test_route_and_note_are_taken_in_both_forms_and_kept_as_sent(
    profile: Profile, route: object, note: object
) -> None:
    sent = order(dosageInstruction=[{"route": route}])
    decoded = decode(function("medicationrequest.create", profile), sent)
    assert (decoded.faults, decoded.arguments) == ((), sent)
    sent = service(note=note)
    decoded = decode(function("procedure.create", profile), sent)
    assert (decoded.faults, decoded.arguments) == ((), sent)


def test_what_was_sent_is_not_altered_by_decoding() -> None:
    sent = order(note=None, subject='{"reference": "Patient/S1"}')
    before = copy.deepcopy(sent)
    decode(ORDER, sent)
    assert sent == before


# --- refused ----------------------------------------------------------------------------------


def test_an_unknown_parameter_names_the_nearest_known_one() -> None:
    faults = decode(LAB, {"patientId": "S1", "code": "MG", "patient": "S1"}).faults
    assert [fault.path for fault in faults] == ["$.patientId"]
    assert "did you mean patient?" in faults[0].message
    assert paths(ORDER, order(encounter={"reference": "Encounter/1"})) == ["$.encounter"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{", "not JSON"),
        ("patient=S1", "not JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"patient": "S1", "patient": "S2"}', "given twice"),
        ("[1]", "not an object"),
        (5, "not an object"),
        ([], "not an object"),
        ("null", ""),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe\x00", "not JSON"),
    ],
)
def test_what_is_no_object_of_certain_meaning_is_a_fault_of_the_whole(arguments: object, says: str) -> None:
    faults = decode(LAB, arguments).faults
    assert faults
    assert faults[0].path in ("$", "$.code")
    assert says in faults[0].message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**70, "\ud800", {1: 2}, (1, 2), {1}, b"x"])
def test_what_json_can_not_carry_is_refused_at_its_place(value: object) -> None:
    decoded = decode(ORDER, order(status=value))
    assert decoded.faults[0].path == "$.status"
    json.dumps(decoded.arguments, allow_nan=False).encode()


def test_a_number_too_large_for_json_text_is_refused() -> None:
    text = json.dumps(order()).replace(": 20,", ": 1e999,")
    assert paths(ORDER, text) == ["$.dosageInstruction[0].doseAndRate[0].doseQuantity.value"]


@pytest.mark.parametrize(
    "dosage", [[{"route": "IV"}] * MAX_VALUES, json.dumps([{"route": "IV"}] * MAX_VALUES), [0] * MAX_VALUES]
)
def test_a_call_of_very_many_values_is_refused_before_it_is_validated(dosage: object) -> None:
    faults = decode(ORDER, order(dosageInstruction=dosage)).faults
    assert len(faults) == 1
    # A string that holds too much is not opened, and so no list.
    assert ("not a list" if isinstance(dosage, str) else "too large") in faults[0].message


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("subject", "path"),
    [
        ({"reference": "S1234567"}, "$.subject.reference"),
        ({"reference": "Group/1"}, "$.subject.reference"),
        ({"reference": "http://elsewhere/fhir/Patient/S1"}, "$.subject.reference"),
        ({"reference": "Patient/S1/_history/2"}, "$.subject.reference"),
        ({"display": "Ngozi Okafor"}, "$.subject.reference"),
        ("Patient/S1", "$.subject"),
        ([], "$.subject"),
    ],
)
def test_a_create_needs_a_reference_to_a_patient_of_this_server(
    profile: Profile, subject: object, path: str
) -> None:
    assert paths(function("medicationrequest.create", profile), order(subject=subject)) == [path]


def test_a_create_may_name_its_patient_by_an_own_url() -> None:
    assert paths(ORDER, order(subject={"reference": f"{BASE}/Patient/S1"})) == []


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "when", ["2023-02-29", "2023-11-31T10:15:00Z", "13/11/2023", "now", "2023-11-13T24:00:00Z", ""]
)
def test_a_create_needs_dates_that_exist(profile: Profile, when: str) -> None:
    assert paths(function("medicationrequest.create", profile), order(authoredOn=when)) == ["$.authoredOn"]


def test_a_time_without_a_zone_is_utc_in_one_profile_and_refused_in_the_other() -> None:
    sent = order(authoredOn="2023-11-13T10:15")
    assert paths(ORDER, sent) == []
    faults = decode(function("medicationrequest.create", "r4"), sent).faults
    assert [fault.path for fault in faults] == ["$.authoredOn"]


def test_a_resource_of_another_type_is_refused() -> None:
    assert paths(ORDER, order(resourceType="ServiceRequest")) == ["$.resourceType"]


def test_the_r4_profile_refuses_what_r4_refuses_with_paths_into_what_was_sent() -> None:
    strict = function("procedure.create", "r4")
    sent = service(note={"text": "x", "colour": "red"}, code={"coding": [{"code": "a b  c", "system": ""}]})
    found = decode(strict, sent)
    assert {fault.path for fault in found.faults} == {"$.note.colour", "$.code.coding[0].code"}
    assert decode(SERVICE, sent).faults == ()


def test_the_medagentbench_profile_takes_what_its_open_objects_allow() -> None:
    sent = order(dosageInstruction=[{"timing": {"code": {"text": "once"}}, "dose": 1}], status="whenever")
    assert paths(ORDER, sent) == []


# --- explanations -----------------------------------------------------------------------------


def test_an_explanation_gives_path_expectation_and_example_of_each_fault_and_a_right_call() -> None:
    text = explain(LAB, decode(LAB, {"patient": "S1", "date": "2023-02-30"}).faults)
    assert "lab_search was refused" in text
    assert "$.code: missing" in text
    assert '"MG"' in text
    assert "no day 30" in text
    assert json.dumps(LAB.example) in text


@pytest.mark.parametrize(
    "arguments",
    [
        {f"unknown{i}": "x" * 1000 for i in range(2000)},
        {"x" * 100_000: 1},
        {"patient": "S" * 1_000_000, "code": ["\u202e" * 1000] * 1000},
        {"date": ["x"] * 100_000},
        "x" * 1_000_000,
        {"a\n\x1b[2Jb": 1},
    ],
)
def test_an_explanation_is_short_and_printable_however_large_or_hostile_the_call(arguments: object) -> None:
    decoded = decode(LAB, arguments)
    text = explain(LAB, decoded.faults)
    assert len(text) <= MAX_EXPLANATION
    assert all(c.isprintable() or c == "\n" for c in text)
    for fault in decoded.faults:
        assert len(fault.path) <= 160
        assert len(fault.message) <= 240


def test_faults_that_find_no_room_are_counted() -> None:
    text = explain(LAB, decode(LAB, {f"unknown{i}": 1 for i in range(40)}).faults)
    assert text.splitlines()[-1].startswith("... and ")
