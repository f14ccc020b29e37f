"""A second implementation of the matching rules, written from FHIR R4 alone and for nothing but plainness.

It shares no code with the product: it looks at whole resources, one after the other, with `datetime` and
`Fraction`. It knows the parameters that the property tests use.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

Resource = dict[str, Any]
Span = tuple[datetime, datetime]
"""First instant and the instant after the last, both aware."""

START, END = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")


def span_of(text: str) -> Span:
    """What a date or time spans; without a zone it is in UTC."""
    moment = MOMENT.fullmatch(text)
    if moment is None:
        numbers = [int(part) for part in text.split("-")]
        month, day = [*numbers[1:], 1, 1][:2]
        first = datetime(numbers[0], month, day, tzinfo=UTC)
        if len(numbers) == 3:
            days = 1
        elif len(numbers) == 2:
            days = calendar.monthrange(numbers[0], numbers[1])[1]
        else:
            days = 366 if calendar.isleap(numbers[0]) else 365
        return first, first + timedelta(days=days)
    second, fraction, zone = moment.groups()[5:]
    offset = timedelta(0)
    if zone and zone != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    year, month, day, hour, minute = (int(part) for part in moment.groups()[:5])
    first = datetime(year, month, day, hour, minute, int(second or 0), tzinfo=timezone(offset))
    if second is None:
        return first, first + timedelta(minutes=1)
    if fraction is None:
        return first, first + timedelta(seconds=1)
    first += timedelta(milliseconds=int(Fraction(fraction.lstrip(".")) * 1000 / 10 ** (len(fraction) - 1)))
    return first, first + timedelta(milliseconds=1)


def period_of(period: Resource) -> Span:
    return (
        span_of(period["start"])[0] if "start" in period else START,
        span_of(period["end"])[1] if "end" in period else END,
    )


def as_written(moment: datetime) -> datetime:
    """The clock's reading, taken for UTC."""
    return moment.replace(tzinfo=UTC)


def date_holds(asked: str, stored: Span) -> bool:
    found = re.fullmatch(r"(eq|ne|gt|lt|ge|le|sa|eb)?(.*)", asked)
    assert found is not None
    prefix, value = found[1] or "eq", found[2]
    low, high = span_of(value)
    first, after = stored
    if "T" not in value:
        first, after = as_written(first), as_written(after)
    inside = low <= first and after <= high
    return {
        "eq": inside,
        "ne": not inside,
        "gt": after > high,
        "lt": first < low,
        "ge": after > high or inside,
        "le": first < low or inside,
        "sa": first >= high,
        "eb": after <= low,
    }[prefix]


