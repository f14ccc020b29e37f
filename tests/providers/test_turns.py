"""One turn of each provider's agent: what goes over the wire, and what every odd answer becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.providers.wires import KEY, WIRES, Anthropic, Chat, Responses, Says, Wire, agent, playing
from tests.server.scripted import Reply, Seen, html, reply_json, scripted
from wardround_harness.agents.base import (
    KeyRefused,
    ProviderError,
    Settings,
    Tool,
    ToolMessage,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    UserMessage,
)
from wardround_schemas.errors import UserError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.spec.split("/")[0]),
]

TOOLS = (Tool("lab_search", "Finds labs.", {"type": "object", "properties": {"code": {"type": "string"}}}),)
SETTINGS = Settings(max_tokens=500, timeout_seconds=20)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)


def opening(text: str = "How much magnesium?") -> Transcript:
    return Transcript("Be brief.", [UserMessage(text)])


async def asked(
    wire: Wire,
    script: list[Reply] | Callable[[Seen], Reply],
    settings: Settings = SETTINGS,
    tools: tuple[Tool, ...] = TOOLS,
) -> tuple[Turn, list[Seen]]:
    """One turn against a server that follows a script, and the requests that it took."""
    async with scripted(script) as server:
        one = agent(wire, server.origin)
        try:
            return await one.turn(opening(), tools, settings), server.seen
        finally:
            await one.aclose()


def says(wire: Wire, **words: Any) -> Callable[[Seen], Reply]:
    return playing(wire, lambda turn: Says(**words))


async def test_a_call_comes_back_with_its_arguments_and_usage_counts_the_cached_tokens(wire: Wire) -> None:
    turn, seen = await asked(wire, says(wire, text="Looking.", calls=[("lab_search", {"code": "MG"})]))
    assert (turn.text, turn.stop) == ("Looking.", "tool_calls")
    assert [call.name for call in turn.calls] == ["lab_search"]
    raw = turn.calls[0].arguments_raw
    assert raw == {"code": "MG"} or raw == '{"code": "MG"}'
    assert turn.usage == Usage(125, 30, 100, 12, 5)
    assert len(seen) == 1


async def test_one_call_a_turn_is_asked_for_unless_several_are_allowed(wire: Wire) -> None:
    _, (request,) = await asked(wire, says(wire))
    body = request.json()
    one_only = body.get("tool_choice", {}).get("disable_parallel_tool_use") or (
        body.get("parallel_tool_calls") is False
    )
    assert one_only
    _, (request,) = await asked(wire, says(wire), Settings(parallel_tools=True))
    body = request.json()
    assert "tool_choice" not in body
    assert body.get("parallel_tool_calls", True) is True


async def test_reasoning_and_calls_go_back_as_they_came(wire: Wire) -> None:
    def model(turn: int) -> Says:
        if turn == 0:
            return Says(thinking="Hm.", calls=[("lab_search", {"code": "MG"})])
        return Says(text="It is 1.8.")

    async with scripted(playing(wire, model)) as server:
        one = agent(wire, server.origin)
        transcript = opening()
        first = await one.turn(transcript, TOOLS, SETTINGS)
        transcript.messages += [
            first,
            ToolMessage((ToolResult(first.calls[0].id, "lab_search", "1.8", is_error=False),)),
        ]
        second = await one.turn(transcript, TOOLS, SETTINGS)
        await one.aclose()
    assert second.text == "It is 1.8."
    sent = server.seen[1].json()
    listed = str(sent)
    assert "Hm." in listed or "sealed-0" in listed
    assert [text for _, text in wire.results(server.seen[1])] == ["1.8"]


async def test_a_plain_dialogue_has_no_tools(wire: Wire) -> None:
    async with scripted(playing(wire, lambda turn: Says(text="GET x", thinking="Hm."))) as server:
        one = agent(wire, server.origin)
        transcript = opening()
        transcript.protocol = "text"
        transcript.messages.append(await one.turn(transcript, (), SETTINGS))
        transcript.messages.append(UserMessage("no match"))
        await one.turn(transcript, (), SETTINGS)
        await one.aclose()
    assert all("tools" not in request.json() for request in server.seen)


@pytest.mark.parametrize(
    ("odd", "stop"),
    [("cut", "max_tokens"), ("refusal", "refusal"), ("filter", "content_filter"), ("empty", "end")],
)
async def test_odd_ends_have_their_names(wire: Wire, odd: str, stop: str) -> None:
    made = {
        "cut": wire.cut(),
        "refusal": Says(text="No.", refusal=True),
        "filter": wire.filtered(),
        "empty": Says(),
    }[odd]
    turn, _ = await asked(wire, playing(wire, lambda turn: made))
    if isinstance(wire, Anthropic) and odd == "filter":
        stop = "refusal"
    assert turn.stop == stop
    if odd == "empty":
        assert turn.text == ""
        assert turn.calls == ()


async def test_an_unknown_stop_reason_is_noted_and_not_taken_for_an_end(wire: Wire) -> None:
    if isinstance(wire, Responses):
        pytest.skip("Responses has a status, not a stop reason")
    turn, _ = await asked(wire, says(wire, text="Hm", stop="cosmic_ray"))
    assert turn.stop == "other"
    assert "cosmic_ray" in " ".join(turn.notes)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "prompt is too long: 250000 tokens > 200000 maximum"),
        (400, "This model's maximum context length is 8192 tokens"),
        (400, "the request exceeds the available context size"),
        (413, "Request exceeds the maximum size"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_the_models_end_not_an_outage(
    wire: Wire, status: int, message: str
) -> None:
    turn, _ = await asked(wire, [wire.error(status, message)])
    assert turn.stop == "context_limit"


async def test_missing_usage_is_unknown_and_not_zero(wire: Wire) -> None:
    turn, _ = await asked(wire, says(wire, text="x", usage=False))
    assert turn.usage is None


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (408, "timeout", True),
        (409, "conflict", True),
        (429, "rate_limit", True),
        (500, "server", True),
        (503, "overloaded", True),
        (529, "overloaded", True),
        (400, "bad_request", False),
        (404, "not_found", False),
    ],
)
async def test_each_failure_has_a_kind_and_is_sent_once(
    wire: Wire, status: int, kind: str, retryable: bool
) -> None:
    script = [wire.error(status, "Something about it", retry_after="7")]
    async with scripted(script) as server:
        one = agent(wire, server.origin)
        with pytest.raises(ProviderError) as caught:
            await one.turn(opening(), TOOLS, SETTINGS)
        await one.aclose()
    assert (caught.value.kind, caught.value.retryable, caught.value.status) == (kind, retryable, status)
    assert caught.value.retry_after == 7.0
    assert len(server.seen) == 1


async def test_a_provider_that_says_not_to_retry_is_believed(wire: Wire) -> None:
    with pytest.raises(ProviderError) as caught:
        await asked(wire, [wire.error(503, "down for good", x_should_retry="false")])
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (402, "Payment required", ""),
        (429, "You exceeded your current quota", "insufficient_quota"),
        (400, "Your credit balance is too low", ""),
    ],
)
async def test_an_empty_account_is_not_tried_again(wire: Wire, status: int, message: str, code: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await asked(wire, [wire.error(status, message, code)])
    assert (caught.value.kind, caught.value.retryable) == ("quota", False)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_its_own_error_and_is_not_shown(wire: Wire, status: int) -> None:
    with pytest.raises(KeyRefused) as caught:
        await asked(wire, [wire.error(status, f"Bad key: {KEY[:8]}*****{KEY[-4:]}, {KEY}")])
    assert KEY[:8] not in str(caught.value)
    assert KEY[-4:] not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(hang_up=True),
        html(),
        Reply(200, b'{"id": "x", "cont', content_type="application/json"),
        Reply(200, b'{"id": "x", "cont', content_type="application/json", length=4000),
        reply_json([]),
        reply_json({"id": "x"}),
        reply_json({"error": {"message": "upstream broke"}}),
    ],
    ids=["hung up", "html", "cut", "cut short of its length", "a list", "no content", "error in a 200"],
)
async def test_broken_answers_are_the_providers_failure_and_may_be_tried_again(
    wire: Wire, reply: Reply
) -> None:
    with pytest.raises(ProviderError) as caught:
        await asked(wire, [reply])
    assert caught.value.retryable
    assert caught.value.kind in ("bad_response", "connection", "server")


async def test_a_server_that_stays_silent_is_a_timeout(wire: Wire) -> None:
    with pytest.raises(ProviderError) as caught:
        await asked(wire, [Reply(stall=True)], Settings(timeout_seconds=0.2))
    assert caught.value.kind == "timeout"


async def test_no_server_is_a_connection_failure(wire: Wire) -> None:
    async with scripted([]) as server:
        origin = server.origin
    one = agent(wire, origin)
    with pytest.raises(ProviderError) as caught:
        await one.turn(opening(), TOOLS, SETTINGS)
    await one.aclose()
    assert caught.value.kind == "connection"


async def test_a_redirect_is_not_followed(wire: Wire) -> None:
    async with scripted([]) as elsewhere:
        away = Reply(307, b"", (("Location", f"{elsewhere.origin}{wire.path}"),))
        with pytest.raises(ProviderError):
            await asked(wire, [away])
        assert elsewhere.seen == []


async def test_a_refused_setting_is_left_out_from_then_on_with_a_note(wire: Wire) -> None:
    if isinstance(wire, Responses):
        pytest.skip("a reasoning model's sampling settings are left out from the start")

    def script(request: Seen) -> Reply:
        if "temperature" in request.json():
            return wire.error(400, "temperature is not supported with this model")
        return reply_json(wire.answer(Says(text="ok"), 0))

    async with scripted(script) as server:
        one = agent(wire, server.origin)
        first = await one.turn(opening(), TOOLS, SETTINGS)
        second = await one.turn(opening(), TOOLS, SETTINGS)
        await one.aclose()
    assert "temperature" in " ".join(first.notes)
    assert second.notes == ()
    assert len(server.seen) == 3


async def test_settings_arrive_where_the_api_has_them_and_what_it_lacks_is_noted(wire: Wire) -> None:
    settings = Settings(temperature=0.3, top_p=0.9, seed=7, max_tokens=321, timeout_seconds=20)
    async with scripted(says(wire, text="ok")) as server:
        one = agent(wire, server.origin)
        await one.turn(opening(), TOOLS, settings)
        notes = " ".join(one.setting_notes(settings))
        await one.aclose()
    body = server.seen[0].json()
    assert 321 in (body.get("max_tokens"), body.get("max_output_tokens"))
    for name in ("temperature", "top_p", "seed"):
        assert body.get(name) == getattr(settings, name) or name in notes


async def test_reasoning_effort_is_asked_for_in_the_apis_words(wire: Wire) -> None:
    settings = Settings(reasoning_effort="high", timeout_seconds=20)
    _, (request,) = await asked(wire, says(wire, text="ok"), settings)
    body = request.json()
    assert "high" in (
        body.get("reasoning_effort"),
        body.get("reasoning", {}).get("effort"),
        body.get("output_config", {}).get("effort"),
    )


async def test_without_a_key_only_a_server_on_loopback_is_asked(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UserError, match="API_KEY is not set"):
        agent(wire, "https://api.example.org")
    one = agent(wire, "http://127.0.0.1:9")
    await one.aclose()
    with pytest.raises(UserError, match="user name or password"):
        agent(wire, "http://me:secret@127.0.0.1:9")


async def test_a_chat_server_that_leaves_out_ids_or_sends_objects_is_understood(wire: Wire) -> None:
    if not isinstance(wire, Chat):
        pytest.skip("a looseness of Chat Completions servers")
    body = wire.answer(Says(calls=[("lab_search", {"code": "MG"})], stop="stop"), 0)
    call = body["choices"][0]["message"]["tool_calls"][0]
    del call["id"]
    call["function"]["arguments"] = {"code": "MG"}
    turn, _ = await asked(wire, [reply_json(body)])
    assert turn.stop == "tool_calls"
    assert turn.calls[0].arguments_raw == {"code": "MG"}
    assert turn.payload["tool_calls"][0]["id"] == turn.calls[0].id


async def test_a_list_price_is_for_the_vendors_own_address_alone(wire: Wire) -> None:
    there = agent(wire, "https://gateway.example.org")
    assert there.price_key == f"{wire.spec}@gateway.example.org"
    host = "https://api.anthropic.com" if isinstance(wire, Anthropic) else "https://api.openai.com"
    assert agent(wire, host).price_key == wire.spec
