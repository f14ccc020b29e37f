"""The nine functions: load them, decode a call, explain its faults, make a search of it.

This is the package's public face for calls; the parts stand in `loading`, `decode`, `validate`
and `faults`.
"""

from __future__ import annotations

from .decode import decode, search_query
from .faults import MAX_EXPLANATION, explain
from .loading import find_function, finish_function, load_functions
from .model import PROFILES, Decoded, Fault, Function, Kind, Names, Profile

__all__ = [
    "MAX_EXPLANATION",
    "PROFILES",
    "Decoded",
    "Fault",
    "Function",
    "Kind",
    "Names",
    "Profile",
    "decode",
    "explain",
    "find_function",
    "finish_function",
    "load_functions",
    "search_query",
]
