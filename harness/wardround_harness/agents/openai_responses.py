"""`openai/NAME`: OpenAI's Responses API, or a server that speaks it. Nothing is stored at the provider."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

from .base import (
    ErrorKind,
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
    sampling_notes,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_BASE: Final = "https://api.openai.com/v1"

REASONING_MODELS: Final = re.compile(r"^(o\d|gpt-[5-9])(?!.*chat)", re.IGNORECASE)
"""Names of models that reason by default and take no sampling settings. A server that refuses a setting
is asked again without it, so this only spares the first request."""

FAILURES: Final[dict[str, tuple[ErrorKind, bool]]] = {
    "server_error": ("server", True),
    "rate_limit_exceeded": ("rate_limit", True),
    "vector_store_timeout": ("timeout", True),
}


def open_client(address: Address) -> AsyncOpenAI:
    """A client of the SDK that never retries and never follows a redirect."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    # A redirect could carry a chart's records to a host that nobody agreed to.
    http = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=not address.loopback)
    return AsyncOpenAI(api_key=address.key, base_url=address.base_url, max_retries=0, http_client=http)


class OpenAIResponses:
    """One model behind the Responses API.

    The conversation is sent whole each time (`store` is off): output items go back unchanged,
    encrypted reasoning included.
    """

    def __init__(self, name: str, model: str, address: Address) -> None:
        self.name = name
        self.destination: str | None = address.base_url
        self.price_key: str | None = price_key(name, address, DEFAULT_BASE)
        self._model = model
        self._address = address
        self._dropped = Dropped()
        if REASONING_MODELS.match(model):
            self._dropped.names |= {"temperature", "top_p"}
        else:
            # Models that do not reason refuse to be asked for encrypted reasoning.
            self._dropped.names.add("encrypted_reasoning")
        self._client: AsyncOpenAI | None = None

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The model's next turn. Raises ProviderError and KeyRefused."""
        if self._client is None:
            self._client = open_client(self._address)
        client = self._client

        async def send() -> JSON:
            raw = await client.responses.with_raw_response.create(
                **self._request(transcript, tools, settings), timeout=settings.timeout_seconds
            )
            return read_json(raw)

        sent = optional_settings(settings, "parallel_tools", "encrypted_reasoning", "cache") - {"seed"}
        answer, notes = await ask(send, self._dropped, sent, self._address.key)
        return answer if isinstance(answer, Turn) else _read(answer, notes)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """What the API or this model has no word for."""
        seed = () if settings.seed is None else ("seed: the Responses API has none; dropped",)
        return seed + sampling_notes(settings, self._model, self._dropped)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _request(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "input": [item for message in transcript.messages for item in _items(message)],
            "max_output_tokens": settings.max_tokens,
            "store": False,
        }
        if transcript.system:
            request["instructions"] = transcript.system
            if not self._dropped.has("cache"):
                digest = hashlib.sha256(transcript.system.encode()).hexdigest()[:16]
                request["prompt_cache_key"] = f"wardround-{digest}"
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.input_schema),
                    "strict": tool.strict,
                }
                for tool in tools
            ]
            if not self._dropped.has("parallel_tools"):
                request["parallel_tool_calls"] = settings.parallel_tools
        if not self._dropped.has("encrypted_reasoning"):
            request["include"] = ["reasoning.encrypted_content"]
        if settings.reasoning_effort is not None and not self._dropped.has("reasoning_effort"):
            request["reasoning"] = {"effort": settings.reasoning_effort}
        return request | given(settings, self._dropped, ("temperature", "top_p"))


def _items(message: Message) -> list[JSON]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": message.text}]
    if isinstance(message, ToolMessage):
        return [
            {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
            for result in message.results
        ]
    if isinstance(message.payload, list):
        return message.payload
    said: list[JSON] = [{"role": "assistant", "content": message.text}] if message.text else []
    return said + [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments_raw if isinstance(call.arguments_raw, str) else "{}",
        }
        for call in message.calls
    ]


def _read(body: JSON, notes: list[str]) -> Turn:
    status = body.get("status")
    if status == "failed":
        return _failed(body, notes)
    if not isinstance(body.get("output"), list):
        raise ProviderError("the answer has no output list", kind="bad_response", retryable=True)
    output = items(body["output"])
    text, refused = _said(output)
    calls = tuple(
        ToolCall(str(item.get("call_id")), str(item.get("name")), _arguments(item.get("arguments")))
        for item in output
        if item.get("type") == "function_call"
    )
    stop: Stop = "refusal" if refused else "tool_calls" if calls else "end"
    if status == "incomplete":
        reason = part(body, "incomplete_details").get("reason")
        stop = "content_filter" if reason == "content_filter" else "max_tokens"
        notes = [*notes, f"incomplete: {str(reason)[:60]}"]
    return Turn(text, calls, _usage(body), stop, output, tuple(notes))


def _said(output: list[JSON]) -> tuple[str, bool]:
    """The text of an answer and whether any of it is a refusal."""
    parts = [
        piece for item in output if item.get("type") == "message" for piece in items(item.get("content"))
    ]
    refused = any(piece.get("type") == "refusal" for piece in parts)
    return "".join(str(piece.get("text") or piece.get("refusal") or "") for piece in parts), refused


def _failed(body: JSON, notes: list[str]) -> Turn:
    error = part(body, "error")
    code, message = str(error.get("code")), str(error.get("message"))[:200]
    if code == "context_length_exceeded":
        return Turn(stop="context_limit", usage=_usage(body), notes=(*notes, message))
    if code not in FAILURES:
        # What else fails a response is the prompt, taken by a policy of the provider.
        return Turn(stop="content_filter", usage=_usage(body), notes=(*notes, f"{code[:60]}: {message}"))
    kind, retryable = FAILURES[code]
    raise ProviderError(f"{code}: {message}", kind=kind, retryable=retryable)


def _arguments(value: Any) -> str | dict[str, Any]:
    return value if isinstance(value, str | dict) else ""


def _usage(body: JSON) -> Usage | None:
    usage = part(body, "usage")
    if not isinstance(usage.get("input_tokens"), int):
        return None
    details = part(usage, "input_tokens_details")
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_input_tokens=count(details.get("cached_tokens")),
        reasoning_tokens=count(part(usage, "output_tokens_details").get("reasoning_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
    )
