"""Prices and estimates: what is not known is None, and an estimate errs upwards."""

from __future__ import annotations

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
from wardround_harness.costs import Price, estimate_request, load_price
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
