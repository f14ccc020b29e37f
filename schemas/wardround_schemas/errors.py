"""Errors that a person, not a programmer, is meant to read."""

from __future__ import annotations


class UserError(Exception):
    """Bad input from the person at the keyboard: what is wrong, where, and the mend, as one line.

    The command-line programs print it on standard error and exit with `exit_code` (2: bad usage or
    input; 3: stopped before the end). Anything that would break the single line is folded.
    """

    def __init__(self, what: str, *, mend: str = "", exit_code: int = 2) -> None:
        line = " ".join(what.split())
        if mend:
            line = f"{line}: {' '.join(mend.split())}"
        super().__init__(line)
        self.exit_code = exit_code


class ChartError(Exception):
    """The chart could not be read, or answered something that is not a search result.

    Never to be turned into an empty result or an answer: a chart that can't be read is an error of
    the run. `status` is the HTTP status where there was one; `retryable` says whether the same
    read may succeed later.
    """

    def __init__(self, message: str, *, status: int | None = None, retryable: bool = False) -> None:
        super().__init__(" ".join(message.split())[:2000])
        self.status = status
        self.retryable = retryable
