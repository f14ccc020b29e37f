"""Prices and estimates: what is not known is None, and an estimate errs upwards."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from wardround_harness.agents.base import (
    Settings,
    Tool,
    ToolMessage,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    UserMessage,
)
from wardround_harness.costs import RATES, Price, bundled_prices, estimate_request, load_price
from wardround_schemas.errors import UserError


def test_cached_and_written_tokens_have_their_own_price() -> None:
    price = Price(input=10.0, output=50.0, cached_input=1.0, cache_write=12.5)
    usage = Usage(input_tokens=1000, output_tokens=10, cached_input_tokens=600, cache_write_tokens=300)
    assert price.cost(usage) == pytest.approx((100 * 10 + 600 * 1 + 300 * 12.5 + 10 * 50) / 1e6)


def test_without_a_price_of_their_own_they_cost_what_input_costs() -> None:
    usage = Usage(input_tokens=1000, cached_input_tokens=600, cache_write_tokens=300)
    assert Price(10.0, 0.0).cost(usage) == pytest.approx(1000 * 10 / 1e6)


def test_an_estimate_builds_on_the_last_count_and_takes_output_at_its_limit() -> None:
    tools = (Tool("t", "d" * 100, {"type": "object"}),)
    transcript = Transcript("s" * 100, [UserMessage("u" * 400)])
    first = estimate_request(transcript, tools, Settings(max_tokens=77))
    assert first.output_tokens == 77
    assert first.input_tokens >= 600 / 4
    transcript.messages.append(Turn(text="x", usage=Usage(1000, 50)))
    transcript.messages.append(ToolMessage((ToolResult("i", "t", "r" * 1000),)))
    assert estimate_request(transcript, tools, Settings()).input_tokens == 1050 + 400 + 1


def test_a_price_is_read_from_the_file_given(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps({"as_of": "2026-01-01", "models": {"x/y": {"input": 1, "output": 2, "note": "n"}}})
    )
    assert load_price("x/y", path) == Price(1.0, 2.0)


def test_an_unknown_model_has_no_price() -> None:
    assert load_price("nobody/nothing") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"models": []}',
        '{"models": {"x/y": {"input": 1}}}',
        '{"models": {"x/y": {"input": -1, "output": 1}}}',
        '{"models": {"x/y": {"input": "a", "output": 1}}}',
    ],
)
def test_a_file_that_is_no_price_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(UserError, match="not a price file"):
        load_price("x/y", path)


def test_a_price_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be read"):
        load_price("x/y", tmp_path / "absent.json")


BUNDLED = json.loads(bundled_prices())


def test_the_bundled_prices_are_dated_and_name_their_sources() -> None:
    assert datetime.date.fromisoformat(BUNDLED["as_of"]) <= datetime.datetime.now(datetime.UTC).date()
    assert all(source.startswith("https://") for source in BUNDLED["sources"])


@pytest.mark.parametrize("key", BUNDLED["models"])
def test_every_bundled_price_is_read_whole_and_is_plausible(key: str) -> None:
    entry = BUNDLED["models"][key]
    price = load_price(key)
    assert price is not None
    assert set(entry) <= {*RATES, "long"}
    for rates in (price, price.long):
        if rates is not None:
            assert 0 < rates.input < rates.output, "an unknown price is left out, never 0"
            assert rates.cached_input is None or 0 < rates.cached_input < rates.input
            assert rates.cache_write is None or rates.input <= rates.cache_write
    if price.long is not None:
        assert price.long.input > price.input
        assert price.above is not None


def test_a_long_prompt_makes_the_whole_request_dearer() -> None:
    price = load_price("openai/gpt-6.1-sol")
    assert price is not None
    assert price.above == 272_000
    assert price.cost(Usage(272_000, 1000)) == pytest.approx(272_000 * 2 / 1e6 + 1000 * 10 / 1e6)
    assert price.cost(Usage(272_001, 1000)) == pytest.approx(272_001 * 4 / 1e6 + 1000 * 15 / 1e6)


def test_both_apis_of_a_vendor_have_its_price() -> None:
    assert load_price("openai-chat/gpt-4o") == load_price("openai/gpt-4o") == Price(2.5, 10.0, 1.25)


def test_a_model_asked_elsewhere_has_no_list_price_but_may_be_given_one(tmp_path: Path) -> None:
    assert load_price("openai/gpt-4o@gateway.example.org") is None
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps(
            {
                "models": {
                    "openai/gpt-4o": {"input": 9, "output": 9},
                    "openai/gpt-4o@a.example.org": {"input": 8, "output": 8},
                }
            }
        )
    )
    assert load_price("openai/gpt-4o@b.example.org", path) == Price(9.0, 9.0)
    assert load_price("openai/gpt-4o@a.example.org", path) == Price(8.0, 8.0)


@pytest.mark.parametrize(
    "long", [{}, {"above": 0, "input": 1, "output": 1}, {"above": 5, "input": 1}, {"above": "5"}, 7]
)
def test_a_broken_long_rate_is_refused(long: object, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"models": {"x/y": {"input": 1, "output": 2, "long": long}}}))
    with pytest.raises(UserError, match="not a price file"):
        load_price("x/y", path)
