"""Servers that speak each provider's API to the letter: what they accept, how they answer, how they fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.server.scripted import Reply, Seen, reply_json
from wardround_harness.agents.base import Agent
from wardround_harness.agents.registry import open_agent

KEY = "sk-test-0123456789abcdefghij"


@dataclass(frozen=True, slots=True)
class Says:
    """What the model does in one turn, in neutral words; `stop` in the provider's own."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    thinking: str = ""
    stop: str | None = None
    refusal: bool = False
    usage: bool = True


class Wire(Protocol):
    """One provider's API."""

    spec: str
    base: str
    path: str

    def answer(self, says: Says, turn: int) -> dict[str, Any]: ...

    def error(self, status: int, message: str, code: str = "", **headers: str) -> Reply: ...

    def check(self, request: Seen) -> None: ...

    def results(self, request: Seen) -> list[tuple[str, str]]: ...

    def cut(self) -> Says: ...

    def filtered(self) -> Says: ...


def agent(wire: Wire, origin: str) -> Agent:
    """The agent that a user gets for this provider at a base URL."""
    opened = open_agent(
        wire.spec,
        tasks=(),
        fhir_base="http://127.0.0.1/fhir",
        protocols=("native",),
        base_url=origin + wire.base,
    )
    assert isinstance(opened, Agent)
    return opened


def playing(wire: Wire, says: Callable[[int], Says | Reply]) -> Callable[[Seen], Reply]:
    """A script that checks every request and answers by how many turns of the model it holds."""

    def script(request: Seen) -> Reply:
        wire.check(request)
        turn = _turns(request.json())
        made = says(turn)
        return made if isinstance(made, Reply) else reply_json(wire.answer(made, turn))

    return script


def _turns(body: dict[str, Any]) -> int:
    """How many answers of the model a request holds."""
    listed = body["messages"] if "messages" in body else body["input"]
    return sum(
        item.get("role") == "assistant" or item.get("type") in ("function_call", "message") for item in listed
    )


def _check_common(request: Seen, path: str) -> dict[str, Any]:
    assert request.method == "POST"
    assert request.path == path, request.target
    assert KEY in (request.headers.get("authorization", "") + request.headers.get("x-api-key", ""))
    assert request.headers["content-type"].startswith("application/json")
    body = request.json()
    assert isinstance(body, dict)
    assert isinstance(body["model"], str)
    assert body.get("stream") in (None, False)
    return body


