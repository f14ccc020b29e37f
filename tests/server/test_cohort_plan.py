"""What the tasks' four questions find in the cohort: every branch, every edge, every trap."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from tests.server.cohort_data import (
    DAY,
    MINUTE,
    NOW,
    YEAR_AGO,
    Answers,
    Reading,
    add_to_answers,
    local_code,
    of_type,
    patient_of,
    readings,
    small_answers,
)
from wardround_server.chart.cohort import CASES, DEFAULT_SEED, PAPER_COUNTS, generate
from wardround_server.chart.cohort.plan import assign_plan, parse_case

PAPER_DIGEST = "6d6d399294a51340c09a2e27321b67bbf177d1ae23af137f48c3c44c04aa8187"
SINCE = NOW - DAY
UNITS = {"MG": "mg/dL", "K": "mmol/L", "A1C": "%", "GLU": "mg/dL"}


def of_last_day(series: Iterable[Reading]) -> list[Reading]:
    """Newest first, those that the tasks call the last 24 hours."""
    return [reading for reading in series if reading[0] >= SINCE]


def magnesium() -> list[list[Reading]]:
    """The last day's magnesium of each patient that has any."""
    return [recent for series in readings("MG").values() if (recent := of_last_day(series))]


def tier(value: float) -> str:
    """The protocol's tier of a magnesium level."""
    if value > 1.9:
        return "none"
    return "severe" if value < 1 else "moderate" if value < 1.5 else "mild"


def test_magnesium_of_the_last_day_fills_every_tier_and_meets_every_edge() -> None:
    newest = Counter(recent[0][1] for recent in magnesium())
    tiers: Counter[str] = Counter()
    for value, count in newest.items():
        tiers[tier(value)] += count
    assert sum(count for value, count in newest.items() if value < 1) >= 8
    assert newest[1.0] >= 2
    assert sum(count for value, count in newest.items() if 1 < value < 1.5) >= 8
    assert newest[1.5] >= 2
    assert sum(count for value, count in newest.items() if 1.5 < value < 1.9) >= 8
    assert newest[1.9] >= 3
    assert sum(count for value, count in newest.items() if value > 1.9) >= 12
    assert newest[2.0] >= 3
    assert min(tiers.values()) >= 8


def test_magnesium_has_patients_whose_newest_lowest_and_first_level_call_for_different_doses() -> None:
    series = [[value for _, value in recent] for recent in magnesium() if len(recent) > 1]
    assert sum(tier(values[0]) != tier(min(values)) for values in series) >= 8
    assert sum(tier(values[0]) != tier(values[-1]) for values in series) >= 8
    assert sum(len({tier(values[0]), tier(min(values)), tier(values[-1])}) == 3 for values in series) >= 1
    assert sum(tier(values[0]) != "none" and tier(values[-1]) == "none" for values in series) >= 3
    assert sum(tier(values[0]) == "none" and tier(values[-1]) != "none" for values in series) >= 3


@pytest.mark.parametrize(("offset", "inside"), [(DAY, True), (DAY - MINUTE, True), (DAY + MINUTE, False)])
def test_magnesium_stands_at_the_edge_of_the_window_once_low_and_once_not(
    offset: object, inside: bool
) -> None:
    newest = [series[0] for series in readings("MG").values() if series and NOW - series[0][0] == offset]
    assert {value > 1.9 for _, value in newest} == {True, False}
    assert all((when >= SINCE) is inside for when, _ in newest)


def test_magnesium_is_too_old_in_some_low_among_them_and_never_measured_in_others() -> None:
    older = [series[0][1] for series in readings("MG").values() if series and series[0][0] < SINCE]
    assert len(older) >= 10
    assert sum(value < 1 for value in older) >= 2
    assert sum(1 <= value <= 1.9 for value in older) >= 4
    assert sum(not series for series in readings("MG").values()) >= 5


def test_potassium_is_low_in_twenty_by_every_tenth_and_meets_the_threshold() -> None:
    newest = Counter(round(series[0][1] * 10) for series in readings("K").values() if series)
    low = Counter({tenths: count for tenths, count in newest.items() if tenths < 35})
    assert low.total() >= 20
    assert set(low) == set(range(25, 35))
    assert low[25] >= 2
    assert newest[35] >= 3
    assert newest[36] >= 3
    assert sum(count for tenths, count in newest.items() if 36 < tenths <= 51) >= 15
    assert sum(count for tenths, count in newest.items() if tenths > 51) >= 5
    assert min(newest) >= 25
    assert max(newest) <= 55
    assert sum(not series for series in readings("K").values()) >= 5


def test_potassium_was_low_before_it_was_normal_and_the_other_way_round() -> None:
    series = [values for values in readings("K").values() if len(values) > 1]
    assert sum(values[0][1] >= 3.5 > values[1][1] for values in series) >= 5
    assert sum(values[0][1] < 3.5 <= values[1][1] for values in series) >= 5
    assert sum(values[0][1] < 3.5 and values[0][0] < SINCE for values in series) >= 3


