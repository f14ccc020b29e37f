"""Candidates from a series of results: shared by the categories that ask about one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from ..reference import Measurement
from ..survey import DAY, MINUTE, Series, Survey
from .base import Candidate

WINDOW_OFFSETS: Final = (timedelta(hours=2), DAY, DAY - MINUTE, DAY + MINUTE, timedelta(days=3))
"""Moments after a newest result at which its place in the last 24 hours differs."""
EXACT, INSIDE, OUTSIDE = "exactly_24_hours", "one_minute_inside", "one_minute_outside"


def series_candidates(
    survey: Survey,
    lab: str,
    offsets: tuple[timedelta, ...],
    branch_of: Callable[[Series, datetime], str | None],
) -> Iterator[Candidate]:
    """A candidate for each patient and moment whose results are clear and end before that moment."""
    for person in survey.people:
        series = person.series[lab]
        if not series.usable:
            continue
        for now in survey.moments(series, *offsets):
            if any(measurement.at > now for measurement in series.measurements):
                continue
            branch = branch_of(series, now)
            if branch is not None:
                yield Candidate(branch, now, person)


def in_last_day(series: Series, now: datetime) -> list[Measurement]:
    """The results of the 24 hours up to a moment."""
    return [measurement for measurement in series.measurements if measurement.at >= now - DAY]


def edge(measurement: Measurement, now: datetime) -> str | None:
    """Whether a result lies on the edge of the last 24 hours, and on which side."""
    age = now - measurement.at
    if age == DAY:
        return EXACT
    if DAY - MINUTE <= age < DAY:
        return INSIDE
    if DAY < age <= DAY + MINUTE:
        return OUTSIDE
    return None


def named(branch: str, detail: str | None) -> str:
    """A branch with the detail that makes it a special case."""
    return branch if detail is None else f"{branch}/{detail}"
