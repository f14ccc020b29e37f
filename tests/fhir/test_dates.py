"""Dates and times: what they span, what they refuse, and every comparison against the naive reading."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fhir.naive import date_holds, period_of, span_of
from tests.fhir.random_charts import MOMENTS
from wardround_server.chart.dates import (
    EARLIEST,
    LATEST,
    PREFIXES,
    Span,
    matches,
    parse_date_query,
    parse_period,
    parse_span,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = [moment for moment in MOMENTS if len(moment) > 7]


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@pytest.mark.parametrize("moment", [*MOMENTS, "2023-11-12T10:15Z", "2023-11-12T10:15:00", "2024", "2100"])
def test_a_value_spans_its_own_precision(moment: str) -> None:
    low, high = span_of(moment)
    assert parse_span(moment)[:2] == (ms(low), ms(high))


@pytest.mark.parametrize("prefix", [prefix for prefix in PREFIXES if prefix != "ap"])
def test_every_comparison_of_every_pair_of_values(prefix: str) -> None:
    periods: list[dict[str, str]] = [{"start": one} for one in DAYS] + [{"end": one} for one in DAYS]
    periods += [
        {"start": one, "end": two} for one in DAYS for two in DAYS if span_of(one)[0] < span_of(two)[0]
    ]
    for asked in MOMENTS:
        query = parse_date_query(prefix + asked)
        for stored in MOMENTS:
            expected = date_holds(prefix + asked, span_of(stored))
            assert matches(query, parse_span(stored), 0) is expected, (prefix, asked, stored)
        for period in periods:
            span = parse_period(period)
            assert span is not None
            expected = date_holds(prefix + asked, period_of(period))
            assert matches(query, span, 0) is expected, (prefix, asked, period)


def test_near_widens_by_a_tenth_of_the_distance_from_now() -> None:
    now = ms(datetime(2023, 11, 11, tzinfo=UTC))
    query = parse_date_query("ap2023-11-01")
    near, far = parse_span("2023-11-02T20:00:00Z"), parse_span("2023-11-03T12:00:00Z")
    assert matches(query, near, now)
    assert not matches(query, far, now)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "23",
        "2023-1",
        "2023-13",
        "2023-00",
        "0000",
        "2023-02-29",
        "2023-11-31",
        "2023-11-12T",
        "2023-11-12T10",
        "2023-11-12T24:00:00Z",
        "2023-11-12T10:60:00Z",
        "2023-11-12T10:15:61Z",
        "2023-11-12T10:15:00+15:00",
        "2023-11-12T10:15:00+1:00",
        "2023-11-12T10:15:00z",
        "2023-11-12 10:15:00",
        "2023-11-12T10:15:00.Z",
        "2023-11-12Z",
        "２０２３",
        "2023-11-12\n",
        " 2023",
        "20231112",
        "-2023",
    ],
)
def test_what_is_no_fhir_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a FHIR date or time"):
        parse_span(text)


def test_a_leap_second_is_the_first_of_the_next_minute() -> None:
    assert parse_span("2016-12-31T23:59:60Z").low == parse_span("2017-01-01T00:00:00Z").low


def test_periods_may_be_open_and_must_not_run_backwards() -> None:
    assert parse_period({"start": "2023"}) == Span(parse_span("2023").low, LATEST)
    assert parse_period({"end": "2023"}) == Span(EARLIEST, parse_span("2023").high)
    assert parse_period({}) is None
    with pytest.raises(ValueError, match="ends before it starts"):
        parse_period({"start": "2023-02", "end": "2023-01"})


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=30))
def test_any_text_is_a_date_or_a_value_error(text: str) -> None:
    try:
        query = parse_date_query(text)
    except ValueError:
        return
    assert query.low < query.high
