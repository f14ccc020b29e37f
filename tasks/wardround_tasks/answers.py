"""The `clinical` rules over the final answer: equal meaning is equal, and a wrong value never passes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .expect import MEAN_TOLERANCE, STORED_TOLERANCE, AnswerRule
from .instants import parse_instant, same_instant
from .jsontext import NotJSON, read_json
from .quantities import squeeze
from .verdict import Failure

LONGEST_NUMBER = 100
LONGEST_SENTENCE = 20_000
_NUMBER = re.compile(
    r"\s*([-+]?\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?)\s*(\S[^\d]{0,30})?\s*\Z", re.ASCII
)
_STATED = re.compile(r"(?<![\d.])(-?\d{1,12}(?:\.\d{1,12})?)\s?([a-zA-Z%]{1,6}(?:/[a-zA-Z]{1,4})?)", re.ASCII)


class Said:
    """The final answer: its raw text, and what that says as JSON, read when first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def is_json(self) -> bool:
        """Whether the text is JSON."""
        return self.value is not NO_JSON

    @cached_property
    def value(self) -> Any:
        """The JSON value, NO_JSON where there is none."""
        try:
            return read_json(self.text)
        except NotJSON:
            return NO_JSON


NO_JSON = object()
"""Stands for the value of a text that is not JSON; equal to nothing."""


def clinical_answer(said: Said, rule: AnswerRule) -> tuple[list[Failure], list[Failure]]:
    """Judge the final answer: (failures, notes)."""
    if rule.kind == "any":
        return [], []
    if rule.kind == "unless_wrong":
        return _unless_wrong(said, rule), []
    if not said.is_json:
        return [Failure("answer_not_json", "$.answer", list(rule.values), said.text)], []
    given = said.value
    wrong = Failure("answer_wrong", "$.answer", list(rule.values), given)
    if rule.kind == "impossible":
        return [wrong], []
    elements = given if isinstance(given, list) else [given]
    if len(elements) != len(rule.values):
        return [wrong], []
    notes: list[Failure] = []
    for place, (element, wanted) in enumerate(zip(elements, rule.values, strict=True)):
        if not _equal(element, wanted, place, rule):
            return [wrong], []
        if isinstance(element, str) and not isinstance(wanted, str):
            notes.append(Failure("answer_format", f"$.answer[{place}]", wanted, element))
    return [], notes


def _equal(element: Any, wanted: str | int | float, place: int, rule: AnswerRule) -> bool:
    if place in rule.times:
        return isinstance(element, str) and (element == wanted or same_instant(element, wanted))
    if isinstance(wanted, str):
        return same_words(element, wanted)
    given = stated_number(element, rule.units)
    if given is None:
        return rule.stored is not None and _as_stored(element, *rule.stored)
    if rule.kind == "mean":
        return abs(given - wanted) < MEAN_TOLERANCE
    return abs(given - wanted) <= rule.tolerance


def _as_stored(element: object, value: float, unit: str) -> bool:
    """Whether a string gives a converted value as the chart has it, unit and all."""
    if not isinstance(element, str) or element.strip()[-1:].isdigit():
        return False
    given = stated_number(element, frozenset({unit}))
    return given is not None and abs(given - value) <= STORED_TOLERANCE


def same_words(element: object, wanted: str) -> bool:
    """Whether an element is these words; blanks at the ends, case and a full stop aside.

    An identifier that is all digits may come as a number.
    """
    if isinstance(element, int) and not isinstance(element, bool) and wanted.isdecimal():
        return abs(element) < 10**40 and str(element) == wanted
    if not isinstance(element, str) or len(element) > len(wanted) + 100:
        return False
    return " ".join(element.split()).rstrip(".").casefold() == " ".join(wanted.split()).casefold()


def stated_number(element: object, units: frozenset[str]) -> float | None:
    """The finite number that an element is, or that a string is, alone or with a unit; else None."""
    if isinstance(element, bool):
        return None
    if isinstance(element, (int, float)):
        return _finite(element)
    if not isinstance(element, str) or len(element) > LONGEST_NUMBER:
        return None
    match = _NUMBER.match(element)
    if match is None or (match[2] is not None and squeeze(match[2]) not in units):
        return None
    return _finite(float(match[1]))


def _finite(value: int | float) -> float | None:
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def _unless_wrong(said: Said, rule: AnswerRule) -> list[Failure]:
    """Fail only an answer that states a value, and another one than the chart's.

    A bare number states a value; in a sentence, a number with the result's unit does. A sentence may
    also name thresholds, so it is wrong when none of its values is the chart's.
    """
    wanted = float(rule.values[0])
    given = said.value if said.is_json else said.text
    failure = Failure("answer_wrong", "$.answer", list(rule.values), given)
    numbers: list[float] = []
    phrases: list[float] = []
    for element in _leaves(given):
        value = stated_number(element, rule.units)
        if value is not None:
            numbers.append(value)
        elif isinstance(element, (int, float)) and not isinstance(element, bool):
            return [failure]  # NaN or beyond every float: a number, and no value of any chart
        elif isinstance(element, str):
            phrases.extend(_stated(element[:LONGEST_SENTENCE], rule.units))

    def right(value: float) -> bool:
        return abs(value - wanted) <= rule.tolerance

    strangers = [value for value in numbers if not right(value) and value not in rule.also]
    for stated in (numbers, phrases):
        if stated and not any(map(right, stated)):
            return [failure]
    return [failure] if strangers else []


def _stated(text: str, units: frozenset[str]) -> Iterator[float]:
    """The numbers that a sentence gives in the result's unit."""
    if parse_instant(text) is not None:
        return
    for match in _STATED.finditer(text):
        if squeeze(match[2]) in units:
            yield float(match[1])


def _leaves(value: Any, limit: int = 1000) -> Iterator[Any]:
    """What stands in lists and objects, in order, at most `limit` of it; without recursion."""
    waiting, count = [value], 0
    while waiting and count < limit:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item[:limit]))
        elif isinstance(item, dict):
            waiting.extend(reversed(list(item.values())[:limit]))
        else:
            count += 1
            yield item
