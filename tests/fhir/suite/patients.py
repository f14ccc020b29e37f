"""Patient searches: strings, tokens, birth dates."""

from __future__ import annotations

from .case import HAPI_COARSE, HAPI_DATE_OR, Case, Hapi

PREFIX_RULE = "string: begins with the value, without case"
ACCENT_RULE = "string: accents do not count"
EXACT_RULE = "string:exact: the whole value, case and accents count"
CONTAINS_RULE = "string:contains: anywhere in the value"
TOKEN_RULE = "token: the code in any system"
SYSTEM_RULE = "token: system|code"
NO_SYSTEM_RULE = "token: |code has no system"
CASE_RULE = "token: case counts in identifiers"
MISSING_RULE = ":missing tells whether there is a value"
AND_RULE = "a repeated parameter: all must hold"
OR_RULE = "a comma: any may hold"
SPAN_RULE = "date: a stored value spans its own precision"


def patient(query: str, expect: str | int, rule: str, **more: object) -> Case:
    return Case("Patient", query, expect, rule, **more)  # type: ignore[arg-type]


STRINGS = [
    patient("name=ash", "p1 p2 p5", PREFIX_RULE),
    patient("name=ASH", "p1 p2 p5", PREFIX_RULE),
    patient("family=ash", "p1 p2", PREFIX_RULE),
    patient("family=ashby", "p1", "string: each name of several counts"),
    patient("family=M%C3%BCller", "p1", PREFIX_RULE),
    patient("family=muller", "p1", ACCENT_RULE),
    patient("family=MULLER-ASH", "p1", ACCENT_RULE),
    patient("family=O%27Brien", "p3", PREFIX_RULE),
    patient("given=anna", "p1", PREFIX_RULE),
    patient("given=maria", "p1", "string: each given name counts"),
    patient("given=siobhan", "p3", ACCENT_RULE),
    patient("given=Pet", "p2", PREFIX_RULE),
    patient("given=eter", "", PREFIX_RULE),
    patient("family:exact=Ash", "p2", EXACT_RULE),
    patient("family:exact=ash", "", EXACT_RULE),
    patient("given:exact=Siobh%C3%A1n", "p3", EXACT_RULE),
    patient("given:exact=Siobhan", "", EXACT_RULE),
    patient("name:exact=Ashley%20Stone", "p5", EXACT_RULE),
    patient("family:contains=shb", "p1", CONTAINS_RULE),
    patient("name:contains=stone", "p5", CONTAINS_RULE),
    patient("name=stone", "", PREFIX_RULE),
    patient("name=dr", "p1", "name looks at prefixes"),
    patient("name=jr", "p3", "name looks at suffixes"),
    patient("name=Peter%20Ash", "", "name: each part on its own; a whole name matches no part"),
    patient("name=peter&name=ash", "p2", AND_RULE),
    patient("name=anna,peter", "p1 p2", OR_RULE),
    patient("given=anna&family=ash", "p1", AND_RULE),
    patient("family=ash&given=peter&birthdate=1950-03", "p2", AND_RULE),
    patient("family:missing=true", "p4 p5", MISSING_RULE),
    patient("name:missing=true", "p4", MISSING_RULE),
    patient("name:missing=false", "p1 p2 p3 p5", MISSING_RULE),
    patient("address=springfield", "p1", "address looks at any part"),
    patient("address=spring", "p1 p2", PREFIX_RULE),
    patient("address=12%20elm", "p1", "address looks at lines"),
    patient("address=flat", "p1", "address: each line counts"),
    patient("address=elm", "", PREFIX_RULE),
    patient("address:contains=elm", "p1", CONTAINS_RULE),
    patient("address=ma", "p1 p2", "address looks at the state"),
    patient("address-city=spring", "p1 p2", PREFIX_RULE),
    patient("address-city=boston", "p2", PREFIX_RULE),
    patient("address-city:exact=boston", "", EXACT_RULE),
    patient("address-state=AR", "p2", PREFIX_RULE),
    patient("address-city=boston&address-state=ar", "p2", "parameters may be met by different addresses"),
    patient("address-postalcode=0", "p1 p2", PREFIX_RULE),
    patient("address-postalcode=01101", "p1", PREFIX_RULE),
    patient("address-country=us", "p1", PREFIX_RULE),
]

