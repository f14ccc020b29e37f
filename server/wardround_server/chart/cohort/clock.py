"""The cohort's time: whole minutes, counted from now, which is 0. The past is negative."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final

NOW: Final = datetime(2023, 11, 13, 10, 15, tzinfo=UTC)
"""The instant at which the bundled tasks are asked. Nothing in the chart is later."""

TODAY: Final = NOW.date()
DAY: Final = 1440
NOW_OF_DAY: Final = NOW.hour * 60 + NOW.minute
YEARS_OF_RECORDS: Final = 5
FIRST_DAY: Final = (date(2018, 11, 13) - TODAY).days
"""The first day with records, counted from today (day 0)."""

_TODAY_ORDINAL: Final = TODAY.toordinal()
_MINUTES: Final = tuple(f"T{m // 60:02d}:{m % 60:02d}:00+00:00" for m in range(DAY))


def at(day: int, minute_of_day: int) -> int:
    """The minute count of a time of day on a day counted from today."""
    return day * DAY + minute_of_day - NOW_OF_DAY


def day_of(minute: int) -> int:
    """The day, counted from today, on which a minute count falls (UTC)."""
    return (minute + NOW_OF_DAY) // DAY


@lru_cache(maxsize=8192)
def date_text(day: int) -> str:
    """A day, counted from today, as YYYY-MM-DD."""
    return date.fromordinal(_TODAY_ORDINAL + day).isoformat()


def stamp(minute: int) -> str:
    """A minute count as a FHIR instant, such as 2023-11-13T10:15:00+00:00."""
    day, minute_of_day = divmod(minute + NOW_OF_DAY, DAY)
    return date_text(day) + _MINUTES[minute_of_day]
