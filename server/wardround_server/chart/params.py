"""The search parameters of each resource type: one table that every part of the search goes by.

Names, kinds, paths and targets are those of FHIR R4's search-parameter registry. Left out, and so refused
as unknown: composite parameters, and the two that are defined on components together with values
(`combo-value-quantity`, `component-value-quantity`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from . import values as v

Kind = Literal["token", "date", "reference", "string", "quantity", "uri"]
SEARCHED_TYPES = (
    "Patient",
    "Condition",
    "Observation",
    "MedicationRequest",
    "Procedure",
    "ServiceRequest",
)
"""The resource types that can be searched; any other type that a chart holds can be read by its id."""


@dataclass(frozen=True, slots=True)
class SearchParam:
    """One search parameter.

    `sources` are the elements it looks at, each a dotted path and its reader. `many` says that a
    date parameter can have several values in one resource. `targets` are the resource types that a
    reference parameter may name (empty: any); `alias` is the parameter whose values it shares, limited
    to those targets.
    """

    name: str
    kind: Kind
    sources: tuple[tuple[str, v.Reader], ...] = ()
    many: bool = False
    targets: tuple[str, ...] = ()
    alias: str | None = None
    note: str = field(default="", compare=False)

    @property
    def stored_as(self) -> str:
        """The parameter under whose name the values are kept."""
        return self.alias or self.name


def _token(name: str, *sources: tuple[str, v.Reader]) -> SearchParam:
    return SearchParam(name, "token", sources)


def _concept(name: str, *paths: str) -> SearchParam:
    return SearchParam(name, "token", tuple((path, v.read_concept) for path in paths or (name,)))


def _code(name: str, system: str, path: str | None = None) -> SearchParam:
    return SearchParam(name, "token", ((path or name, v.code_of(system)),))


def _string(name: str, *sources: tuple[str, v.Reader]) -> SearchParam:
    return SearchParam(name, "string", sources)


def _date(name: str, *paths: str, many: bool = False) -> SearchParam:
    return SearchParam(name, "date", tuple((path, _date_reader(path)) for path in paths), many=many)


def _date_reader(path: str) -> v.Reader:
    if path.endswith("Period"):
        return v.read_period
    if path.endswith("iming"):
        return v.read_timing
    return v.read_date


def _reference(name: str, *paths: str, targets: tuple[str, ...] = ()) -> SearchParam:
    return SearchParam(
        name, "reference", tuple((path, v.read_reference) for path in paths or (name,)), targets=targets
    )


def _patient() -> SearchParam:
    return SearchParam("patient", "reference", targets=("Patient",), alias="subject")


_IDENTIFIER = _token("identifier", ("identifier", v.read_identifier))
_SUBJECT = _reference("subject", targets=("Patient", "Group", "Device", "Location"))
_ENCOUNTER = _reference("encounter", targets=("Encounter",))
_NAME_PARTS = v.parts_of("family", "given", "prefix", "suffix", "text")
_ADDRESS_PARTS = v.parts_of("line", "city", "district", "state", "postalCode", "country", "text")
_REQUEST_STATUS = "http://hl7.org/fhir/request-status"
_REQUEST_INTENT = "http://hl7.org/fhir/request-intent"
_REQUEST_PRIORITY = "http://hl7.org/fhir/request-priority"

COMMON = (
    SearchParam("_lastUpdated", "date", (("meta.lastUpdated", v.read_date),)),
    _token("_tag", ("meta.tag", v.read_coding)),
    _token("_security", ("meta.security", v.read_coding)),
    SearchParam("_profile", "uri", (("meta.profile", v.read_uri),)),
    SearchParam("_source", "uri", (("meta.source", v.read_uri),)),
)
"""Parameters of every resource type; `_id` is kept beside the resource itself."""

_PATIENT = (
    _IDENTIFIER,
    _string("name", ("name", _NAME_PARTS)),
    _string("phonetic", ("name", _NAME_PARTS)),
    _string("family", ("name", v.parts_of("family"))),
    _string("given", ("name", v.parts_of("given"))),
    _date("birthdate", "birthDate"),
    _code("gender", "http://hl7.org/fhir/administrative-gender"),
    _string("address", ("address", _ADDRESS_PARTS)),
    _string("address-city", ("address", v.parts_of("city"))),
    _string("address-country", ("address", v.parts_of("country"))),
    _string("address-postalcode", ("address", v.parts_of("postalCode"))),
    _string("address-state", ("address", v.parts_of("state"))),
    _token("address-use", ("address.use", v.code_of("http://hl7.org/fhir/address-use"))),
    _token("telecom", ("telecom", v.read_contact)),
    _token("phone", ("telecom", v.contact_of_kind("phone"))),
    _token("email", ("telecom", v.contact_of_kind("email"))),
    _token("active", ("active", v.read_boolean)),
    _token("deceased"),
    _date("death-date", "deceasedDateTime"),
    _concept("language", "communication.language"),
    _reference(
        "general-practitioner",
        "generalPractitioner",
        targets=("Practitioner", "Organization", "PractitionerRole"),
    ),
    _reference("link", "link.other", targets=("Patient", "RelatedPerson")),
    _reference("organization", "managingOrganization", targets=("Organization",)),
)

_CONDITION = (
    _IDENTIFIER,
    _SUBJECT,
    _patient(),
    _concept("category"),
    _concept("code"),
    _concept("clinical-status", "clinicalStatus"),
    _concept("verification-status", "verificationStatus"),
    _concept("severity"),
    _concept("body-site", "bodySite"),
    _concept("stage", "stage.summary"),
    _concept("evidence", "evidence.code"),
    _date("onset-date", "onsetDateTime", "onsetPeriod"),
    _date("abatement-date", "abatementDateTime", "abatementPeriod"),
    _date("recorded-date", "recordedDate"),
    _string("onset-info", ("onsetString", v.read_string)),
    _string("abatement-string", ("abatementString", v.read_string)),
    _ENCOUNTER,
    _reference("asserter", targets=("Practitioner", "Patient", "PractitionerRole", "RelatedPerson")),
    _reference("evidence-detail", "evidence.detail"),
)

_OBSERVATION = (
    _IDENTIFIER,
    _SUBJECT,
    _patient(),
    _concept("category"),
    _concept("code"),
    _concept("combo-code", "code", "component.code"),
    _concept("component-code", "component.code"),
    _date("date", "effectiveDateTime", "effectivePeriod", "effectiveTiming", "effectiveInstant"),
    _code("status", "http://hl7.org/fhir/observation-status"),
    SearchParam("value-quantity", "quantity", (("valueQuantity", v.read_quantity),)),
    _concept("value-concept", "valueCodeableConcept"),
    _concept("combo-value-concept", "valueCodeableConcept", "component.valueCodeableConcept"),
    _concept("component-value-concept", "component.valueCodeableConcept"),
    _date("value-date", "valueDateTime", "valuePeriod"),
    _string("value-string", ("valueString", v.read_string), ("valueCodeableConcept", v.read_concept_text)),
    _concept("data-absent-reason", "dataAbsentReason"),
    _concept("combo-data-absent-reason", "dataAbsentReason", "component.dataAbsentReason"),
    _concept("component-data-absent-reason", "component.dataAbsentReason"),
    _concept("method"),
    _ENCOUNTER,
    _reference("performer"),
    _reference("specimen", targets=("Specimen",)),
    _reference("device", targets=("Device", "DeviceMetric")),
    _reference("focus"),
    _reference("based-on", "basedOn"),
    _reference("part-of", "partOf"),
    _reference("derived-from", "derivedFrom"),
    _reference("has-member", "hasMember"),
)

_MEDICATION_REQUEST = (
    _IDENTIFIER,
    _SUBJECT,
    _patient(),
    _concept("category"),
    _concept("code", "medicationCodeableConcept"),
    _reference("medication", "medicationReference", targets=("Medication",)),
    _date("authoredon", "authoredOn"),
    SearchParam("date", "date", (("dosageInstruction.timing", v.read_timing_events),), many=True),
    _code("status", "http://hl7.org/fhir/CodeSystem/medicationrequest-status"),
    _code("intent", "http://hl7.org/fhir/CodeSystem/medicationrequest-intent"),
    _code("priority", _REQUEST_PRIORITY),
    _ENCOUNTER,
    _reference("requester"),
    _reference("intended-performer", "performer"),
    _concept("intended-performertype", "performerType"),
    _reference("intended-dispenser", "dispenseRequest.performer", targets=("Organization",)),
)

_PROCEDURE = (
    _IDENTIFIER,
    _SUBJECT,
    _patient(),
    _concept("category"),
    _concept("code"),
    _date("date", "performedDateTime", "performedPeriod"),
    _code("status", "http://hl7.org/fhir/event-status"),
    _concept("reason-code", "reasonCode"),
    _reference("reason-reference", "reasonReference"),
    _ENCOUNTER,
    _reference("performer", "performer.actor"),
    _reference("location", targets=("Location",)),
    _reference("based-on", "basedOn", targets=("CarePlan", "ServiceRequest")),
    _reference("part-of", "partOf", targets=("Procedure", "Observation", "MedicationAdministration")),
    SearchParam("instantiates-canonical", "reference", (("instantiatesCanonical", v.read_canonical),)),
    SearchParam("instantiates-uri", "uri", (("instantiatesUri", v.read_uri),)),
)

_SERVICE_REQUEST = (
    _IDENTIFIER,
    _SUBJECT,
    _patient(),
    _concept("category"),
    _concept("code"),
    _date("authored", "authoredOn"),
    _date("occurrence", "occurrenceDateTime", "occurrencePeriod", "occurrenceTiming"),
    _code("status", _REQUEST_STATUS),
    _code("intent", _REQUEST_INTENT),
    _code("priority", _REQUEST_PRIORITY),
    _token("requisition", ("requisition", v.read_identifier)),
    _concept("body-site", "bodySite"),
    _concept("performer-type", "performerType"),
    _ENCOUNTER,
    _reference("performer"),
    _reference("requester"),
    _reference("specimen", targets=("Specimen",)),
    _reference("based-on", "basedOn", targets=("CarePlan", "ServiceRequest", "MedicationRequest")),
    _reference("replaces", targets=("ServiceRequest",)),
    SearchParam("instantiates-canonical", "reference", (("instantiatesCanonical", v.read_canonical),)),
    SearchParam("instantiates-uri", "uri", (("instantiatesUri", v.read_uri),)),
)

_BY_TYPE: dict[str, tuple[SearchParam, ...]] = {
    "Patient": _PATIENT,
    "Condition": _CONDITION,
    "Observation": _OBSERVATION,
    "MedicationRequest": _MEDICATION_REQUEST,
    "Procedure": _PROCEDURE,
    "ServiceRequest": _SERVICE_REQUEST,
}


@cache
def search_params(resource_type: str) -> dict[str, SearchParam]:
    """The parameters of a searched type by name, the common ones included; KeyError for another type."""
    return {param.name: param for param in (*COMMON, *_BY_TYPE[resource_type])}


@cache
def stored_params(resource_type: str) -> tuple[SearchParam, ...]:
    """The parameters of a type that have values of their own, in a fixed order."""
    return tuple(param for param in search_params(resource_type).values() if param.alias is None)
