"""The cohort's records one by one: valid FHIR R4, plausible values, consistent units and flags."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson
import pytest
from fhir.resources.R4B import get_fhir_model_class

from tests.server.cohort_data import NOW, Resource, local_code, of_type, patient_of, small_cohort
from wardround_server.chart.cohort import DEFAULT_SEED, make_frames, patient_records
from wardround_server.chart.cohort.conditions import TITLES as ICD_TITLES
from wardround_server.chart.cohort.medications import DRUGS
from wardround_server.chart.cohort.procedures import TITLES as CPT_TITLES
from wardround_server.chart.cohort.reasons import REASONS

# Bounds beyond which a value is not compatible with an adult in a hospital's or practice's care; written
# for these tests from clinical reference works, and wider than the reference ranges.
PLAUSIBLE = {
    "NA": (110, 170), "K": (2.0, 7.0), "CL": (75, 130), "CO2": (8, 45), "BUN": (2, 150), "CREAT": (0.2, 12),
    "CA": (5.5, 14), "MG": (0.5, 5), "PHOS": (0.8, 10), "WBC": (0.5, 60), "HGB": (5, 20), "HCT": (15, 62),
    "PLT": (10, 900), "ALB": (1, 6), "ALT": (3, 2000), "AST": (3, 2000), "ALP": (15, 1000),
    "TBIL": (0.1, 30), "INR": (0.7, 8), "LACT": (0.3, 15), "CRP": (0, 450), "LDL": (15, 350),
    "HDL": (15, 130), "TRIG": (25, 900), "CHOL": (60, 550), "TSH": (0.01, 60),
    "A1C": (3.5, 16), "GLU": (30, 600), "HR": (30, 190),
    "RR": (6, 45), "TEMP": (33, 42), "SPO2": (75, 100), "WT": (30, 220),
}  # fmt: skip
LOW_FLAGS = {"L", "LL"}
HIGH_FLAGS = {"H", "HH"}
VITAL_CODES = {"BP", "HR", "RR", "TEMP", "SPO2", "WT"}


def observations(resources: list[Resource] | None = None) -> list[Resource]:
    return of_type("Observation", resources)


@pytest.fixture(scope="module")
def full_charts() -> list[Resource]:
    """The paper-scale records of a few patients, by the way each differs from the others."""
    frames = make_frames(DEFAULT_SEED)
    return [
        orjson.loads(record)
        for frame in (frames[0], frames[33], frames[66])
        for record in patient_records(frame, "paper")
    ]


def every_kind(resources: list[Resource]) -> Iterator[Resource]:
    """The first few of every type, code, category and status."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for resource in resources:
        kind = (
            resource["resourceType"],
            str(resource.get("code") or resource.get("medicationCodeableConcept") or resource["id"]),
            str(resource.get("status") or resource.get("clinicalStatus")),
            str(resource.get("interpretation")),
            "abatementDateTime" in resource,
        )
        seen[kind] += 1
        if seen[kind] <= 2:
            yield resource


def test_an_independent_validator_finds_every_kind_of_record_valid(full_charts: list[Resource]) -> None:
    sample = list(every_kind([*small_cohort(), *full_charts]))
    assert len(sample) > 500
    assert {resource["resourceType"] for resource in sample} == {
        "Patient", "Observation", "Condition", "Procedure", "MedicationRequest",
    }  # fmt: skip
    for resource in sample:
        model = get_fhir_model_class(resource["resourceType"])
        model.model_validate(resource)


def test_the_validator_would_find_a_fault() -> None:
    broken = {**observations()[0], "status": ["final"]}
    with pytest.raises(ValueError, match="status"):
        get_fhir_model_class("Observation").model_validate(broken)


def test_laboratory_values_are_within_what_a_patient_can_have(full_charts: list[Resource]) -> None:
    seen: Counter[str] = Counter()
    for found in (*observations(), *observations(full_charts)):
        code = local_code(found)
        if code == "BP":
            continue
        low, high = PLAUSIBLE[code]
        assert low <= found["valueQuantity"]["value"] <= high, found
        seen[code] += 1
    assert set(seen) == set(PLAUSIBLE)


