"""`anthropic/NAME`: Anthropic's Messages API, or a server that speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .base import (
    Message,
    ProviderError,
    Settings,
    Stop,
    Tool,
    ToolCall,
    ToolMessage,
    Transcript,
    Turn,
    Usage,
    UserMessage,
)
from .wire import (
    JSON,
    Address,
    Dropped,
    ask,
    count,
    given,
    items,
    optional_settings,
    part,
    price_key,
    read_json,
)

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_BASE: Final = "https://api.anthropic.com"

STOPS: Final[dict[str, Stop]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_limit",
}

EFFORTS: Final = {"minimal": "low"}
"""Words of ours that the API does not have, and its nearest."""


class AnthropicMessages:
    """One model behind the Messages API.

    Thinking blocks go back unchanged, signatures included, as the API demands while tools are in use. Prompt
    caching is asked for on every request; `input_tokens` of the API leaves cached tokens out, ours does not.
    """

    def __init__(self, name: str, model: str, address: Address) -> None:
        self.name = name
        self.destination: str | None = address.base_url
        self.price_key: str | None = price_key(name, address, DEFAULT_BASE)
        self._model = model
        self._address = address
        self._dropped = Dropped()
        self._client: AsyncAnthropic | None = None

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The model's next turn. Raises ProviderError and KeyRefused."""
        client = self._open()

        async def send() -> JSON:
            raw = await client.messages.with_raw_response.create(
                **self._request(transcript, tools, settings), timeout=settings.timeout_seconds
            )
            return read_json(raw)

        sent = optional_settings(settings, "parallel_tools", "cache")
        answer, notes = await ask(send, self._dropped, sent, self._address.key)
        return answer if isinstance(answer, Turn) else _read(answer, notes)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """What the API has no word for: a seed, and sampling settings beside thinking."""
        notes = []
        if settings.seed is not None:
            notes.append("seed: the Messages API has none; dropped")
        if self._thinks(settings) and (settings.temperature is not None or settings.top_p is not None):
            notes.append("temperature, top_p: not taken together with thinking; dropped")
        if settings.reasoning_effort in EFFORTS:
            notes.append(f"reasoning effort {settings.reasoning_effort}: sent as low, the API's least")
        return tuple(notes)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _open(self) -> AsyncAnthropic:
        if self._client is None:
            from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

            # A redirect could carry a chart's records to a host that nobody agreed to.
            http = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=not self._address.loopback)
            self._client = AsyncAnthropic(
                api_key=self._address.key, base_url=self._address.base_url, max_retries=0, http_client=http
            )
        return self._client

    def _thinks(self, settings: Settings) -> bool:
        return settings.reasoning_effort not in (None, "none") and not self._dropped.has("reasoning_effort")

    def _request(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": settings.max_tokens,
            "messages": [_message(message) for message in transcript.messages],
        }
        if transcript.system:
            request["system"] = transcript.system
        if not self._dropped.has("cache"):
            request["cache_control"] = {"type": "ephemeral"}
        if tools:
            request["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.input_schema),
                    **({"strict": True} if tool.strict else {}),
                }
                for tool in tools
            ]
            if not settings.parallel_tools and not self._dropped.has("parallel_tools"):
                request["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        return request | self._sampling(settings)

    def _sampling(self, settings: Settings) -> dict[str, Any]:
        if self._thinks(settings):
            effort = EFFORTS.get(str(settings.reasoning_effort), settings.reasoning_effort)
            return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
        request: dict[str, Any] = {}
        if settings.reasoning_effort == "none" and not self._dropped.has("reasoning_effort"):
            request["thinking"] = {"type": "disabled"}
        if sampling := given(settings, self._dropped, ("temperature", "top_p")):
            # The SDK's method has no arguments for these any more; older models still take them.
            request["extra_body"] = sampling
        return request


def _message(message: Message) -> JSON:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": message.text}
    if isinstance(message, ToolMessage):
        return {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": result.call_id,
                    "content": result.text,
                    "is_error": result.is_error,
                }
                for result in message.results
            ],
        }
    return {"role": "assistant", "content": _content(message)}


def _content(turn: Turn) -> Any:
    if isinstance(turn.payload, list):
        return turn.payload
    blocks: list[JSON] = [{"type": "text", "text": turn.text}] if turn.text else []
    for call in turn.calls:
        arguments = call.arguments_raw if isinstance(call.arguments_raw, dict) else {}
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
    return blocks


def _read(body: JSON, notes: list[str]) -> Turn:
    content = body.get("content")
    if not isinstance(content, list):
        raise ProviderError("the answer has no content list", kind="bad_response", retryable=True)
    blocks = items(content)
    reason = body.get("stop_reason")
    stop = STOPS.get(str(reason), "other")
    if stop == "other":
        notes = [*notes, f"stop reason {str(reason)[:60]}"]
    calls = [
        ToolCall(str(block.get("id")), str(block.get("name")), _arguments(block.get("input")))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    return Turn(text, tuple(calls), _usage(body), stop, blocks, tuple(notes))


def _arguments(value: Any) -> str | dict[str, Any]:
    return value if isinstance(value, str | dict) else {}


def _usage(body: JSON) -> Usage | None:
    usage = part(body, "usage")
    if not isinstance(usage.get("input_tokens"), int):
        return None
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")) + cached + written,
        output_tokens=count(usage.get("output_tokens")),
        cached_input_tokens=cached,
        reasoning_tokens=count(part(usage, "output_tokens_details").get("thinking_tokens")),
        cache_write_tokens=written,
    )
