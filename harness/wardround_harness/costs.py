"""What requests cost, and the purse that a run may not pass.

A price that is not known is None, never 0: a cost that contains one is None too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from wardround_schemas.errors import UserError

from .agents.base import Settings, Tool, ToolMessage, Transcript, Turn, Usage, UserMessage

MILLION = 1_000_000
RATES: Final = ("input", "output", "cached_input", "cache_write")
CHARACTERS_PER_TOKEN = 2.5
"""On the low side (English has about four, JSON about three), so that an estimate errs upwards."""


class CostLimitReached(Exception):
    """The next request could pass `--max-cost`: the run stops here and can be resumed."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. A cached or cache-writing rate that is None is the input's.

    Some providers charge more for a whole request whose prompt is long: `long` holds those rates, and
    `above` the prompt's tokens from which on they apply.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    above: int | None = None
    long: Price | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars of one request; cached and cache-writing tokens are parts of the input's."""
        if self.long is not None and self.above is not None and usage.input_tokens > self.above:
            return self.long.cost(usage)
        cached = self.input if self.cached_input is None else self.cached_input
        written = self.input if self.cache_write is None else self.cache_write
        plain = max(0, usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens)
        return (
            plain * self.input
            + usage.cached_input_tokens * cached
            + usage.cache_write_tokens * written
            + usage.output_tokens * self.output
        ) / MILLION


FREE = Price(0.0, 0.0, 0.0, 0.0)
"""The price of what runs in this process."""


def estimate_request(transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Usage:
    """Upper estimate of the tokens of the next request.

    The last answer's own count is the base where there is one; what came since is counted by
    characters. Output is taken at its limit.
    """
    base, fresh = 0, 0
    for message in transcript.messages:
        if isinstance(message, Turn) and message.usage is not None and message.usage.input_tokens:
            base, fresh = message.usage.input_tokens + message.usage.output_tokens, 0
        else:
            fresh += _characters(message)
    if not base:
        fresh += len(transcript.system)
        fresh += sum(len(tool.description) + len(json.dumps(dict(tool.input_schema))) for tool in tools)
    return Usage(base + int(fresh / CHARACTERS_PER_TOKEN) + 1, settings.max_tokens)


def _characters(message: UserMessage | Turn | ToolMessage) -> int:
    if isinstance(message, ToolMessage):
        return sum(len(result.text) for result in message.results)
    if isinstance(message, Turn):
        return len(message.text) + sum(len(str(call.arguments_raw)) for call in message.calls)
    return len(message.text)


@dataclass(slots=True)
class Receipt:
    """What a reserved request came to: `pay` it once its answer is there."""

    purse: Purse
    estimate: float
    paid: bool = False

    def pay(self, usage: Usage | None) -> float | None:
        """Book the request; gives its cost, None where price or usage is unknown."""
        self.paid = True
        price = self.purse.price
        if price is None:
            return None
        if usage is None:
            # The provider did not say: the limit must hold all the same, so the estimate is booked.
            self.purse.spent += self.estimate
            return None if price is not FREE else 0.0
        cost = price.cost(usage)
        self.purse.spent += cost
        return cost


@dataclass(slots=True)
class Purse:
    """What a run has spent and may spend, in US dollars.

    `limit` None means no limit. Requests under way are held at their upper estimate, so concurrent
    ones can't pass the limit together.
    """

    price: Price | None
    limit: float | None = None
    spent: float = 0.0
    held: float = field(default=0.0, init=False)

    @contextmanager
    def reserved(self, estimate: Callable[[], Usage]) -> Iterator[Receipt]:
        """Hold an estimate while a request is under way; without a limit none is made.

        Raises CostLimitReached when spent + held + estimate would pass the limit. A request that fails is
        not booked: providers do not bill it.
        """
        limited = self.price is not None and self.limit is not None
        amount = self.price.cost(estimate()) if limited and self.price is not None else 0.0
        if self.limit is not None and self.spent + self.held + amount > self.limit:
            raise CostLimitReached(
                f"the next request could cost ${amount:.4f}; ${self.spent:.4f} of ${self.limit:.4f} is spent"
            )
        self.held += amount
        try:
            yield Receipt(self, amount)
        finally:
            self.held -= amount


def load_price(key: str, override: Path | None = None) -> Price | None:
    """The price of a model, from the override file or the bundled one; None if unknown.

    `key` is `provider/name`, with `@host` behind it where the model is not asked at its vendor: list
    prices say nothing of such a model, so only an override, which may leave the host out, can.
    A file is {"as_of": "YYYY-MM-DD", "models": {KEY: {"input", "output", "cached_input", "cache_write",
    "long": {"above", ...the same}}}}, US dollars per million tokens; the last three may be left out.
    UserError for an override file that is not of this form.
    """
    if override is not None:
        try:
            text = override.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"--prices {override} can't be read", mend=str(error)) from error
        for name in (key, key.partition("@")[0]):
            found = _price(text, name, f"--prices {override}")
            if found is not None:
                return found
    # One vendor, two of its APIs, the same price.
    listed = key.replace("openai-chat/", "openai/", 1)
    return _price(bundled_prices(), listed, "prices.json")


def bundled_prices() -> str:
    """The text of the bundled price file."""
    return (files(__package__) / "prices.json").read_text(encoding="utf-8")


def _price(text: str, key: str, where: str) -> Price | None:
    try:
        entry = json.loads(text)["models"].get(key)
        return None if entry is None else _read_price(entry)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{where} is not a price file: {type(error).__name__}: {error}",
            mend='write {"as_of": "2026-01-31", "models": {"openai/NAME": {"input": 1.0, "output": 4.0}}}',
        ) from error


def _read_price(entry: dict[str, Any]) -> Price:
    rates = {str(name): _rate(entry, name) for name in RATES if name in entry}
    price = Price(rates["input"], rates["output"], rates.get("cached_input"), rates.get("cache_write"))
    if "long" not in entry:
        return price
    long, above = entry["long"], entry["long"]["above"]
    if not isinstance(above, int) or above < 1:
        raise ValueError(f"above is {above!r}")
    return replace(price, above=above, long=_read_price({k: v for k, v in long.items() if k in RATES}))


def _rate(entry: dict[str, Any], name: str) -> float:
    rate = float(entry[name])
    if not 0.0 <= rate < 1e6:
        raise ValueError(f"{name} is {rate}")
    return rate
