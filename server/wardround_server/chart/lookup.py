"""Finding the sets of values that hold a given one (`sql.SetLookup`), remembered while a chart is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from .match import text_matches
from .query import ReferenceQuery, TokenQuery
from .store import Chart

_REMEMBERED = 4_096


def _union(find: Callable[[object], tuple[int, ...]], items: Sequence[object]) -> Sequence[int]:
    if len(items) == 1:
        return find(items[0])
    return sorted({key for item in items for key in find(item)})


class ChartLookup:
    """The lookups of one open chart. A chart file never changes, so an answer stays right."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._token = lru_cache(_REMEMBERED)(self._find_token)
        self._reference = lru_cache(_REMEMBERED)(self._find_reference)
        self._text = lru_cache(256)(self._find_text)

    def token_sets(self, queries: Sequence[TokenQuery]) -> Sequence[int]:
        """Sets with a token that answers one of the queries."""
        return _union(self._token, queries)

    def uri_sets(self, values: Sequence[str]) -> Sequence[int]:
        """Sets with one of these uris."""
        return self.token_sets([TokenQuery(None, value) for value in values])

    def text_sets(self, texts: Sequence[str]) -> Sequence[int]:
        """Sets with a token whose text begins with one of these (folded)."""
        return _union(self._text, texts)

    def unit_sets(self, system: str | None, code: str) -> Sequence[int]:
        """Sets that name a unit by its code or its printed form."""
        where, values = ["(code = ?1 OR text = ?1)"], [code]
        if not code:
            where = ["?1 = ''"]
        if system is not None:
            where.append("system = ?2")
            values.append(system)
        return self._keys(f"SELECT DISTINCT set_key FROM token WHERE {' AND '.join(where)}", values)  # noqa: S608

    def reference_sets(self, queries: Sequence[ReferenceQuery]) -> Sequence[int]:
        """Sets with one of these targets."""
        return _union(self._reference, queries)

    def identifier_sets(self, queries: Sequence[TokenQuery]) -> Sequence[int]:
        """Sets with a reference that carries one of these identifiers."""
        found: set[int] = set()
        for query in queries:
            where, values = ["value IS NOT NULL"], []
            if query.code is not None:
                where.append("value = ?")
                values.append(query.code)
            if query.system is not None:
                where.append("system = ?")
                values.append(query.system)
            found.update(self._keys(f"SELECT set_key FROM reference WHERE {' AND '.join(where)}", values))  # noqa: S608
        return sorted(found)

    def type_key(self, resource_type: str) -> int | None:
        """The number of a resource type in this chart."""
        return self._chart.types.get(resource_type)

    def _keys(self, statement: str, values: Sequence[str]) -> tuple[int, ...]:
        return tuple(key for (key,) in self._chart.fetch(statement, values))

    def _find_token(self, query: TokenQuery) -> tuple[int, ...]:
        where, values = ["code = ?"], [query.code or ""]
        if query.code is None:
            where, values = ["code <> ''"], []
        if query.system is not None:
            where.append("system = ?")
            values.append(query.system)
        return self._keys(f"SELECT DISTINCT set_key FROM token WHERE {' AND '.join(where)}", values)  # noqa: S608

    def _find_reference(self, query: ReferenceQuery) -> tuple[int, ...]:
        where, values = ("url = ? AND url <> ''", [query.url]) if query.url else ("id = ?", [query.id])
        if query.types:
            where += f" AND type IN ({','.join('?' * len(query.types))})"
            values.extend(query.types)
        return self._keys(f"SELECT DISTINCT set_key FROM reference WHERE {where}", values)  # noqa: S608

    def _find_text(self, text: str) -> tuple[int, ...]:
        found: set[int] = set()
        for key, words in self._chart.fetch("SELECT set_key, text FROM token WHERE text <> ''"):
            if text_matches(text, words):
                found.add(key)
        return tuple(sorted(found))
