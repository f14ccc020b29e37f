"""The synthetic cohort: who is in it, what the records look like, and that it is always the same."""

from __future__ import annotations

import hashlib
import statistics
import subprocess
import sys
from collections import Counter
from datetime import date, datetime

import pytest

from tests.server.cohort_data import NOW, Resource, local_code, of_type, patient_of, small_cohort
from wardround_server.chart.cohort import COHORT_VERSION, DEFAULT_SEED, PAPER_COUNTS, generate
from wardround_server.chart.cohort.people import age_on, make_people

TODAY = NOW.date()
SMALL_DIGEST = "1c2c31938f605e08ad6663e879ca137c1e276475e17cafc7c3ed989dcb8111f3"


def birth_date(patient: Resource) -> date:
    return date.fromisoformat(patient["birthDate"])


def full_name(patient: Resource) -> str:
    name = patient["name"][0]
    return " ".join((*name["given"], name["family"]))


def digest(seed: int = DEFAULT_SEED) -> str:
    """SHA-256 over the small cohort's records, one a line."""
    total = hashlib.sha256()
    for record in generate("small", seed):
        total.update(record + b"\n")
    return total.hexdigest()


def test_there_are_a_hundred_patients_whose_id_is_their_mrn() -> None:
    patients = of_type("Patient")
    assert len(patients) == 100
    assert len({patient["id"] for patient in patients}) == 100
    for patient in patients:
        (identifier,) = patient["identifier"]
        assert identifier["value"] == patient["id"]
        assert identifier["type"]["coding"][0]["code"] == "MR"
        assert patient["id"][0] == "S"
        assert len(patient["id"]) == 8
        assert patient["id"][1:].isdigit()


@pytest.mark.parametrize("seed", [DEFAULT_SEED, *range(12)])
def test_ages_and_gender_are_the_papers_at_every_seed(seed: int) -> None:
    people = make_people(seed)
    ages = [age_on(person.birth_date, TODAY) for person in people]
    assert round(statistics.mean(ages), 2) == 58.15
    assert round(statistics.stdev(ages), 2) == 19.82
    assert (min(ages), max(ages)) == (18, 100)
    assert sum(person.gender == "female" for person in people) == 47
    assert len({person.mrn for person in people}) == 100


def test_two_names_are_shared_by_two_patients_each_with_different_birth_dates() -> None:
    names = Counter(full_name(patient) for patient in of_type("Patient"))
    shared = [name for name, count in names.items() if count > 1]
    assert len(shared) == 2
    for name in shared:
        pair = [patient for patient in of_type("Patient") if full_name(patient) == name]
        assert len(pair) == 2
        assert birth_date(pair[0]) != birth_date(pair[1])


def test_a_birth_date_is_shared_by_two_patients_of_different_names() -> None:
    dates = Counter(birth_date(patient) for patient in of_type("Patient"))
    shared = [day for day, count in dates.items() if count > 1]
    assert shared
    for day in shared:
        names = {full_name(patient) for patient in of_type("Patient") if birth_date(patient) == day}
        assert len(names) == dates[day]


def test_birthdays_stand_around_today_and_on_a_leap_day() -> None:
    birthdays = {(day.month, day.day) for day in map(birth_date, of_type("Patient"))}
    assert {(11, 12), (11, 13), (11, 14), (2, 29)} <= birthdays


def test_names_with_marks_are_among_them() -> None:
    names = [full_name(patient) for patient in of_type("Patient")]
    assert any(not name.isascii() for name in names)
    assert any("'" in name for name in names)
    assert any("-" in name for name in names)


def test_every_patient_says_that_the_person_is_synthetic() -> None:
    for patient in of_type("Patient"):
        assert patient["meta"]["security"][0]["code"] == "HTEST"
        assert patient["meta"]["tag"][0]["code"] == "synthetic"


def test_small_scale_holds_about_ten_thousand_resources_of_the_papers_types() -> None:
    counts = Counter(resource["resourceType"] for resource in small_cohort())
    assert set(counts) == {"Patient", *PAPER_COUNTS}
    assert 9_500 <= counts.total() <= 10_500


def test_ids_are_unique_within_a_type() -> None:
    ids = Counter((resource["resourceType"], resource["id"]) for resource in small_cohort())
    assert max(ids.values()) == 1


def test_every_record_is_of_a_patient_of_the_cohort() -> None:
    known = {patient["id"] for patient in of_type("Patient")}
    for resource in small_cohort():
        if resource["resourceType"] != "Patient":
            assert patient_of(resource) in known


def instants(value: object) -> list[datetime]:
    """Every date with a time, anywhere in a resource."""
    if isinstance(value, dict):
        return [found for part in value.values() for found in instants(part)]
    if isinstance(value, list):
        return [found for part in value for found in instants(part)]
    if isinstance(value, str) and len(value) == 25 and value[10] == "T":
        return [datetime.fromisoformat(value)]
    return []


def test_nothing_is_later_than_now_or_earlier_than_five_years() -> None:
    first = datetime(2018, 11, 12, tzinfo=NOW.tzinfo)
    clinical = ("effectiveDateTime", "performedDateTime", "authoredOn", "recordedDate")
    spans = []
    for resource in small_cohort():
        assert all(found <= NOW for found in instants(resource)), resource
        spans += [datetime.fromisoformat(resource[name]) for name in clinical if name in resource]
    assert first <= min(spans) <= datetime(2019, 1, 1, tzinfo=NOW.tzinfo)
    assert max(spans) > datetime(2023, 11, 13, 10, tzinfo=NOW.tzinfo)


def test_no_two_results_of_a_patient_and_code_are_of_the_same_instant() -> None:
    seen = Counter(
        (patient_of(found), local_code(found), found["effectiveDateTime"]) for found in of_type("Observation")
    )
    assert max(seen.values()) == 1


def test_results_are_issued_after_they_were_taken() -> None:
    for found in of_type("Observation"):
        taken, issued = (datetime.fromisoformat(found[name]) for name in ("effectiveDateTime", "issued"))
        assert taken < issued <= NOW


def test_the_same_seed_gives_the_same_bytes_in_another_process_whatever_its_hashing_and_locale() -> None:
    program = (
        "import hashlib;from wardround_server.chart.cohort import generate;"
        "t=hashlib.sha256();[t.update(r+b'\\n') for r in generate('small')];print(t.hexdigest())"
    )
    for settings in ({"PYTHONHASHSEED": "1", "LC_ALL": "C"}, {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo"}):
        found = subprocess.run(
            [sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == SMALL_DIGEST


def test_the_small_cohort_is_pinned_to_its_version() -> None:
    """Charts in users' caches go by the version: it must be raised whenever the records change."""
    assert (COHORT_VERSION, digest()) == (2, SMALL_DIGEST)


def test_another_seed_gives_other_people() -> None:
    assert {person.mrn for person in make_people(1)}.isdisjoint({person.mrn for person in make_people(2)})
    assert digest(1) != digest(2)
