"""The way to a provider: proxies, and the pace that it asks for."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.harness.fakes import FakeTime
from tests.providers.wires import KEY, WIRES, Says, Wire, agent, playing
from tests.server.scripted import Reply, Seen, scripted
from wardround_harness.agents.base import Agent, Settings, Tool, Transcript, Turn, UserMessage
from wardround_harness.costs import Purse
from wardround_harness.limits import Caller, RateLimiter
from wardround_harness.plan import RunPlan
from wardround_harness.run import execute

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.spec.split("/")[0]),
]

SETTINGS = Settings(max_tokens=100, timeout_seconds=20)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask() -> Transcript:
    return Transcript("", [UserMessage("Ready?")])


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_model_on_this_machine_is_never_asked_through_a_proxy(
    wire: Wire, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted([]) as proxy, scripted(playing(wire, lambda turn: Says(text="ready"))) as server:
        monkeypatch.setenv(variable, proxy.origin)
        one = agent(wire, f"http://{host}:{server.port}")
        turn = await one.turn(ask(), (), SETTINGS)
        await one.aclose()
        assert turn.text == "ready"
        assert (len(server.seen), proxy.seen) == (1, [])


async def test_a_run_with_a_model_on_this_machine_sends_no_record_through_a_proxy(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finish = playing(wire, lambda turn: Says(calls=[("finish", {"answers": [-1]})]))
    async with scripted([]) as proxy, scripted(finish) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        monkeypatch.setenv("ALL_PROXY", proxy.origin)
        plan = RunPlan(
            model=wire.spec, out=tmp_path / "run", only=("task4_1",), base_url=server.origin + wire.base
        )
        report = await execute(plan, signals=False)
        assert report.exit_code == 0
        assert (len(server.seen), proxy.seen) == (1, [])


async def test_a_model_elsewhere_is_asked_through_the_proxy_of_the_house(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def script(request: Seen) -> Reply:
        asked.append(request.target)
        return Reply(503, b"{}", content_type="application/json")

    async with scripted(script) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        one = agent(wire, "http://model.example.org")
        with pytest.raises(Exception, match="503"):
            await one.turn(ask(), (), SETTINGS)
        await one.aclose()
    assert asked == [f"http://model.example.org{wire.path}"]


class Watched:
    """An agent that notes how many of its requests are under way, and how many may be, as each is sent."""

    def __init__(self, inner: Agent, limiter: RateLimiter, time: FakeTime) -> None:
        self._inner = inner
        self._limiter = limiter
        self._time = time
        self._under_way = 0
        self.name, self.destination, self.price_key = inner.name, inner.destination, inner.price_key
        self.sent: list[tuple[float, int, int]] = []

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        self._under_way += 1
        self.sent.append((self._time.now, self._under_way, self._limiter.limit))
        try:
            return await self._inner.turn(transcript, tools, settings)
        finally:
            self._under_way -= 1

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_a_429_halves_what_is_under_way_and_nothing_is_sent_before_retry_after(wire: Wire) -> None:
    time, burst = FakeTime(), 8
    refused = [wire.error(429, "slow down", retry_after="20") for _ in range(burst)]
    well = playing(wire, lambda turn: Says(text="ready"))
    async with scripted(lambda request: refused.pop() if refused else well(request)) as server:
        limiter = RateLimiter(burst, clock=time.clock, sleep=time.sleep)
        watched = Watched(agent(wire, server.origin), limiter, time)
        caller = Caller(watched, SETTINGS, limiter, Purse(None), clock=time.clock, sleep=time.sleep)
        limits: list[int] = []
        said: list[str] = []

        async def one() -> None:
            answered = await caller.turn(ask(), ())
            said.append(answered.turn.text)
            limits.append(limiter.limit)

        async with anyio.create_task_group() as group:
            for _ in range(3 * burst):
                group.start_soon(one)
        await watched.aclose()
    assert said == ["ready"] * 3 * burst
    assert len(server.seen) == 4 * burst, "each refused request is sent once more, no other"
    first, later = watched.sent[:burst], watched.sent[burst:]
    assert max(under_way for _, under_way, _ in first) == burst
    assert min(at for at, _, _ in later) >= 20.0
    assert all(under_way <= limit for _, under_way, limit in later)
    assert later[0][2] == burst // 2, "a burst that is refused together halves once"
    assert max(limits) > burst // 2, "answers raise it again"


async def test_a_request_that_ran_out_of_time_is_told_of_before_it_is_sent_again(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    time, replies = FakeTime(), [wire.error(408, "Took too long over: what was said in the ward")]
    well = playing(wire, lambda turn: Says(text="ready"))
    async with scripted(lambda request: replies.pop() if replies else well(request)) as server:
        one = agent(wire, server.origin)
        limiter = RateLimiter(1, clock=time.clock, sleep=time.sleep)
        caller = Caller(one, SETTINGS, limiter, Purse(None), clock=time.clock, sleep=time.sleep)
        await caller.turn(ask(), ())
        await one.aclose()
    (record,) = (record for record in caplog.records if record.name == "wardround_harness.limits")
    assert record.levelname == "WARNING"
    assert f"{wire.spec}: timeout" in record.message
    assert "try 2 of 8" in record.message
    assert "ward" not in record.message.replace("wardround", ""), "a provider's words may quote a record"
