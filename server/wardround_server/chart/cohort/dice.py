"""A source of chance that gives the same numbers on every machine and every Python.

Python promises the sequence of `random.Random(text).random()` for good, but not that of `shuffle`,
`choice`, `randrange` or `gauss`. So only `random()` is used here; everything else is built from it by the
basic operations, which IEEE 754 fixes to the bit (no logarithm, no cosine of some C library).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """An independent stream of chance, named by the seed and by what it is for.

    Streams of other names are unaffected by how often this one is used: adding a lab value for one
    patient changes nothing for another.
    """

    __slots__ = ("random",)

    def __init__(self, seed: int, *purpose: str | int) -> None:
        self.random = random.Random("/".join(map(str, (seed, *purpose)))).random  # noqa: S311 (no secret)

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1."""
        return int(self.random() * limit)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self.random() * len(items))]

    def bell(self) -> float:
        """A bell-shaped number: mean 0, standard deviation 1, never beyond 3.47.

        The sum of four uniforms, scaled (Irwin-Hall): near enough to a normal distribution for noise
        on a laboratory value, and free of transcendental functions.
        """
        draw = self.random
        return (draw() + draw() + draw() + draw() - 2.0) * 1.7320508

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order (Fisher-Yates)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
