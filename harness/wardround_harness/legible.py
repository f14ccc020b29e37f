"""Text that every writer of UTF-8 takes."""

from __future__ import annotations


def legible(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 has room for, replaced by U+FFFD.

    A model can send one as a JSON escape (`\\ud800`).
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
