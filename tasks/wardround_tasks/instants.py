"""FHIR dates and times as instants.

Source of the lexical rules: FHIR R4, datatypes `date`, `dateTime` and `instant`
(https://hl7.org/fhir/R4/datatypes.html): a time of day needs a zone; a date may be a year, a month
or a day.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

_DATE_TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,30}))?)?(Z|[+-]\d{2}:\d{2})\Z", re.ASCII
)
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?\Z", re.ASCII)
_USUAL = len("2023-11-13T10:15:00+00:00")
LONGEST = 64
"""No date or time is longer than this; anything longer is not looked at."""


def parse_instant(text: object) -> datetime | None:
    """The instant that a FHIR dateTime with a time of day and a zone names, else None.

    Never raises. Fractions beyond microseconds are cut; a leap second counts as second 59.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    if len(text) == _USUAL and text[10] == "T" and text[13] == text[16] == ":" and text.endswith("+00:00"):
        # The form that charts have most, several times faster. The standard library reads looser forms
        # too, which these conditions keep from it; what it refuses goes the long way.
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    match = _DATE_TIME.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        return datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            59 if second == "60" else int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")),
            _zone(zone),
        )
    except ValueError:
        return None


def parse_stamp(text: object) -> datetime | None:
    """Like `parse_instant`, but a partial date counts as its first moment, in UTC.

    For times stored in a chart: a laboratory may know the day alone.
    """
    instant = parse_instant(text)
    if instant is not None or not isinstance(text, str) or len(text) > LONGEST:
        return instant
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        return datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    except ValueError:
        return None


def parse_day(text: object) -> date | None:
    """A whole date (YYYY-MM-DD) as a birth date is written, else None."""
    if not isinstance(text, str) or len(text) != 10:
        return None
    match = _DATE.match(text)
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def same_instant(left: object, right: object) -> bool:
    """Whether both are dateTimes with a zone that name the same instant."""
    first, second = parse_instant(left), parse_instant(right)
    return first is not None and second is not None and first == second


def age_in_years(born: date, today: date) -> int:
    """Whole years lived on a day."""
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


def year_before(now: datetime) -> datetime:
    """The same moment one calendar year earlier (29 February becomes 28 February)."""
    try:
        return now.replace(year=now.year - 1)
    except ValueError:
        return now.replace(year=now.year - 1, day=28)


def next_morning(now: datetime) -> datetime:
    """08:00 on the day after `now`, in the zone of `now`."""
    return (now + timedelta(days=1)).replace(hour=8, minute=0, second=0, microsecond=0)


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if minutes > 59 or hours > 14:
        raise ValueError("no such zone")
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if text[0] == "-" else delta)
