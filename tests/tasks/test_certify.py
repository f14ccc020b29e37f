"""The grader certificate, and gold that obeys each profile's schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wardround_schemas.function import decode, find_function
from wardround_schemas.model import Profile
from wardround_tasks.attempt import Attempt
from wardround_tasks.categories import CATEGORIES
from wardround_tasks.categories.base import gold_attempt
from wardround_tasks.certify import TOO_LENIENT, TOO_STRICT, Certificate, certify, markdown, plain
from wardround_tasks.grading import category_of, grade
from wardround_tasks.mutants import mutators
from wardround_tasks.scenes import Scene, scenes

DOCS = Path(__file__).resolve().parents[2] / "docs"
CREATES = {
    "Observation": "vital.create",
    "MedicationRequest": "medicationrequest.create",
    "ServiceRequest": "procedure.create",
}
CERTIFICATE = certify()


def test_the_certificate_holds() -> None:
    assert CERTIFICATE.unfair("clinical") == []
    assert CERTIFICATE.unexplained() == []
    assert CERTIFICATE.idle_faults() == []
    assert CERTIFICATE.holds


def test_every_harmful_mutant_dies_under_clinical() -> None:
    wrong = CERTIFICATE.harmful()
    assert len(wrong) > 500
    assert [trial for trial in wrong if trial.passed("clinical")] == []


def test_every_category_has_right_and_wrong_attempts_and_every_mutator_applies_somewhere() -> None:
    for category in CATEGORIES:
        assert CERTIFICATE.harmful(category.traits.id)
        assert CERTIFICATE.harmless(category.traits.id)
    assert {trial.name for trial in CERTIFICATE.trials} >= {mutator.name for mutator in mutators()}


def test_each_kind_of_mutant_that_was_promised_is_there() -> None:
    families = {mutator.family for mutator in mutators()}
    assert families >= {
        "dose",
        "unit",
        "route",
        "patient",
        "code",
        "system",
        "time",
        "duplicate",
        "status",
        "note",
    }
    names = {mutator.name for mutator in mutators()}
    assert names >= {"the two orders the other way round", "an order too many", "number as text"}
    assert "value of the wrong window or unit" in names


def test_a_mutant_changes_what_it_says_and_never_the_gold_itself() -> None:
    for scene in scenes():
        expected = category_of(scene.task).expected(scene.task, scene.reference, "clinical")
        gold = gold_attempt(scene.task, expected, "original")
        kept = gold.to_json()
        for mutator in mutators():
            mutant = mutator.mutate(scene, gold)
            assert gold.to_json() == kept
            if mutant is not None and mutator.name != "whole number as a float":
                assert mutant != gold, (mutator.name, scene.task.id)


def test_a_grader_that_lets_a_harm_pass_loses_the_certificate() -> None:
    lax = [
        replace(trial, right=not trial.right) if trial.name == "dose x 10" else trial
        for trial in CERTIFICATE.trials
    ]
    assert not Certificate(tuple(lax)).holds
    assert "does not hold" in plain(Certificate(tuple(lax)))


def test_every_known_fault_says_why() -> None:
    for fault in (*TOO_LENIENT, *TOO_STRICT):
        assert len(fault.reason.split()) >= 5


def test_the_table_in_the_docs_is_the_certificates() -> None:
    text = (DOCS / "grading.md").read_text(encoding="utf-8")
    begin, end = "<!-- certificate -->\n", "<!-- end of certificate -->"
    assert text.split(begin)[1].split(end)[0].strip() == markdown(CERTIFICATE).strip()


def _schema_valid(attempt: Attempt, profile: Profile) -> None:
    """Every call passes the schema that the profile shows to agents, and decodes without a fault."""
    from jsonschema import Draft202012Validator

    for call in attempt.calls:
        function = find_function(CREATES[call.resource_type], profile)
        assert function is not None
        assert list(Draft202012Validator(function.input_schema).iter_errors(call.resource)) == []
        assert decode(function, call.resource).faults == ()


@pytest.mark.parametrize("profile", ["medagentbench", "r4"])
@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.task.id)
def test_gold_that_obeys_a_profiles_schema_exactly_passes_clinical(scene: Scene, profile: Any) -> None:
    expected = category_of(scene.task).expected(scene.task, scene.reference, "clinical")
    gold = gold_attempt(scene.task, expected, profile)
    _schema_valid(gold, profile)
    assert grade(scene.task, gold, scene.reference).clinical.passed


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.task.id)
def test_what_the_originals_grader_wants_is_accepted_by_the_tools(scene: Scene) -> None:
    expected = category_of(scene.task).expected(scene.task, scene.reference, "clinical")
    for call in gold_attempt(scene.task, expected, "original").calls:
        for profile in ("medagentbench", "r4"):
            function = find_function(CREATES[call.resource_type], profile)
            assert function is not None
            assert decode(function, call.resource).faults == ()
