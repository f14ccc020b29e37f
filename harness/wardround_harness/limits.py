"""How requests are sent to a provider: at a rate that it bears, again where that helps, within a cost.

`Caller` is the only way from the round loop to an agent. Retries and the rate are decided here, not
in the agents and not in the providers' SDKs, so that every provider is treated alike and every
retry is counted once.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from .agents.base import Agent, ProviderError, Settings, Tool, Transcript, Turn
from .costs import Purse, estimate_request

logger = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], float]

THROTTLED = frozenset({"rate_limit", "overloaded"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a request that failed is sent again, and after how long.

    `tries` counts the first one. Waits are exponential with full jitter: uniform between 0 and
    min(cap, base * 2^n) seconds (Brooker, "Exponential Backoff and Jitter", AWS 2015). A provider's
    Retry-After is the least wait; one longer than `patience` seconds is given up on.
    """

    tries: int = 8
    base: float = 1.0
    cap: float = 60.0
    patience: float = 300.0

    def wait(
        self, failures: int, error: ProviderError, uniform: Callable[[float, float], float]
    ) -> float | None:
        """Seconds to wait after the `failures`-th failure in a row (from 1), None to give up."""
        if not error.retryable or failures >= self.tries:
            return None
        jitter = uniform(0.0, min(self.cap, self.base * 2 ** (failures - 1)))
        if error.retry_after is None:
            return jitter
        if error.retry_after > self.patience:
            return None
        return error.retry_after + min(jitter, self.base)


class RateLimiter:
    """How many requests may be under way at once: additive increase, multiplicative decrease.

    Starts at `most`. Each answer raises the limit by 1/limit, up to `most`; each 429 or 529 to a
    request that was sent after the last decrease halves it, down to 1 (a burst that fails together
    is one signal, not many), and nothing is sent before the time that the provider asked for.
    """

    def __init__(self, most: int, *, clock: Clock = time.monotonic, sleep: Sleep = anyio.sleep) -> None:
        self._most = float(max(1, most))
        self._limit = self._most
        self._clock = clock
        self._sleep = sleep
        self._in_flight = 0
        self._not_before = 0.0
        self._decreased_at = float("-inf")
        self._free = anyio.Condition()

    @property
    def limit(self) -> int:
        """Requests that may be under way at once now."""
        return max(1, int(self._limit))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Hold one place among the requests under way; gives the time at which it was had."""
        async with self._free:
            while self._in_flight >= self.limit:
                await self._free.wait()
            self._in_flight += 1
        try:
            while (wait := self._not_before - self._clock()) > 0:
                await self._sleep(wait)
            yield self._clock()
        finally:
            with anyio.CancelScope(shield=True):
                async with self._free:
                    self._in_flight -= 1
                    self._free.notify_all()

    def succeeded(self) -> None:
        """A request was answered: allow a little more."""
        self._limit = min(self._most, self._limit + 1.0 / self._limit)

    def throttled(self, sent_at: float, wait: float) -> None:
        """A request sent at `sent_at` met a rate limit: allow half, and nothing for `wait` seconds."""
        now = self._clock()
        if sent_at > self._decreased_at:
            self._limit = max(1.0, self._limit / 2.0)
            self._decreased_at = now
        self._not_before = max(self._not_before, now + wait)


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn, the seconds of the request that gave it (waits and failed tries left out), and the tries."""

    turn: Turn
    seconds: float
    tries: int
    cost: float | None


@dataclass(slots=True)
class Caller:
    """Sends a transcript to an agent and gets a turn, whatever it takes within the policy.

    Raises ProviderError once the policy gives up, KeyRefused at once, CostLimitReached before a
    request that could pass the run's cost limit.
    """

    agent: Agent
    settings: Settings
    limiter: RateLimiter
    purse: Purse
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Clock = time.monotonic
    sleep: Sleep = anyio.sleep
    uniform: Callable[[float, float], float] = random.uniform

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...]) -> Answered:
        """The next turn of a conversation, with the cost of its request (None: unknown)."""
        failures = 0
        while True:
            async with self.limiter.slot() as sent_at:
                try:
                    turn, cost = await self._paid(transcript, tools)
                except ProviderError as error:
                    failures += 1
                    wait = self.policy.wait(failures, error, self.uniform)
                    if error.kind in THROTTLED:
                        # Everyone waits as long as the provider asked for; only this request backs off.
                        asked = (
                            error.retry_after if error.retry_after is not None and wait is not None else 0.0
                        )
                        self.limiter.throttled(sent_at, asked)
                    if wait is None:
                        raise
                    self._tell(error, failures, wait)
                else:
                    self.limiter.succeeded()
                    return Answered(turn, self.clock() - sent_at, failures + 1, cost)
            await self.sleep(wait)

    def _tell(self, error: ProviderError, failures: int, wait: float) -> None:
        """Say that a request is sent again. One that ran out of time has cost its whole limit: a warning.

        The kind alone: a provider's words may quote what it was sent.
        """
        level = logging.WARNING if error.kind == "timeout" else logging.INFO
        what = (self.agent.name, error.kind, wait, failures + 1, self.policy.tries)
        logger.log(level, "%s: %s: asked again in %.1f s, try %d of %d", *what)

    async def _paid(self, transcript: Transcript, tools: tuple[Tool, ...]) -> tuple[Turn, float | None]:
        with self.purse.reserved(lambda: estimate_request(transcript, tools, self.settings)) as receipt:
            turn = await self._timed(transcript, tools)
            return turn, receipt.pay(turn.usage)

    async def _timed(self, transcript: Transcript, tools: tuple[Tool, ...]) -> Turn:
        try:
            with anyio.fail_after(self.settings.timeout_seconds):
                return await self.agent.turn(transcript, tools, self.settings)
        except TimeoutError as error:
            raise ProviderError(
                f"no answer within {self.settings.timeout_seconds:g} s", kind="timeout", retryable=True
            ) from error