class Anthropic:
    """Messages: alternating roles, every tool_use answered at once, thinking untouched."""

    spec, base, path = "anthropic/claude-test", "", "/v1/messages"
    FIELDS = frozenset(
        {
            "model", "max_tokens", "messages", "system", "tools", "tool_choice", "cache_control",
            "temperature", "top_p", "thinking", "output_config",
        }
    )  # fmt: skip

    def answer(self, says: Says, turn: int) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if says.thinking:
            content.append({"type": "thinking", "thinking": says.thinking, "signature": f"sig-{turn}=="})
            content.append({"type": "redacted_thinking", "data": f"opaque-{turn}"})
        if says.text:
            content.append({"type": "text", "text": says.text, "citations": None})
        for index, (name, arguments) in enumerate(says.calls):
            given = arguments if isinstance(arguments, dict) else {}
            content.append({"type": "tool_use", "id": f"toolu_{turn}_{index}", "name": name, "input": given})
        stop = "refusal" if says.refusal else says.stop or ("tool_use" if says.calls else "end_turn")
        return {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 20,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 5,
                "output_tokens": 30,
                "output_tokens_details": {"thinking_tokens": 12},
            }
            if says.usage
            else {},
        }

    def error(self, status: int, message: str, code: str = "", **headers: str) -> Reply:
        kind = code or {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "invalid_request_error")
        body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        return reply_json(body, status, **headers)

    def check(self, request: Seen) -> None:
        body = _check_common(request, self.path)
        assert not set(body) - self.FIELDS, set(body) - self.FIELDS
        assert request.headers["anthropic-version"]
        assert body["max_tokens"] > 0
        messages = body["messages"]
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
        for turn, (said, back) in enumerate(zip(messages[1::2], messages[2::2], strict=True)):
            blocks = said["content"]
            assert blocks, "an assistant's content must not be empty"
            used = [b["id"] for b in blocks if isinstance(b, dict) and b["type"] == "tool_use"]
            answered = (
                [b["tool_use_id"] for b in back["content"] if b["type"] == "tool_result"]
                if isinstance(back["content"], list)
                else []
            )
            assert used == answered, "each tool_use is answered in the next message"
            for block in blocks:
                if block["type"] == "thinking":
                    assert block["signature"] == f"sig-{turn}==", "thinking goes back with its signature"
        if "thinking" in body and body["thinking"]["type"] == "adaptive":
            assert "temperature" not in body
            assert "top_p" not in body
        for tool in body.get("tools", ()):
            assert tool["input_schema"]["type"] == "object"

    def results(self, request: Seen) -> list[tuple[str, str]]:
        return [
            ("error" if block["is_error"] else "ok", block["content"])
            for message in request.json()["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    def cut(self) -> Says:
        return Says(calls=[("lab_search", {"code": "M"})], stop="max_tokens")

    def filtered(self) -> Says:
        return Says(refusal=True)


class Responses:
    """Responses: items in, items out; call outputs matched by call_id; nothing stored."""

    spec, base, path = "openai/gpt-5-test", "/v1", "/v1/responses"
    FIELDS = frozenset(
        {
            "model", "input", "instructions", "max_output_tokens", "store", "tools", "parallel_tool_calls",
            "include", "reasoning", "temperature", "top_p", "prompt_cache_key",
        }
    )  # fmt: skip

    def answer(self, says: Says, turn: int) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if says.thinking:
            output.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{turn}",
                    "summary": [],
                    "encrypted_content": f"sealed-{turn}",
                    "status": None,
                }
            )
        if says.text or says.refusal:
            piece: dict[str, Any] = {"type": "output_text", "text": says.text, "annotations": []}
            if says.refusal:
                piece = {"type": "refusal", "refusal": says.text or "I can't help with that."}
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{turn}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [piece],
                }
            )
        for index, (name, arguments) in enumerate(says.calls):
            output.append(
                {
                    "type": "function_call",
                    "id": f"fc_{turn}_{index}",
                    "call_id": f"call_{turn}_{index}",
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                    "status": "completed",
                }
            )
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(says.stop or "")
        return {
            "id": f"resp_{turn}",
            "object": "response",
            "created_at": 1,
            "model": "gpt-5-test",
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "error": None,
            "output": output,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 125,
                "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 5},
                "output_tokens": 30,
                "output_tokens_details": {"reasoning_tokens": 12},
                "total_tokens": 155,
            }
            if says.usage
            else None,
        }

    def error(self, status: int, message: str, code: str = "", **headers: str) -> Reply:
        body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
        return reply_json(body, status, **headers)

    def check(self, request: Seen) -> None:
        body = _check_common(request, self.path)
        assert not set(body) - self.FIELDS, set(body) - self.FIELDS
        assert body["store"] is False
        assert "temperature" not in body, "models that reason refuse a temperature"
        made = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        back = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
        assert made == back, "every call is answered by its call_id"
        for item in body["input"]:
            if item.get("type") == "reasoning":
                assert item["encrypted_content"].startswith("sealed-")
        for tool in body.get("tools", ()):
            assert tool["type"] == "function"
            assert {"name", "parameters", "strict"} <= set(tool)

    def results(self, request: Seen) -> list[tuple[str, str]]:
        return [
            ("any", item["output"])
            for item in request.json()["input"]
            if item.get("type") == "function_call_output"
        ]

    def cut(self) -> Says:
        return Says(calls=[("lab_search", '{"code": "M')], stop="length")

    def filtered(self) -> Says:
        return Says(stop="content_filter")


class Chat:
    """Chat Completions: tool messages matched by tool_call_id; reasoning goes back while tools are in use."""

    spec, base, path = "openai-chat/local-test", "/v1", "/v1/chat/completions"
    FIELDS = frozenset(
        {
            "model", "messages", "max_tokens", "tools", "parallel_tool_calls", "temperature", "top_p",
            "seed", "reasoning_effort",
        }
    )  # fmt: skip

    def answer(self, says: Says, turn: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": says.text or None}
        if says.thinking:
            message["reasoning_content"] = says.thinking
        if says.refusal:
            message["refusal"] = "I can't help with that."
        if says.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{turn}_{index}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for index, (name, given) in enumerate(says.calls)
            ]
        answer: dict[str, Any] = {
            "id": f"chatcmpl-{turn}",
            "object": "chat.completion",
            "created": 1,
            "model": "local-test",
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "logprobs": None,
                    "finish_reason": says.stop or ("tool_calls" if says.calls else "stop"),
                }
            ],
        }
        if says.usage:
            answer["usage"] = {
                "prompt_tokens": 125,
                "completion_tokens": 30,
                "total_tokens": 155,
                "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 12},
            }
        return answer

    error = Responses.error

    def check(self, request: Seen) -> None:
        body = _check_common(request, self.path)
        assert not set(body) - self.FIELDS, set(body) - self.FIELDS
        messages = body["messages"]
        for index, message in enumerate(messages):
            asked = [call["id"] for call in message.get("tool_calls") or ()]
            after = messages[index + 1 : index + 1 + len(asked)]
            assert [m.get("tool_call_id") for m in after] == asked, "every call is answered next, by its id"
            if message["role"] == "assistant" and body.get("tools") is None:
                assert "reasoning_content" not in message, "reasoning stays out of a plain dialogue"

    def results(self, request: Seen) -> list[tuple[str, str]]:
        return [("any", m["content"]) for m in request.json()["messages"] if m["role"] == "tool"]

    def cut(self) -> Says:
        return Says(calls=[("lab_search", '{"code": "M')], stop="length")

    def filtered(self) -> Says:
        return Says(stop="content_filter")


WIRES: tuple[Wire, ...] = (Anthropic(), Responses(), Chat())