def test_blood_pressure_is_text_in_mmhg_with_its_two_numbers_beside_it(full_charts: list[Resource]) -> None:
    pressures = [item for item in (*observations(), *observations(full_charts)) if local_code(item) == "BP"]
    assert len(pressures) > 500
    for found in pressures:
        match = re.fullmatch(r"(\d{2,3})/(\d{2,3}) mmHg", found["valueString"])
        assert match
        systolic, diastolic = int(match[1]), int(match[2])
        assert [part["valueQuantity"]["value"] for part in found["component"]] == [systolic, diastolic]
        assert 70 <= systolic <= 230
        assert 35 <= diastolic <= 130
        assert systolic - diastolic >= 15


def test_flags_follow_the_reference_range_that_stands_beside_them(full_charts: list[Resource]) -> None:
    flagged: Counter[str] = Counter()
    for found in (*observations(), *observations(full_charts)):
        if local_code(found) in VITAL_CODES:
            assert "interpretation" not in found
            continue
        value = found["valueQuantity"]["value"]
        (limits,) = found["referenceRange"]
        flag = found["interpretation"][0]["coding"][0]["code"]
        assert (flag in LOW_FLAGS) is (value < limits["low"]["value"]), found
        assert (flag in HIGH_FLAGS) is (value > limits["high"]["value"]), found
        assert limits["low"]["unit"] == limits["high"]["unit"] == found["valueQuantity"]["unit"]
        flagged[flag] += 1
    assert set(flagged) >= {"L", "N", "H", "LL"}
    assert flagged["N"] > flagged["L"] + flagged["H"]


def test_what_the_protocols_call_low_is_flagged_low() -> None:
    for found in observations():
        code, value = local_code(found), found["valueQuantity"]["value"] if "valueQuantity" in found else None
        if value is not None and ((code == "MG" and value <= 1.9) or (code == "K" and value < 3.5)):
            assert found["interpretation"][0]["coding"][0]["code"] in LOW_FLAGS


def test_each_code_has_one_unit_one_name_and_one_loinc_code(full_charts: list[Resource]) -> None:
    facts: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for found in (*observations(), *observations(full_charts)):
        local, loinc = found["code"]["coding"]
        assert loinc["system"] == "http://loinc.org"
        assert found["code"]["text"] == local["code"]
        measure = found.get("valueQuantity", {})
        assert measure.get("system", "http://unitsofmeasure.org") == "http://unitsofmeasure.org"
        facts[local["code"]].add((local["display"], loinc["code"], measure.get("unit"), measure.get("code")))
    assert set(facts) == set(PLAUSIBLE) | {"BP"}
    assert all(len(found) == 1 for found in facts.values())
    assert len({loinc for found in facts.values() for _, loinc, _, _ in found}) == len(facts)


def test_vitals_and_laboratory_results_are_told_apart_by_category() -> None:
    for found in observations():
        category = found["category"][0]["coding"][0]["code"]
        assert category == ("vital-signs" if local_code(found) in VITAL_CODES else "laboratory")


def test_values_of_one_draw_belong_together(full_charts: list[Resource]) -> None:
    draws: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for found in observations(full_charts):
        if local_code(found) not in VITAL_CODES:
            draws[patient_of(found), found["effectiveDateTime"]][local_code(found)] = found["valueQuantity"][
                "value"
            ]
    gaps = [
        draw["NA"] - draw["CL"] - draw["CO2"] for draw in draws.values() if {"NA", "CL", "CO2"} <= set(draw)
    ]
    ratios = [draw["HCT"] / draw["HGB"] for draw in draws.values() if {"HCT", "HGB"} <= set(draw)]
    lipids = [draw for draw in draws.values() if {"CHOL", "LDL", "HDL", "TRIG"} <= set(draw)]
    assert min(len(gaps), len(ratios)) > 200
    assert len(lipids) >= 10
    assert all(3 <= gap <= 22 for gap in gaps)
    assert all(2.5 <= ratio <= 3.5 for ratio in ratios)
    for draw in lipids:
        assert abs(draw["CHOL"] - draw["LDL"] - draw["HDL"] - draw["TRIG"] / 5) <= 1


