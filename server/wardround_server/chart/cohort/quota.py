"""How many records of each type the two scales hold, and how a total is dealt out without remainder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

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


def spread(total: int, weights: Sequence[int], capacities: Iterable[int]) -> Iterator[int]:
    """Split a total over slots in proportion to weights, none beyond its capacity.

    What a slot can't take goes to the next ones. Raises ValueError when the last slots can't take
    the rest either.
    """
    whole = sum(weights)
    passed = given = 0
    for weight, capacity in zip(weights, capacities, strict=True):
        passed += weight
        part = min(total * passed // whole - given, capacity)
        given += part
        yield part
    if given != total:
        raise ValueError(f"{total - given} of {total} records found no place")
