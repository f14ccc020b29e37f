"""FHIR dates and times: shape, calendar and zone.

Rules: https://hl7.org/fhir/R4/datatypes.html#dateTime. A dateTime is YYYY, YYYY-MM, YYYY-MM-DD or a
full instant with seconds and zone; 24:00 is no hour; offsets reach 14:00; a second of 60 is a leap second.
"""

from __future__ import annotations

import re
from calendar import monthrange
from typing import Literal

Precision = Literal["date", "dateTime", "instant"]

SEARCH_PREFIXES = ("eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap")

_DATE_TIME = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?P<time>T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?P<seconds>:(?P<second>[0-9]{2})(?:\.[0-9]+)?)?"
    r"(?P<zone>Z|[+-](?P<zone_hour>[0-9]{2}):(?P<zone_minute>[0-9]{2}))?)?)?)?"
)


def date_fault(text: str, precision: Precision = "dateTime", *, lenient: bool = False) -> str | None:
    """What is wrong with a FHIR date, dateTime or instant, as a short phrase; None where nothing is.

    `lenient` lets a time of day go without its seconds and zone, as a search value may.
    """
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return "not written as a FHIR date"
    if precision == "date" and found["time"]:
        return "a date has no time of day"
    if precision == "instant" and not found["time"]:
        return "an instant needs date, time and zone"
    if found["time"] and not lenient:
        if not found["seconds"]:
            return "the time lacks its seconds"
        if not found["zone"]:
            return "the time lacks its zone"
    return _calendar_fault(found)


def _calendar_fault(found: re.Match[str]) -> str | None:
    year = int(found["year"])
    if year == 0:
        return "there is no year 0000"
    month = int(found["month"] or 1)
    if not 1 <= month <= 12:
        return f"there is no month {month:02}"
    day = int(found["day"] or 1)
    if not 1 <= day <= monthrange(year, month)[1]:
        return f"there is no day {day:02} in {year:04}-{month:02}"
    if not found["time"]:
        return None
    if int(found["hour"]) > 23 or int(found["minute"]) > 59 or int(found["second"] or 0) > 60:
        return "there is no such time of day"
    if (found["zone"] or "Z") != "Z":
        offset = int(found["zone_hour"]) * 60 + int(found["zone_minute"])
        if offset > 14 * 60 or int(found["zone_minute"]) > 59:
            return "there is no such zone"
    return None


def search_date_fault(text: str) -> str | None:
    """What is wrong with a date as a search parameter carries it, prefix included; None where nothing is."""
    bare = text[2:] if text[:2] in SEARCH_PREFIXES else text
    return date_fault(bare, lenient=True)


def completed_instant(text: str) -> str:
    """The same time with seconds and zone: missing seconds are 00, a missing zone is UTC.

    Whole dates, and text that is no FHIR time, come back unchanged.
    """
    found = _DATE_TIME.fullmatch(text)
    if found is None or not found["time"]:
        return text
    end = found.end("seconds") if found["seconds"] else found.end("minute")
    return text[:end] + ("" if found["seconds"] else ":00") + (found["zone"] or "+00:00")
