"""Our table of R4 elements against an independent one: the models of fhir.resources (R4B).

R4B differs from R4 in none of the types used here, but for what is named below.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from wardround_schemas.r4 import PRIMITIVES, RESOURCE_TYPES, definitions

CLASSES = {
    "Timing.repeat": "timing.TimingRepeat",
    "Dosage.doseAndRate": "dosage.DosageDoseAndRate",
    "Observation.referenceRange": "observation.ObservationReferenceRange",
    "Observation.component": "observation.ObservationComponent",
    "MedicationRequest.dispenseRequest": "medicationrequest.MedicationRequestDispenseRequest",
    "MedicationRequest.dispenseRequest.initialFill": (
        "medicationrequest.MedicationRequestDispenseRequestInitialFill"
    ),
    "MedicationRequest.substitution": "medicationrequest.MedicationRequestSubstitution",
    # No class of its own: a SimpleQuantity is a Quantity without a comparator.
    "SimpleQuantity": "quantity.Quantity",
}
IGNORED = {"resource_type", "resourceType", "fhir_comments"}


def model_of(name: str) -> Any:
    module, _, class_name = CLASSES.get(name, f"{name.lower()}.{name}").rpartition(".")
    return getattr(importlib.import_module(f"fhir.resources.R4B.{module}"), class_name)


def elements_of(name: str) -> dict[str, Any]:
    """Element name to field, by the model's JSON names, primitive extensions aside."""
    fields = model_of(name).model_fields
    found = {(field.alias or key): field for key, field in fields.items()}
    return {key: field for key, field in found.items() if key not in IGNORED and not key.startswith("_")}


@pytest.mark.parametrize("name", sorted(definitions()))
def test_every_type_has_the_elements_lists_and_primitives_that_the_models_have(name: str) -> None:
    ours = dict(definitions()[name].elements)
    theirs = elements_of(name)
    if name == "SimpleQuantity":
        del theirs["comparator"]
    if name == "Extension":
        # An extension may carry any type; ours has those of R4 by name.
        ours = {key: element for key, element in ours.items() if not key.startswith("value")}
        theirs = {key: field for key, field in theirs.items() if not key.startswith("value")}
    assert ours.keys() == theirs.keys()
    for key, element in ours.items():
        annotation = str(theirs[key].annotation)
        assert element.many == ("List[" in annotation), key


@pytest.mark.parametrize("name", sorted(definitions()))
def test_what_is_needed_and_which_codes_are_allowed_is_what_the_models_say(name: str) -> None:
    definition = definitions()[name]
    theirs = elements_of(name)
    single = {group[0] for group in definition.needed if len(group) == 1}
    required = {
        key
        for key, field in theirs.items()
        if (field.json_schema_extra or {}).get("element_required") or field.is_required()
    }
    # The models say of a choice that one of its forms is needed elsewhere than in the field.
    assert single == {key for key in required if not any(key in choice for choice in definition.choices)}
    for key, element in definition.elements.items():
        codes = (theirs[key].json_schema_extra or {}).get("enum_values") if key in theirs else None
        if element.codes is not None and codes:
            # The models cut a long list short with a plus sign.
            assert element.codes >= set(codes) - {"+"}, key
            assert "+" in codes or element.codes == set(codes), key


def test_every_required_code_of_the_three_resources_is_bound() -> None:
    for name in RESOURCE_TYPES:
        bound = {key for key, element in definitions()[name].elements.items() if element.codes is not None}
        assert "status" in bound
    priorities = definitions()["ServiceRequest"].elements["priority"].codes
    assert priorities == frozenset({"routine", "urgent", "asap", "stat"})


def test_every_element_is_of_a_known_type() -> None:
    known = {*definitions(), *PRIMITIVES, "Contained"}
    for name, definition in definitions().items():
        unknown = {e.type for e in definition.elements.values()} - known
        assert name == "Extension" or not unknown
