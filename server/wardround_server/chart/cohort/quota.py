"""How many records of each type the two scales hold, and how a total is dealt out without remainder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar

T = TypeVar("T")

Scale = Literal["small", "paper"]

PATIENTS: Final = 100

PAPER_COUNTS: Final = {
    "Observation": 563_426,
    "Procedure": 124_969,
    "Condition": 74_821,
    "MedicationRequest": 21_991,
}
"""Records beside the patients that MedAgentBench reports for its chart (785,207 together)."""

LABS_OF_OBSERVATIONS: Final = (59, 100)
"""The share of the observations that are laboratory results; the others are vital signs."""


def deal(total: int, weights: Sequence[int]) -> list[int]:
    """Split a total in proportion to whole weights, by largest remainder; the parts add up to it."""
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def spread(total: int, weights: Sequence[int], capacities: Sequence[int]) -> list[int]:
    """Split a total over slots in proportion to weights, none beyond its capacity.

    What a slot can't take goes to the next ones, and what they can't take to any that can. Raises
    ValueError where all of them together are too small.
    """
    whole = sum(weights)
    passed = given = 0
    parts = []
    for weight, capacity in zip(weights, capacities, strict=True):
        passed += weight
        part = min(total * passed // whole - given, capacity)
        given += part
        parts.append(part)
    for i, capacity in enumerate(capacities):
        more = min(total - given, capacity - parts[i])
        parts[i] += more
        given += more
    if given != total:
        raise ValueError(f"{total - given} of {total} records found no place")
    return parts


def fill(total: int, offers: Sequence[Sequence[T]], weights: Sequence[int]) -> list[T]:
    """Exactly `total` items from the slots' offers, the first of each as far as its part of them goes."""
    chosen: list[T] = []
    for offer, part in zip(offers, spread(total, weights, [len(offer) for offer in offers]), strict=True):
        chosen += offer[:part]
    return chosen