def parts(text: str, separator: str) -> list[str]:
    """Parts between separators that are not escaped: a backslash takes the character after it along."""
    marked = re.sub(r"\\.", lambda pair: pair[0].replace(separator, "\0"), text)
    return [part.replace("\0", separator) for part in marked.split(separator)]


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def bare(text: str) -> str:
    """Without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def token_holds(asked: str, stored: tuple[str, str]) -> bool:
    pieces = [plain(piece) for piece in parts(asked, "|")]
    if len(pieces) == 1:
        return stored[1] == pieces[0]
    return stored[0] == pieces[0] and (not pieces[1] or stored[1] == pieces[1])


def codings(concepts: Any) -> Iterator[tuple[str, str]]:
    for concept in concepts if isinstance(concepts, list) else [concepts] if concepts else []:
        for coding in concept.get("coding", []):
            if "code" in coding:
                yield coding.get("system", ""), coding["code"]


TOKENS: dict[str, Callable[[Resource], list[tuple[str, str]]]] = {
    "identifier": lambda r: [(i.get("system", ""), i["value"]) for i in r.get("identifier", [])],
    "gender": lambda r: [("http://hl7.org/fhir/administrative-gender", r["gender"])] if "gender" in r else [],
    "status": lambda r: [("http://hl7.org/fhir/observation-status", r["status"])] if "status" in r else [],
    "code": lambda r: list(codings(r.get("code"))),
    "category": lambda r: list(codings(r.get("category"))),
    "clinical-status": lambda r: list(codings(r.get("clinicalStatus"))),
    "telecom": lambda r: [(t["system"], t["value"]) for t in r.get("telecom", [])],
}
STRINGS: dict[str, Callable[[Resource], list[str]]] = {
    "family": lambda r: [n["family"] for n in r.get("name", []) if "family" in n],
    "given": lambda r: [g for n in r.get("name", []) for g in n.get("given", [])],
    "name": lambda r: STRINGS["family"](r) + STRINGS["given"](r),
    "address-city": lambda r: [a["city"] for a in r.get("address", []) if "city" in a],
}


def _spans(resource: Resource, *elements: str) -> list[Span]:
    found = [span_of(resource[e]) for e in elements if e in resource and not e.endswith("Period")]
    return found + [period_of(resource[e]) for e in elements if e in resource and e.endswith("Period")]


DATES: dict[tuple[str, str], Callable[[Resource], list[Span]]] = {
    ("Patient", "birthdate"): lambda r: _spans(r, "birthDate"),
    ("Observation", "date"): lambda r: _spans(r, "effectiveDateTime", "effectivePeriod"),
    ("Condition", "onset-date"): lambda r: _spans(r, "onsetDateTime", "onsetPeriod"),
    ("MedicationRequest", "authoredon"): lambda r: _spans(r, "authoredOn"),
    ("MedicationRequest", "date"): lambda r: [
        span_of(event) for dose in r.get("dosageInstruction", []) for event in dose["timing"]["event"]
    ],
}


def references(resource: Resource, name: str) -> list[str]:
    element = "subject" if name in ("patient", "subject") else name
    held = resource.get(element, {}).get("reference")
    return [held] if held and (name != "patient" or held.split("/")[-2] == "Patient") else []


def reference_holds(asked: str, stored: str) -> bool:
    return stored == asked if "/" in asked else re.fullmatch(rf"\w+/{re.escape(asked)}", stored) is not None


def values_of(resource: Resource, name: str) -> tuple[list[Any], Callable[[str, Any], bool]]:
    """The values that a parameter looks at, and how one is compared."""
    if name in TOKENS:
        return TOKENS[name](resource), token_holds
    if name in STRINGS:
        return STRINGS[name](resource), lambda asked, stored: bare(stored).startswith(bare(plain(asked)))
    if (resource["resourceType"], name) in DATES:
        return DATES[resource["resourceType"], name](resource), date_holds
    return references(resource, name), reference_holds


def present(resource: Resource, name: str) -> bool:
    if name in ("code", "category", "clinical-status"):
        element = {"clinical-status": "clinicalStatus"}.get(name, name)
        return bool(resource.get(element))
    return bool(values_of(resource, name)[0])


def holds(resource: Resource, parameter: str, value: str, chart: list[Resource]) -> bool:
    """Whether one resource answers one parameter."""
    name, _, modifier = parameter.partition(":")
    if "." in name:
        name, _, rest = parameter.partition(".")
        named = {
            f"Patient/{other['id']}"
            for other in chart
            if other["resourceType"] == "Patient" and holds(other, rest, value, chart)
        }
        return any(held in named for held in references(resource, name))
    if name == "_id":
        return resource["id"] in value.split(",")
    if modifier == "missing":
        return present(resource, name) is (value == "false")
    stored, compare = values_of(resource, name)
    alternatives = parts(value, ",")
    if modifier == "exact":
        return any(plain(asked) == one for asked in alternatives for one in stored)
    if modifier == "contains":
        return any(bare(plain(asked)) in bare(one) for asked in alternatives for one in stored)
    answer = any(compare(asked, one) for asked in alternatives for one in stored)
    return not answer if modifier == "not" else answer


def naive_search(chart: list[Resource], resource_type: str, params: list[tuple[str, str]]) -> list[str]:
    """The ids of what answers, in the chart's order."""
    return [
        resource["id"]
        for resource in chart
        if resource["resourceType"] == resource_type
        and all(holds(resource, name, value, chart) for name, value in params)
    ]
