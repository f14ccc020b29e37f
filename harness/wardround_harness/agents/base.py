"""What an agent is to the round loop: a transcript and tools go in, one turn comes out.

The transcript is neutral: no provider's message format appears in it. What a provider needs back
on the next request (thinking blocks with their signatures, encrypted reasoning items, its own
message objects) travels as the turn's opaque `payload`, which only the agent that made it reads.

An agent makes exactly one request per `turn` and never retries: it raises `ProviderError` and the
harness decides (see `limits`). It holds no state between turns, so one agent serves many attempts
at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

Stop = Literal[
    "end",  # the model ended its turn
    "tool_calls",  # it waits for the results of its calls
    "max_tokens",  # cut at the limit of output tokens: its calls may be cut too, and are not run
    "refusal",  # the model declined
    "content_filter",  # a filter of the provider took the answer, or refused the prompt
    "context_limit",  # the conversation no longer fits the model's context window
    "other",
]
"""Why a turn ended, in neutral words. A provider that refuses a prompt as too long, or by its content
filter, with an HTTP error still gives a `Turn` with this stop: it is the model's end, not an outage."""

ErrorKind = Literal[
    "rate_limit",  # 429
    "overloaded",  # 503, 529
    "server",  # any other 5xx
    "timeout",  # 408, 504, or no answer within the time limit
    "connection",  # refused, reset, DNS, TLS
    "conflict",  # 409
    "bad_request",  # the request itself was refused: a retry can't help
    "not_found",  # no such model or path
    "quota",  # the account has no credit left
    "bad_response",  # an answer that is not of the API's shape
]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ProviderError(Exception):
    """A request that a model's API did not answer with a turn.

    `retryable` says whether the same request may succeed later, `status` is the HTTP status where
    there was one, `retry_after` the seconds the provider asked us to wait. The message must hold no
    key and no prompt: it is shown and recorded.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind,
        retryable: bool,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(" ".join(message.split())[:500])
        self.kind = kind
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after


class KeyRefused(Exception):
    """The provider refused the key (401 or 403): the run ends at once and nothing is scored."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(" ".join(message.split())[:500])
        self.status = status


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, or a sum of requests.

    `input_tokens` counts the whole prompt, cached parts included; `cached_input_tokens` is the part
    of it that was read from a cache and `cache_write_tokens` the part that was written to one.
    `output_tokens` includes `reasoning_tokens`. An agent whose provider counts otherwise
    (Anthropic leaves cached tokens out of its input count) adds up before it reports.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the MCP server lists it: its name, what it says of itself, and its input's JSON Schema.

    `strict` asks the provider to hold the arguments to the schema as they are made. Runs leave it off:
    the benchmark is about what a model sends by itself.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    `id` is the provider's own (for OpenAI's Responses the `call_id`); `arguments_raw` is what the
    model sent, unparsed where the provider gives text, so that a fault in it can be named.
    """

    id: str
    name: str
    arguments_raw: str | dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave back: the text for the model, and whether it is an error."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model.

    `text` is what it said beside its calls, without thinking; `calls` in the order it made them;
    `usage` None where the provider did not say; `payload` whatever the agent needs to see again in
    the transcript; `notes` short remarks for the record (a setting that was dropped, a stop reason
    that has no neutral word). Never raises for odd content: an empty turn is a `Turn` with nothing
    in it.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop: Stop = "end"
    payload: Any = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Text from the harness: the task, or in the text protocol what an action gave."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of all calls of the turn before it, in the calls' order, one each."""

    results: tuple[ToolResult, ...]


Message: TypeAlias = UserMessage | Turn | ToolMessage


@dataclass(slots=True)
class Transcript:
    """One conversation so far: the system prompt (may be empty), then messages, oldest first.

    A `Turn` is followed by a `ToolMessage` if it had calls, else by a `UserMessage`. `task_id`,
    `repeat` and `protocol` say which attempt this is; an agent may use them to name a cache, never
    to look up an answer.
    """

    system: str
    messages: list[Message] = field(default_factory=list)
    task_id: str = ""
    repeat: int = 0
    protocol: Literal["native", "text"] = "native"

    def turns(self) -> list[Turn]:
        """The model's turns so far, oldest first."""
        return [message for message in self.messages if isinstance(message, Turn)]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is to be asked. None leaves a setting to the provider.

    `max_tokens` bounds one turn's output, thinking included; `timeout_seconds` one request;
    `parallel_tools` False asks the provider for one call a turn. A setting that a model does not
    take is dropped by the agent and named in `setting_notes`.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 8192
    reasoning_effort: Effort | None = None
    parallel_tools: bool = False
    timeout_seconds: float = 600.0


@runtime_checkable
class Agent(Protocol):
    """A model, or a builtin that plays one.

    `name` is the spec it was opened by (`openai/NAME`); `destination` the base URL that prompts and
    records are sent to, None where they stay in this process; `price_key` what its price is filed under,
    None for an agent that costs nothing.
    """

    name: str
    destination: str | None
    price_key: str | None

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        """The model's next turn; `tools` is empty in the text protocol.

        Raises ProviderError when the API gave no turn, KeyRefused on 401 and 403.
        """
        ...

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        """What of the settings this model is not given, a line each; known before the first request."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What came of running a program on a task.

    `text` is the end of its output; `failure` says why the attempt failed (exit code, time limit).
    """

    text: str
    failure: str | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class ProgramAgent(Protocol):
    """An agent that is a program: it runs its own loop against the MCP server that it is told of."""

    name: str
    destination: str | None
    price_key: str | None

    async def attempt(self, prompt: str, mcp_url: str) -> ProgramResult:
        """Run the program on one task; its calls arrive at `mcp_url`."""
        ...

    async def aclose(self) -> None:
        """End whatever still runs."""
        ...
