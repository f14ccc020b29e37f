"""Choices that a seed fixes for good, on every machine and every Python: by hashing, not by `random`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def rank(seed: int, *purpose: object) -> int:
    """A number between 0 and 2**64 that the seed and the purpose fix."""
    text = "/".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def pick(items: Sequence[T], seed: int, *purpose: object) -> T:
    """One of the items."""
    return items[rank(seed, *purpose) % len(items)]


def mixed(items: Iterable[T], name: Callable[[T], object], seed: int, *purpose: object) -> list[T]:
    """The items in an order that depends on the seed and on each one's name alone."""
    return sorted(items, key=lambda item: (rank(seed, *purpose, name(item)), str(name(item))))
