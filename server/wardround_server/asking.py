"""How a session asks the person before an order is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "none", "unsupported"]
"""What came back: consent, refusal, nothing (closed, timed out), or a client that can't ask."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is asked: the text, and a digest that binds an answer to this order alone."""

    text: str
    digest: str


Ask = Callable[[Question], Awaitable[Answer]]
"""Puts the question and gives the answer. Raises AskLater where the answer comes with a later call."""


class AskLater(Exception):
    """The question goes out with the answer to this call, and the client calls again with the reply.

    The call that raises it has not been carried out: it is neither counted nor recorded.
    """

    def __init__(self, question: Question) -> None:
        super().__init__("the person is to be asked first")
        self.question = question


WHY_NOT_SENT: dict[Answer, str] = {
    "no": "the person declined it",
    "none": "the person gave no answer",
    "unsupported": "the person could not be asked, because this client does not support it",
}
