"""FHIR dates, date-times and instants as ranges of time, and the comparisons that R4 defines on them.

Source: FHIR R4, "Search", section "date". Every value spans its own precision: `2023-11` is the whole
month, `10:15:00` the whole second. Ranges are half open, `[low, high)`, in milliseconds since
1970-01-01T00:00:00Z. A time without a zone is read as UTC, which is this server's zone.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache
from typing import Any, Literal, NamedTuple

Prefix = Literal["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"]
PREFIXES: tuple[Prefix, ...] = ("eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap")

SECOND = 1_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
EARLIEST = -(2**52)
"""Low end of a period that has no start; also bounds every value that can be stored."""
LATEST = 2**52
"""High end of a period that has no end."""

_EPOCH = date(1970, 1, 1).toordinal()
_SHAPE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)


class Span(NamedTuple):
    """A range of time, half open, in ms since the epoch.

    `low_offset` and `high_offset` are the UTC offsets, in minutes, with which the ends were written (0
    for a value without a time): day-precision searches compare days as written, as HAPI does.
    """

    low: int
    high: int
    low_offset: int = 0
    high_offset: int = 0


class DateQuery(NamedTuple):
    """A search value: the prefix, the range that its precision spans, and whether it names no time of day."""

    prefix: Prefix
    low: int
    high: int
    whole_days: bool


@lru_cache(maxsize=8192)
def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01; ValueError for a day that does not exist."""
    return date(year, month, day).toordinal() - _EPOCH


def _whole_days(year: int, month: str | None, day: str | None) -> tuple[int, int]:
    if month is None:
        first, count = _days(year, 1, 1), 366 if monthrange(year, 2)[1] == 29 else 365
    elif day is None:
        first, count = _days(year, int(month), 1), monthrange(year, int(month))[1]
    else:
        first, count = _days(year, int(month), int(day)), 1
    return first * DAY, (first + count) * DAY


def _minutes(hour: str, minute: str, second: str | None) -> int:
    """Minutes since midnight; a leap second is allowed, as in FHIR."""
    if int(hour) > 23 or int(minute) > 59 or (second is not None and int(second) > 60):
        raise ValueError("no such time of day")
    return int(hour) * 60 + int(minute)


def _offset(zone: str | None) -> int:
    """Minutes east of Greenwich; FHIR allows up to 14:00 either way."""
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        raise ValueError(f"no such UTC offset: {zone}")
    total = hours * 60 + minutes
    return -total if zone[0] == "-" else total


def parse_span(text: str) -> Span:
    """The range that a FHIR date, dateTime or instant spans.

    Raises ValueError for anything else, days and times that do not exist included. Minutes without
    seconds, and times without a zone (read as UTC), are taken: search values may be written so.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ValueError(f"not a FHIR date or time: {text[:40]!r}")
    year, month, day, hour, minute, second, fraction, zone = shape.groups()
    try:
        if hour is None:
            return Span(*_whole_days(int(year), month, day))
        low = _days(int(year), int(month), int(day)) * DAY
        offset = _offset(zone)
        minutes = _minutes(hour, minute, second)
    except ValueError as error:
        raise ValueError(f"not a FHIR date or time: {text[:40]!r} ({error})") from None
    low += (minutes - offset) * MINUTE
    width = MINUTE
    if second is not None:
        low += int(second) * SECOND
        width = SECOND
        if fraction is not None:
            low += int((fraction + "00")[:3])
            width = 1
    return Span(low, low + width, offset, offset)


def parse_period(value: dict[str, Any]) -> Span | None:
    """The range of a FHIR Period; an end that is left out is open. None where both are."""
    start, end = value.get("start"), value.get("end")
    if start is None and end is None:
        return None
    first = parse_span(start) if start is not None else Span(EARLIEST, EARLIEST)
    last = parse_span(end) if end is not None else Span(LATEST, LATEST)
    if first.low >= last.high:
        raise ValueError(f"period ends before it starts: {start!r} to {end!r}"[:120])
    return Span(first.low, last.high, first.low_offset, last.high_offset)


def parse_date_query(text: str) -> DateQuery:
    """A date search value such as `ge2023-11-12T10:15:00Z`; ValueError where it is none.

    A raw `+` in a URL arrives as a space: `T10:15:00 00:00` is read as `T10:15:00+00:00`.
    """
    prefix: Prefix = "eq"
    rest = text.strip()
    for known in PREFIXES:
        if rest.startswith(known):
            prefix, rest = known, rest[2:]
            break
    if len(rest) > 6 and rest[-6] == " " and "T" in rest:
        rest = f"{rest[:-6]}+{rest[-5:]}"
    span = parse_span(rest)
    return DateQuery(prefix, span.low, span.high, "T" not in rest)


def approximate(query: DateQuery, now: int) -> tuple[int, int]:
    """The range of an `ap` search: widened by a tenth of its distance from `now` (ms), as R4 suggests."""
    margin = max(abs(now - query.low), abs(now - query.high)) // 10
    return query.low - margin, query.high + margin


def matches(query: DateQuery, span: Span, now: int) -> bool:
    """Whether a stored range answers a date search (FHIR R4 "Search", prefixes on ranges)."""
    low, high = span.low, span.high
    if query.whole_days:
        low += span.low_offset * MINUTE
        high += span.high_offset * MINUTE
    contained = query.low <= low and high <= query.high
    match query.prefix:
        case "eq":
            return contained
        case "ne":
            return not contained
        case "gt":
            return high > query.high
        case "lt":
            return low < query.low
        case "ge":
            return high > query.high or contained
        case "le":
            return low < query.low or contained
        case "sa":
            return low >= query.high
        case "eb":
            return high <= query.low
        case "ap":
            wide_low, wide_high = approximate(query, now)
            return low < wide_high and high > wide_low
