"""Retries and the rate: what is sent again, after how long, and how many at once."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.fakes import FakeModel, FakeTime, HangingModel, failing, most, says
from wardround_harness.agents.base import KeyRefused, Settings, Transcript, Turn, Usage, UserMessage
from wardround_harness.costs import CostLimitReached, Price, Purse
from wardround_harness.limits import Caller, RateLimiter, RetryPolicy

pytestmark = pytest.mark.anyio
ASK = Transcript("", [UserMessage("x")])


def caller_of(
    *replies: Turn | Exception, time: FakeTime, tries: int = 4, purse: Purse | None = None
) -> tuple[Caller, FakeModel]:
    model = FakeModel(list(replies))
    limiter = RateLimiter(4, clock=time.clock, sleep=time.sleep)
    policy = RetryPolicy(tries=tries)
    return (
        Caller(model, Settings(), limiter, purse or Purse(None), policy, time.clock, time.sleep, most),
        model,
    )


async def test_waits_double_from_one_second() -> None:
    time = FakeTime()
    caller, _ = caller_of(*[failing("server", status=500)] * 3, says("hello"), time=time)
    answered = await caller.turn(ASK, ())
    assert (answered.tries, time.slept) == (4, [1.0, 2.0, 4.0])


async def test_the_provider_is_not_asked_again_before_its_retry_after() -> None:
    time = FakeTime()
    caller, _ = caller_of(failing("rate_limit", status=429, retry_after=20.0), says("hello"), time=time)
    await caller.turn(ASK, ())
    assert time.now >= 20.0


async def test_what_no_retry_can_help_is_not_sent_again() -> None:
    time = FakeTime()
    caller, model = caller_of(failing("bad_request", status=400, retryable=False), says("x"), time=time)
    with pytest.raises(Exception, match="it failed"):
        await caller.turn(ASK, ())
    assert len(model.seen) == 1


async def test_a_refused_key_is_not_tried_again() -> None:
    time = FakeTime()
    caller, model = caller_of(KeyRefused("401", status=401), says("x"), time=time)
    with pytest.raises(KeyRefused):
        await caller.turn(ASK, ())
    assert len(model.seen) == 1


async def test_a_wait_beyond_patience_is_given_up_on() -> None:
    time = FakeTime()
    caller, model = caller_of(failing("rate_limit", status=429, retry_after=4000.0), says("x"), time=time)
    with pytest.raises(Exception, match="it failed"):
        await caller.turn(ASK, ())
    assert len(model.seen) == 1


async def test_a_request_without_an_answer_in_time_is_a_timeout() -> None:
    caller = Caller(
        HangingModel(),
        Settings(timeout_seconds=0.01),
        RateLimiter(1),
        Purse(None),
        RetryPolicy(tries=1),
    )
    with pytest.raises(Exception, match="no answer within"):
        await caller.turn(ASK, ())


async def test_a_burst_of_429s_halves_the_limit_once() -> None:
    limiter = RateLimiter(16, clock=(time := FakeTime()).clock, sleep=time.sleep)
    time.now = 5.0
    for _ in range(8):
        limiter.throttled(4.0, 0.0)
    assert limiter.limit == 8
    time.now = 7.0
    limiter.throttled(6.0, 0.0)
    assert limiter.limit == 4


async def test_answers_raise_the_limit_again_up_to_where_it_began() -> None:
    limiter = RateLimiter(4, clock=(time := FakeTime()).clock, sleep=time.sleep)
    time.now = 1.0
    limiter.throttled(0.5, 0.0)
    assert limiter.limit == 2
    for _ in range(100):
        limiter.succeeded()
    assert limiter.limit == 4


async def test_no_more_requests_are_under_way_than_the_limit() -> None:
    limiter = RateLimiter(3)
    under_way = 0
    gate = anyio.Event()

    async def one() -> None:
        nonlocal under_way
        async with limiter.slot():
            under_way += 1
            await gate.wait()

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        assert under_way == 3
        gate.set()
    assert under_way == 20


async def test_a_cancelled_wait_gives_its_slot_back() -> None:
    limiter = RateLimiter(1)
    entered = anyio.Event()

    async def hold() -> None:
        async with limiter.slot():
            entered.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await entered.wait()
        group.cancel_scope.cancel()
    async with limiter.slot():
        pass


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 300)))
def test_a_wait_is_never_shorter_than_asked_nor_longer_than_the_cap(
    failures: int, where: float, retry_after: float | None
) -> None:
    policy = RetryPolicy(tries=21)
    error = failing("rate_limit", retry_after=retry_after)
    wait = policy.wait(failures, error, lambda low, high: low + where * (high - low))
    assert wait is not None
    assert (retry_after or 0.0) <= wait <= (retry_after or 0.0) + policy.cap


async def test_a_request_that_could_pass_the_cost_limit_is_not_sent() -> None:
    time = FakeTime()
    purse = Purse(Price(1.0, 1.0), limit=0.001)
    caller, model = caller_of(says("x"), time=time, purse=purse)
    with pytest.raises(CostLimitReached):
        await caller.turn(ASK, ())
    assert model.seen == []


async def test_the_cost_of_an_answer_is_booked_and_the_hold_let_go() -> None:
    time = FakeTime()
    purse = Purse(Price(1.0, 2.0, cached_input=0.1), limit=1.0)
    usage = Usage(input_tokens=1000, output_tokens=100, cached_input_tokens=400)
    caller, _ = caller_of(Turn(usage=usage), time=time, purse=purse)
    answered = await caller.turn(ASK, ())
    assert answered.cost == pytest.approx((600 * 1.0 + 400 * 0.1 + 100 * 2.0) / 1e6)
    assert (purse.held, purse.spent) == (0.0, answered.cost)


async def test_a_failed_request_is_not_booked() -> None:
    time = FakeTime()
    purse = Purse(Price(1.0, 1.0), limit=1.0)
    caller, _ = caller_of(failing("server", retryable=False), time=time, purse=purse)
    with pytest.raises(Exception, match="it failed"):
        await caller.turn(ASK, ())
    assert (purse.held, purse.spent) == (0.0, 0.0)


async def test_an_unknown_price_is_none_and_never_zero() -> None:
    time = FakeTime()
    caller, _ = caller_of(says("x"), time=time, purse=Purse(None))
    assert (await caller.turn(ASK, ())).cost is None


async def test_requests_at_the_same_time_cannot_pass_the_limit_together() -> None:
    price = Price(0.0, 100.0)
    purse = Purse(price, limit=1.0)
    with (
        purse.reserved(lambda: Usage(0, 6000)),
        pytest.raises(CostLimitReached),
        purse.reserved(lambda: Usage(0, 6000)),
    ):
        pass
