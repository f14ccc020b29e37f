"""What a call gives back, and how it is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of one call, for the agent.

    `text` is all that the agent sees. `is_search` says that it is a chart's answer or the refusal
    of a search; `capture_seq` is the number of the capture that the call made; `next` is the cursor
    of the next page, to be given as `page`.
    """

    ok: bool
    text: str
    is_search: bool = False
    capture_seq: int | None = None
    next: str | None = None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as it was made: `function` is the dotted name, or what was called where there is none.

    `result_bytes` is the size of the result's text in UTF-8, `seconds` the time from call to result.
    """

    seq: int
    at: str
    function: str
    arguments: Any
    ok: bool
    result_bytes: int
    seconds: float
