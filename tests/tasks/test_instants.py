"""FHIR times as instants: what is one, what is none, and what equals what."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_tasks.instants import (
    age_in_years,
    next_morning,
    parse_day,
    parse_instant,
    parse_stamp,
    same_instant,
    year_before,
)

FHIR_DATE_TIME = re.compile(
    r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]"
    r"(:([0-5][0-9]|60)(\.[0-9]+)?)?(Z|[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:[0-5][0-9]))"
)
USUAL = "2023-11-13T10:15:00+00:00"


def _edited(edits: list[tuple[int, str]]) -> str:
    text = list(USUAL)
    for place, character in edits:
        text[place] = character
    return "".join(text)


EDITS = st.lists(
    st.tuples(st.integers(0, len(USUAL) - 1), st.sampled_from("0123456789-+:TZ W.,t")), min_size=1, max_size=4
)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(EDITS.map(_edited) | st.text(max_size=30))
def test_an_instant_is_what_fhirs_grammar_and_the_calendar_allow(text: str) -> None:
    parsed = parse_instant(text)
    if parsed is None:
        match = FHIR_DATE_TIME.fullmatch(text)
        assert match is None or not _exists(text[:10])
    else:
        assert FHIR_DATE_TIME.fullmatch(text)
        assert parsed.utcoffset() is not None


def _exists(day: str) -> bool:
    return parse_day(day) is not None


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)),
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_an_instant_is_the_same_in_every_zone(moment: datetime, zone: timezone) -> None:
    here = moment.replace(tzinfo=UTC)
    there = here.astimezone(zone)
    assert parse_instant(there.isoformat()) == here
    assert same_instant(here.isoformat(), there.isoformat())
    assert not same_instant(here.isoformat(), (there + timedelta(seconds=1)).isoformat())


@pytest.mark.parametrize(
    "text",
    [None, 5, "", "2023", "2023-11-13", "2023-11-13T10:15", "2023-11-13T24:00:00Z", "x" * 10**6, ["Z"]],
)
def test_what_is_no_instant_is_none(text: object) -> None:
    assert parse_instant(text) is None


def test_a_stored_date_counts_from_its_first_moment() -> None:
    assert parse_stamp("2023-11-13") == datetime(2023, 11, 13, tzinfo=UTC)
    assert parse_stamp("2023-11") == datetime(2023, 11, 1, tzinfo=UTC)
    assert parse_stamp("2023") == datetime(2023, 1, 1, tzinfo=UTC)
    assert parse_stamp("2023-13") is None
    assert parse_stamp("yesterday") is None


def test_leap_seconds_and_long_fractions_are_read() -> None:
    assert parse_instant("2016-12-31T23:59:60Z") == datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert parse_instant("2023-11-13T10:15:00.1234567890Z") == datetime(
        2023, 11, 13, 10, 15, 0, 123456, tzinfo=UTC
    )


def test_a_year_before_a_leap_day_is_the_28th() -> None:
    assert year_before(datetime(2024, 2, 29, 8, tzinfo=UTC)) == datetime(2023, 2, 28, 8, tzinfo=UTC)
    assert year_before(datetime(2023, 11, 13, tzinfo=UTC)) == datetime(2022, 11, 13, tzinfo=UTC)


def test_the_next_morning_is_at_eight_in_nows_zone() -> None:
    zone = timezone(timedelta(hours=-5))
    assert next_morning(datetime(2023, 12, 31, 23, 50, 9, 7, zone)) == datetime(2024, 1, 1, 8, tzinfo=zone)


def test_whole_years_are_counted_by_birthdays() -> None:
    assert age_in_years(date(1980, 2, 29), date(2023, 2, 28)) == 42
    assert age_in_years(date(1980, 2, 29), date(2023, 3, 1)) == 43
    assert age_in_years(date(2023, 11, 13), date(2023, 11, 13)) == 0