def test_a1c_is_recent_old_or_missing_and_stands_at_the_edge_of_the_year() -> None:
    newest = [series[0] for series in readings("A1C").values() if series]
    assert sum(when < YEAR_AGO - MINUTE for when, _ in newest) >= 14
    assert sum(when > YEAR_AGO + MINUTE for when, _ in newest) >= 20
    for edge in (YEAR_AGO - MINUTE, YEAR_AGO, YEAR_AGO + MINUTE):
        assert sum(when == edge for when, _ in newest) == 2
    assert sum(not series for series in readings("A1C").values()) >= 6


def test_glucose_of_the_last_day_has_one_to_eight_values_whose_mean_is_no_whole_number() -> None:
    recent = [[value for _, value in of_last_day(series)] for series in readings("GLU").values()]
    counts = Counter(len(values) for values in recent if values)
    assert set(counts) == set(range(1, 9))
    assert min(counts.values()) >= 3
    for values in recent:
        if len(values) > 1:
            assert sum(values) % len(values) != 0, values


def test_glucose_at_the_edge_of_the_window_decides_the_mean() -> None:
    series = [values for values in readings("GLU").values() if values]
    at_edge = [values for values in series if any(NOW - when == DAY for when, _ in values)]
    outside = [values for values in series if any(NOW - when == DAY + MINUTE for when, _ in values)]
    assert len(at_edge) >= 2
    assert len(outside) >= 2
    for values in (*at_edge, *outside):
        inside = [value for when, value in values if when > SINCE]
        wider = [value for when, value in values if when >= SINCE - MINUTE]
        if inside:
            assert abs(sum(inside) / len(inside) - sum(wider) / len(wider)) > 0.1


def test_glucose_is_too_old_in_some_and_never_measured_in_others() -> None:
    series = readings("GLU").values()
    assert sum(bool(values) and values[0][0] < SINCE for values in series) >= 8
    assert sum(not values for values in series) >= 4


@pytest.mark.parametrize("code", UNITS)
def test_a_questioned_code_has_one_unit_and_no_neighbour_that_could_be_taken_for_it(code: str) -> None:
    found = [item for item in of_type("Observation") if local_code(item) == code]
    assert {item["valueQuantity"]["unit"] for item in found} == {UNITS[code]}
    loinc = {item["code"]["coding"][1]["code"] for item in found}
    others = [item for item in of_type("Observation") if local_code(item) != code]
    assert len(loinc) == 1
    assert not any(coding["code"] in loinc for item in others for coding in item["code"]["coding"])


@pytest.mark.parametrize("code", ["MG", "K", "GLU"])
def test_the_order_of_the_chart_is_no_clue_to_the_newest_value(code: str) -> None:
    stored: dict[str, list[str]] = defaultdict(list)
    for item in of_type("Observation"):
        if local_code(item) == code:
            stored[patient_of(item)].append(item["effectiveDateTime"])
    several = [times for times in stored.values() if len(times) >= 3]
    assert len(several) >= 20
    assert sum(times[0] == max(times) for times in several) < 0.6 * len(several)
    assert sum(times[-1] == max(times) for times in several) < 0.6 * len(several)


def test_neither_replacement_that_a_task_asks_for_was_ordered_before() -> None:
    asked = {"0338-1715-40", "40032-917-01"}
    ordered = {
        order["medicationCodeableConcept"]["coding"][0]["code"] for order in of_type("MedicationRequest")
    }
    assert ordered.isdisjoint(asked)
    text = str(of_type("MedicationRequest")).lower()
    assert "magnesium" not in text
    assert "potassium" not in text


def test_every_case_of_the_plan_reaches_a_patient_whatever_the_seed() -> None:
    for seed in (DEFAULT_SEED, 1, 2, 3):
        plans = assign_plan(seed)
        for code, cases in CASES.items():
            assert len(cases) == 100
            assert Counter(plan.cases[code] for plan in plans) == Counter(cases)
            for plan in plans:
                assert plan.inpatient or not plan.cases[code].today


@pytest.mark.parametrize(
    "text",
    ["1.2", "1.2@5:99", "12@5:00", "1.2@5:00 1.3@5:00", "1.2@6:00 1.3@5:00", "1.25@3:00", "@3:00", "x"],
)
def test_a_line_of_the_plan_that_is_not_of_its_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="MG case"):
        parse_case("MG", text)


def test_a_line_of_the_plan_is_read_as_minutes_before_now() -> None:
    case = parse_case("MG", "1.9@2:05 0.6@1d00:30")
    assert case.values == ((-125, 19), (-1470, 6))
    assert case.today
    assert case.frontier == -1470


@pytest.mark.slow
def test_the_papers_scale_has_the_exact_counts_the_small_scales_records_and_the_same_answers() -> None:
    small = set(generate("small"))
    digest = hashlib.sha256()
    answers: Answers = {}
    counts: Counter[str] = Counter()
    ids: set[bytes] = set()
    for record in generate("paper"):
        resource_type, resource_id = record[17:110].split(b'"')[:5:4]
        counts[resource_type.decode()] += 1
        ids.add(resource_type + resource_id)
        small.discard(record)
        digest.update(record + b"\n")
        add_to_answers(record, answers)
    assert counts == {"Patient": 100, **PAPER_COUNTS}
    assert counts.total() - 100 == 785_207
    assert len(ids) == counts.total()
    assert not small
    assert digest.hexdigest() == PAPER_DIGEST
    assert answers == small_answers()