TOKENS = [
    patient("identifier=CX1001", "p1 p4", TOKEN_RULE),
    patient("identifier=https://cx.example/mrn|CX1001", "p1", SYSTEM_RULE),
    patient("identifier=https%3A%2F%2Fcx.example%2Fmrn%7CCX1001", "p1", "the bar may be encoded"),
    patient("identifier=|CX1004", "p4", NO_SYSTEM_RULE),
    patient("identifier=|CX1001", "", NO_SYSTEM_RULE),
    patient("identifier=https://cx.example/mrn|", "p1 p2 p3", "token: system| takes any code of it"),
    patient("identifier=cx1001", "", CASE_RULE),
    patient("identifier=CX100", "", "token: the whole code"),
    patient("identifier=CX1001,CX1002", "p1 p2 p4", OR_RULE),
    patient("identifier=A%5C|1%5C,2", "p1", "escaped bars and commas are part of the value"),
    patient("identifier=https://cx.example/card|A%5C|1%5C,2", "p1", "escaped bars and commas"),
    patient("identifier=CX1001&identifier=A%5C|1%5C,2", "p1", AND_RULE),
    patient("identifier:missing=true", "p5", MISSING_RULE),
    patient("gender=female", "p1", TOKEN_RULE),
    patient("gender=female,male", "p1 p2", OR_RULE),
    patient("gender=http://hl7.org/fhir/administrative-gender|male", "p2", "a code's system is implied"),
    patient("gender=http://cx.example/other|male", "", SYSTEM_RULE),
    patient("gender:not=female", "p2 p3 p4 p5", ":not takes those without a value too"),
    patient("gender:not=female,male", "p3 p4 p5", ":not of several: none of them"),
    patient("gender:missing=true", "p5", MISSING_RULE),
    patient("active=true", "p1", "token: a boolean"),
    patient("active=false", "p2", "token: a boolean"),
    patient("active:missing=true", "p3 p4 p5", MISSING_RULE),
    patient("deceased=true", "p2 p4", "deceased: a date or the flag"),
    patient("deceased=false", "p1 p3 p5", "deceased: everybody else"),
    patient("telecom=%2B1-555-0101", "p1", "token: a contact point's value"),
    patient("telecom=phone|555-0102", "p2", "token: kind of contact|value, as in HAPI"),
    patient("telecom=555-010", "", "token: the whole value"),
    patient("phone=555-0102", "p2", "phone: contact points of that kind"),
    patient("phone=anna@cx.example", "", "phone: no other kind"),
    patient("email=anna@cx.example", "p1", "email: contact points of that kind"),
    patient("address-use=work", "p2", TOKEN_RULE),
    patient("language=de", "p1", TOKEN_RULE),
    patient("_tag=ward-a", "p1", TOKEN_RULE),
    patient("_tag=https://cx.example/tag|ward-a", "p1", SYSTEM_RULE),
    patient("_profile=https://cx.example/profile/inpatient", "p1", "uri: the whole of it"),
    patient("_profile=https://cx.example/profile", "", "uri: the whole of it"),
]

DATES = [
    patient("birthdate=1950-03-15", "p1", SPAN_RULE),
    patient("birthdate=eq1950-03-15", "p1", "date: eq is the default"),
    patient("birthdate=1950-03", "p1 p2", SPAN_RULE),
    patient("birthdate=1950", "p1 p2 p3", SPAN_RULE),
    patient("birthdate=lt1950", "p5", SPAN_RULE),
    patient("birthdate=le1949", "p5", SPAN_RULE, hapi=Hapi(HAPI_COARSE, "")),
    patient("birthdate=ge1950-03-15", "p1 p2 p3 p4", SPAN_RULE),
    patient("birthdate=gt1950-12", "p4", SPAN_RULE),
    patient("birthdate=sa1950-03-15", "p4", SPAN_RULE),
    patient("birthdate=eb1950-03-15", "p5", SPAN_RULE),
    patient("birthdate=ge1950-01-01&birthdate=lt1951-01-01", "p1 p2 p3", AND_RULE),
    patient("birthdate=1950-03-15,1951-12-31", "p1 p4", OR_RULE, hapi=Hapi(HAPI_DATE_OR, 400)),
    patient("birthdate=ne1950-03-15", "p2 p3 p4 p5", "date: ne"),
    patient("death-date=2020-05-01", "p2", SPAN_RULE),
    patient("death-date=lt2020", "", SPAN_RULE),
    patient("death-date:missing=false", "p2", MISSING_RULE),
]

REFERENCES = [
    patient("general-practitioner=Practitioner/cx-doc", "p1", "reference: Type/id"),
    patient("organization=cx-org", "p1", "reference: id"),
    patient("link=Patient/cx-p1", "p4", "reference: Type/id"),
]

PATIENT_CASES = [*STRINGS, *TOKENS, *DATES, *REFERENCES]
