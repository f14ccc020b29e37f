"""Which Observation codes a chart file holds, and how many results each has."""

from __future__ import annotations

from typing import Any

from .store import Chart

_COUNTS = """
SELECT o.code, o.category, count(*) FROM observation AS o
WHERE o.code IS NOT NULL GROUP BY o.code, o.category
"""


def observation_codes(chart: Chart) -> list[dict[str, Any]]:
    """[{code, display, category, count}], most frequent first.

    A code with several codings goes by its first. `category` is the first category of most results.
    """
    tokens: dict[int, tuple[str, str]] = {}
    for key, code, text in chart.fetch("SELECT set_key, code, text FROM token ORDER BY rowid DESC"):
        tokens[key] = (code, text)
    found: dict[str, dict[str, Any]] = {}
    best: dict[str, int] = {}
    for code_key, category_key, count in chart.fetch(_COUNTS):
        if code_key not in tokens:
            continue
        code, display = tokens[code_key]
        name = display.split("\n", 1)[0] or None
        entry = found.setdefault(code, {"code": code, "display": name, "category": None, "count": 0})
        entry["count"] += count
        if category_key in tokens and count > best.get(code, 0):
            best[code] = count
            entry["category"] = tokens[category_key][0]
    return sorted(found.values(), key=lambda entry: (-entry["count"], entry["code"]))
