"""`openai-chat/NAME`: Chat Completions at any base URL.

vLLM, Ollama, llama.cpp, LM Studio, OpenRouter and Gemini's compatible endpoint all speak it, each a little
differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

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
from .openai_responses import DEFAULT_BASE, REASONING_MODELS, open_client
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

STOPS: Final[dict[str, Stop]] = {
    "stop": "end",
    "eos": "end",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}

CARRIED: Final = ("content", "tool_calls", "reasoning", "reasoning_content", "reasoning_details")
"""What of an assistant's message goes back. Gemini's thought signatures travel inside `tool_calls`."""

REASONING: Final = frozenset({"reasoning", "reasoning_content", "reasoning_details"})


class OpenAIChat:
    """One model behind a Chat Completions server.

    Reasoning goes back while tools are in use, as the servers that give it demand; in a plain dialogue it is
    left out, since several refuse it there.
    """

    def __init__(self, name: str, model: str, address: Address) -> None:
        self.name = name
        self.destination: str | None = address.base_url
        self.price_key: str | None = price_key(name, address, DEFAULT_BASE)
        self._model = model
        self._address = address
        self._own = urlsplit(address.base_url).hostname == urlsplit(DEFAULT_BASE).hostname
        self._dropped = Dropped()
        if self._own and REASONING_MODELS.match(model):
            self._dropped.names |= {"temperature", "top_p"}
        self._client: AsyncOpenAI | None = None

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The model's next turn. Raises ProviderError and KeyRefused."""
        if self._client is None:
            self._client = open_client(self._address)
        client = self._client

        async def send() -> JSON:
            raw = await client.chat.completions.with_raw_response.create(
                **self._request(transcript, tools, settings), timeout=settings.timeout_seconds
            )
            return read_json(raw)

        answer, notes = await ask(
            send, self._dropped, optional_settings(settings, "parallel_tools"), self._address.key
        )
        return answer if isinstance(answer, Turn) else _read(answer, notes)

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """What this model is known not to take."""
        return sampling_notes(settings, self._model, self._dropped)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _request(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> dict[str, Any]:
        messages: list[JSON] = []
        if transcript.system:
            messages.append({"role": "system", "content": transcript.system})
        for message in transcript.messages:
            messages.extend(_messages(message, with_reasoning=bool(tools)))
        # Only OpenAI's own models insist on the newer name; most other servers know only the older one.
        limit = "max_completion_tokens" if self._own else "max_tokens"
        request: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            limit: settings.max_tokens,
        }
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.input_schema),
                        **({"strict": True} if tool.strict else {}),
                    },
                }
                for tool in tools
            ]
            if not self._dropped.has("parallel_tools"):
                request["parallel_tool_calls"] = settings.parallel_tools
        return request | given(settings, self._dropped, ("temperature", "top_p", "seed", "reasoning_effort"))


def _messages(message: Message, *, with_reasoning: bool) -> list[JSON]:
    if isinstance(message, UserMessage):
        return [{"role": "user", "content": message.text}]
    if isinstance(message, ToolMessage):
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
            for result in message.results
        ]
    if isinstance(message.payload, dict):
        kept = {
            name: value for name, value in message.payload.items() if with_reasoning or name not in REASONING
        }
        return [{"role": "assistant", **kept}]
    said: JSON = {"role": "assistant", "content": message.text}
    if message.calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments_raw if isinstance(call.arguments_raw, str) else "{}",
                },
            }
            for call in message.calls
        ]
    return [said]


def _read(body: JSON, notes: list[str]) -> Turn:
    choices = items(body.get("choices"))
    if not choices:
        raise ProviderError("the answer has no choices", kind="bad_response", retryable=True)
    message = part(choices[0], "message")
    reason = choices[0].get("finish_reason")
    stop = STOPS.get(str(reason), "other")
    if stop == "other":
        notes = [*notes, f"finish reason {str(reason)[:60]}"]
    listed = items(message.get("tool_calls"))
    calls = tuple(_call(call, index) for index, call in enumerate(listed))
    text = _text(message.get("content"))
    if message.get("refusal"):
        stop, text = "refusal", text or str(message["refusal"])
    elif calls and stop in ("end", "other"):
        stop = "tool_calls"
    payload: JSON = {name: message[name] for name in CARRIED if message.get(name) is not None}
    payload.setdefault("content", "")
    if listed:
        # A server that leaves out the ids must find in the results the ones that were made up for it.
        payload["tool_calls"] = [call | {"id": made.id} for call, made in zip(listed, calls, strict=True)]
    return Turn(text, calls, _usage(body), stop, payload, tuple(notes))


def _call(call: JSON, index: int) -> ToolCall:
    # A call is a function's or a custom tool's: both carry a name and one text.
    inner = part(call, "function") or part(call, "custom")
    arguments = inner.get("arguments", inner.get("input", ""))
    raw = arguments if isinstance(arguments, str | dict) else ""
    return ToolCall(str(call.get("id") or f"call_{index}"), str(inner.get("name")), raw)


def _text(content: Any) -> str:
    """The text of a message: a string, or a list of parts of which those of type text count."""
    if isinstance(content, str):
        return content
    return "".join(str(piece.get("text") or "") for piece in items(content) if piece.get("type") == "text")


def _usage(body: JSON) -> Usage | None:
    usage = part(body, "usage")
    if not isinstance(usage.get("prompt_tokens"), int):
        return None
    details = part(usage, "prompt_tokens_details")
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_input_tokens=count(details.get("cached_tokens")),
        reasoning_tokens=count(part(usage, "completion_tokens_details").get("reasoning_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
    )