def test_days_in_hospital_are_dense_and_visits_are_sparse(full_charts: list[Resource]) -> None:
    per_day: Counter[tuple[str, str]] = Counter(
        (patient_of(found), found["effectiveDateTime"][:10]) for found in observations(full_charts)
    )
    counts = sorted(per_day.values())
    assert counts[len(counts) // 10] <= 25
    assert counts[len(counts) * 9 // 10] >= 45
    days = len({day for _, day in per_day})
    assert days < 1826 * 0.6


def test_five_years_have_records_in_every_quarter(full_charts: list[Resource]) -> None:
    quarters = {
        (item["effectiveDateTime"][:4], (int(item["effectiveDateTime"][5:7]) - 1) // 3)
        for item in observations(full_charts)
    }
    assert len(quarters) >= 20


def test_conditions_are_icd_10_cm_problems_and_encounter_diagnoses() -> None:
    categories: Counter[str] = Counter()
    for found in of_type("Condition"):
        coding = found["code"]["coding"][0]
        assert coding["system"] == "http://hl7.org/fhir/sid/icd-10-cm"
        assert re.fullmatch(r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?", coding["code"])
        assert coding["display"] == ICD_TITLES[coding["code"]]
        assert found["onsetDateTime"][:10] <= found["recordedDate"][:10]
        resolved = found["clinicalStatus"]["coding"][0]["code"] == "resolved"
        assert resolved is ("abatementDateTime" in found)
        if resolved:
            assert found["recordedDate"][:10] <= found["abatementDateTime"] <= NOW.date().isoformat()
        categories[found["category"][0]["coding"][0]["code"]] += 1
    assert set(categories) == {"problem-list-item", "encounter-diagnosis"}
    assert min(categories.values()) >= 300


def test_a_problem_is_on_a_list_once() -> None:
    listed = Counter(
        (patient_of(found), found["code"]["coding"][0]["code"])
        for found in of_type("Condition")
        if found["category"][0]["coding"][0]["code"] == "problem-list-item"
    )
    assert max(listed.values()) == 1


def test_procedures_are_completed_cpt_codes_with_the_time_they_were_performed() -> None:
    for found in of_type("Procedure"):
        coding = found["code"]["coding"][0]
        assert coding["system"] == "http://www.ama-assn.org/go/cpt"
        assert re.fullmatch(r"\d{5}", coding["code"])
        assert coding["display"] == CPT_TITLES[coding["code"]]
        assert found["status"] == "completed"
        assert datetime.fromisoformat(found["performedDateTime"]) <= NOW


def test_operations_that_can_be_done_once_are_done_once(full_charts: list[Resource]) -> None:
    once = {code for reason in REASONS if reason.once for code in reason.procedures}
    done = Counter(
        (patient_of(found), found["code"]["coding"][0]["code"]) for found in of_type("Procedure", full_charts)
    )
    assert once
    assert all(count == 1 for (_, code), count in done.items() if code in once)


def test_orders_carry_an_ndc_a_dose_and_a_route() -> None:
    statuses: Counter[str] = Counter()
    for order in of_type("MedicationRequest"):
        coding = order["medicationCodeableConcept"]["coding"][0]
        assert coding["system"] == "http://hl7.org/fhir/sid/ndc"
        assert re.fullmatch(r"\d{4,5}-\d{3,4}-\d{1,2}", coding["code"])
        assert coding["code"] in DRUGS
        (dosage,) = order["dosageInstruction"]
        assert dosage["doseAndRate"][0]["doseQuantity"]["value"] > 0
        assert dosage["route"]["text"]
        assert order["intent"] == "order"
        statuses[order["status"]] += 1
    assert set(statuses) == {"active", "completed", "stopped"}


def test_code_lists_are_of_their_published_form() -> None:
    for code in ICD_TITLES:
        assert re.fullmatch(r"[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?", code)
    for code in CPT_TITLES:
        assert re.fullmatch(r"\d{5}", code)
    for drug in DRUGS.values():
        assert len(drug.ndc.replace("-", "")) == 10


def test_patients_differ_from_one_another_and_a_patient_keeps_to_itself(full_charts: list[Resource]) -> None:
    """Repeated values of a person scatter less than those of different people."""
    by_patient: dict[str, list[float]] = defaultdict(list)
    for found in observations(full_charts):
        if local_code(found) == "WT":
            by_patient[patient_of(found)].append(found["valueQuantity"]["value"])
    means = sorted(sum(values) / len(values) for values in by_patient.values())
    assert means[-1] - means[0] > 3
    for values in by_patient.values():
        assert max(values) - min(values) < 30
