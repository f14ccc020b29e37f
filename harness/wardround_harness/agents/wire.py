"""What the provider agents share: keys and addresses, requests sent once, failures put in neutral words.

The SDKs are used for their clients, types and errors; their own retries are off (`limits` retries).
Answers are read as plain JSON objects, so that whatever a provider wants to see again goes back exactly as
it came, fields that an SDK does not know included.
"""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from wardround_schemas.errors import UserError
from wardround_server.settings import is_loopback

from .base import ErrorKind, KeyRefused, ProviderError, Settings, Turn

JSON = dict[str, Any]

RETRYABLE_STATUS: Final = frozenset({408, 409, 429, 529})

STATUS_KINDS: Final[dict[int, ErrorKind]] = {
    404: "not_found",
    408: "timeout",
    409: "conflict",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

CONTEXT_WORDS: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|context (length|window|size)|prompt is too long"
    r"|too many (input )?tokens|input is too long|maximum context",
    re.IGNORECASE,
)
FILTER_WORDS: Final = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
QUOTA_WORDS: Final = re.compile(r"insufficient_quota|credit balance|billing_hard_limit", re.IGNORECASE)

OPTIONAL: Final[dict[str, re.Pattern[str]]] = {
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "top_p": re.compile(r"top_p", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning|thinking|effort", re.IGNORECASE),
    "parallel_tools": re.compile(r"parallel_tool|disable_parallel", re.IGNORECASE),
    "encrypted_reasoning": re.compile(r"encrypted.content|\binclude\b", re.IGNORECASE),
    "cache": re.compile(r"cache_control|prompt_cache", re.IGNORECASE),
}
"""What a model may refuse and can be asked without, and how its refusal names it."""

REFUSED_WORDS: Final = re.compile(
    r"unsupported|not supported|does not support|unknown|unrecognized|unexpected|extra inputs"
    r"|not permitted|deprecated|invalid (value|parameter|argument)|not allowed|only the default",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a provider is and the key it is told. The key stays out of every representation."""

    base_url: str
    key: str = field(repr=False)

    @property
    def loopback(self) -> bool:
        """Whether what is sent there stays on this machine."""
        return is_loopback(urlsplit(self.base_url).hostname or "")


def find_address(
    base_url: str | None, default: str, base_variable: str, key_variable: str, environ: Mapping[str, str]
) -> Address:
    """The provider's base URL (option, then environment, then default) and its key from the environment.

    A server on loopback needs no key. UserError for a URL that is not http(s) or a missing key.
    """
    url = base_url or environ.get(base_variable) or default
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError("the base URL is not an http or https URL", mend="give e.g. http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise UserError(
            "the base URL holds a user name or password", mend=f"put the secret into {key_variable} instead"
        )
    key = environ.get(key_variable, "").strip()
    if not key:
        if not is_loopback(parts.hostname):
            raise UserError(f"{key_variable} is not set", mend=f"export {key_variable}=... and run again")
        key = "none"
    return Address(url.rstrip("/"), key)


def price_key(name: str, address: Address, vendor: str) -> str:
    """What a model's price is filed under: its name; with its host where it is not asked at its vendor.

    A gateway or a server of one's own asks other prices than the vendor's list, though the name be the same.
    """
    host = urlsplit(address.base_url).hostname
    return name if host == urlsplit(vendor).hostname else f"{name}@{host}"


def environment() -> Mapping[str, str]:
    """The process's environment, read when an agent is opened and not at import."""
    return os.environ


def scrub(text: str, key: str) -> str:
    """A provider's message without our key, whole or as the provider abbreviates it."""
    if len(key) >= 8:
        text = text.replace(key, "[key]")
        text = re.sub(re.escape(key[:4]) + r"[\w*.…-]{4,}", "[key]", text)
    return re.sub(r"\b(sk|key)-[\w*.-]{8,}", "[key]", text)


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the provider asks us to wait: `retry-after-ms`, or `Retry-After` in either form."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000.0)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None


@dataclass(slots=True)
class Dropped:
    """Settings that this model has refused, learned from its answers; later requests go without them."""

    names: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether a setting is left out."""
        return name in self.names

    def learn(self, status: int, message: str, sent: frozenset[str]) -> str | None:
        """The setting among `sent` that a 400 or 422 refuses, now dropped; None if it names none."""
        if status not in (400, 422) or not REFUSED_WORDS.search(message):
            return None
        for name in sorted(sent - self.names):
            if OPTIONAL[name].search(message):
                self.names.add(name)
                return name
        return None


def optional_settings(settings: Settings, *more: str) -> frozenset[str]:
    """The names of OPTIONAL that a request with these settings carries."""
    names = {
        name
        for name in ("temperature", "top_p", "seed", "reasoning_effort")
        if getattr(settings, name) is not None
    }
    return frozenset(names | set(more))


def given(settings: Settings, dropped: Dropped, names: tuple[str, ...]) -> dict[str, Any]:
    """The settings of these names that are set and that the model has not refused."""
    values = {name: getattr(settings, name) for name in names if not dropped.has(name)}
    return {name: value for name, value in values.items() if value is not None}


def sampling_notes(settings: Settings, model: str, dropped: Dropped) -> tuple[str, ...]:
    """A line for each sampling setting that is set and known not to be taken by the model."""
    return tuple(
        f"{name}: not taken by {model}; dropped"
        for name in ("temperature", "top_p")
        if getattr(settings, name) is not None and dropped.has(name)
    )


Send = Callable[[], Awaitable[JSON]]


async def ask(send: Send, dropped: Dropped, sent: frozenset[str], key: str) -> tuple[JSON | Turn, list[str]]:
    """Send a request; again without a setting that the model refuses, at most once per setting.

    Returns the answer as a JSON object, or the Turn that a refused prompt amounts to, and notes. Raises
    ProviderError and KeyRefused.
    """
    notes: list[str] = []
    for _ in range(len(OPTIONAL) + 1):
        try:
            return await send(), notes
        except (ProviderError, KeyRefused):
            raise
        except Exception as error:
            name = dropped.learn(_status(error), _message(error), sent)
            if name is not None:
                notes.append(f"the model refused {name}: asked again without it")
                continue
            turn = turn_of_failure(error)
            if turn is not None:
                return turn, notes
            raise neutral(error, key) from error
    raise ProviderError("the model refuses every form of the request", kind="bad_request", retryable=False)


def read_json(raw: Any) -> JSON:
    """The body of a 200 answer as an object. A page of HTML or cut JSON is a ProviderError."""
    try:
        body = orjson.loads(raw.http_response.content)
    except orjson.JSONDecodeError as error:
        kind = raw.http_response.headers.get("content-type", "no content type")
        raise ProviderError(
            f"the answer is not JSON ({kind[:60]})", kind="bad_response", retryable=True
        ) from error
    if not isinstance(body, dict):
        raise ProviderError("the answer is not a JSON object", kind="bad_response", retryable=True)
    failure = body.get("error")
    if isinstance(failure, dict) and not any(name in body for name in ("content", "output", "choices")):
        # Some gateways report a failure of the model behind them in a 200.
        raise ProviderError(
            f"an error in a 200 answer: {str(failure.get('message'))[:200]}", kind="server", retryable=True
        )
    return body


def _status(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or 0)


def _message(error: Exception) -> str:
    body = getattr(error, "body", None)
    text = str(error)
    return f"{text} {orjson.dumps(body).decode()}" if isinstance(body, dict) else text


def turn_of_failure(error: Exception) -> Turn | None:
    """The turn that a refused prompt amounts to: too long, or taken by a content filter. Else None."""
    status, message = _status(error), _message(error)
    if status == 413 or (status in (400, 422) and CONTEXT_WORDS.search(message)):
        return Turn(stop="context_limit", notes=(f"HTTP {status}: the prompt does not fit the model",))
    if status in (400, 403, 422) and FILTER_WORDS.search(message):
        return Turn(stop="content_filter", notes=(f"HTTP {status}: the provider's filter took the prompt",))
    return None


def neutral(error: Exception, key: str) -> ProviderError | KeyRefused:
    """An SDK's exception as ours. An exception that is no SDK's is raised as it is."""
    kind = type(error).__name__
    message = scrub(str(error), key)
    status = _status(error)
    if not status:
        if kind == "APITimeoutError":
            return ProviderError("no answer in time", kind="timeout", retryable=True)
        if kind == "APIConnectionError":
            cause = type(error.__cause__).__name__ if error.__cause__ else "no cause given"
            return ProviderError(f"no connection: {cause}", kind="connection", retryable=True)
        if kind in ("APIResponseValidationError", "APIError"):
            return ProviderError(message, kind="bad_response", retryable=True)
        raise error
    if status in (401, 403):
        return KeyRefused(f"HTTP {status}: {message}", status=status)
    headers: Mapping[str, str] = error.response.headers  # type: ignore[attr-defined]
    if status == 402 or (status in (400, 429) and QUOTA_WORDS.search(_message(error))):
        return ProviderError(f"HTTP {status}: {message}", kind="quota", retryable=False, status=status)
    retryable = status in RETRYABLE_STATUS or status >= 500
    if headers.get("x-should-retry") == "false":
        retryable = False
    return ProviderError(
        f"HTTP {status}: {message}",
        kind=STATUS_KINDS.get(status, "server" if status >= 500 else "bad_request"),
        retryable=retryable,
        status=status,
        retry_after=retry_after(headers),
    )


def count(value: Any) -> int:
    """A token count from a provider's answer: 0 where it is missing or no whole number."""
    return value if isinstance(value, int) and value >= 0 else 0


def part(body: Any, name: str) -> JSON:
    """An object inside an answer, empty where it is missing or null."""
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[JSON]:
    """The objects of a list inside an answer; anything else is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
