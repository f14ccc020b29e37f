"""The search engine of the embedded chart: a parsed request in, one page of results out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wardround_schemas.chart import SearchPage

from .bundle import Entry, searchset
from .cursor import Cursor, seal, unseal
from .lookup import ChartLookup
from .outcome import outcome
from .params import search_params
from .request import CURSOR, Request, query_string
from .schema import column
from .shape import shape_entry
from .sql import Clause, Compiler
from .store import Chart


def now_ms() -> int:
    """The present, in ms since the epoch."""
    return time.time_ns() // 1_000_000


class ChartSearch:
    """Searches one open chart. `clock` gives the present in ms; only `ap` dates look at it."""

    def __init__(self, chart: Chart, base_url: str, clock: Callable[[], int] = now_ms) -> None:
        self.chart = chart
        self.base_url = base_url
        self._clock = clock
        self._lookup = ChartLookup(chart)
        self._secret: bytes = chart.meta["secret"]

    def run(self, request: Request) -> SearchPage:
        """One page. Raises SearchFault for a cursor that this search did not give."""
        where_self = self._url(request)
        notes = self._notes(request)
        if request.resource_type not in self.chart.types:
            body = searchset(
                self.base_url, total=0 if request.total else None, self_url=where_self, outcome=notes
            )
            return SearchPage(body, 0 if request.total else None, None, where_self)
        compiler = Compiler(request.resource_type, self._lookup, self._clock())
        where = compiler.where(request.criteria)
        if request.count_only:
            count = self._total(compiler, where)
            body = searchset(self.base_url, total=count, self_url=where_self, outcome=notes)
            return SearchPage(body, count, None, where_self)
        cursor = self._cursor(request)
        rows = self._page(compiler, where, request, cursor)
        more = len(rows) > request.count
        rows = rows[: request.count]
        total = self._page_total(compiler, where, request, cursor, len(rows) if not more else None)
        next_url = None
        if more:
            last = rows[-1]
            sealed = seal(
                Cursor(last[0], tuple(last[3:]), -1 if total is None else total),
                self._search(request),
                self._secret,
            )
            next_url = f"{where_self}{'&' if '?' in where_self else '?'}{CURSOR}={sealed}"
        body = searchset(
            self.base_url,
            total=total,
            self_url=where_self,
            next_url=next_url,
            matches=self._entries(request, rows),
            included=self._included(request, rows),
            outcome=notes,
        )
        return SearchPage(body, total, next_url, where_self)

    def ids(self, request: Request) -> frozenset[str]:
        """The ids of every match, without paging."""
        if request.resource_type not in self.chart.types:
            return frozenset()
        compiler = Compiler(request.resource_type, self._lookup, self._clock())
        where = compiler.where(request.criteria)
        source = f"{compiler.shape.table} s CROSS JOIN resource r ON r.seq = s.seq"
        statement = f"SELECT r.id FROM {source} WHERE {where.sql}"  # noqa: S608 - names of the parameter table
        return frozenset(name for (name,) in self.chart.fetch(statement, where.values))

    def _url(self, request: Request) -> str:
        query = query_string(request.params)
        return f"{self.base_url}/{request.resource_type}{'?' if query else ''}{query}"

    def _search(self, request: Request) -> str:
        """What a cursor is bound to: everything of the request but where it begins."""
        return f"{request.resource_type}?{query_string(request.params)}"

    def _notes(self, request: Request) -> bytes | None:
        if not request.unknown:
            return None
        names = ", ".join(request.unknown)
        return outcome(
            f"these parameters are unknown and were left out: {names}",
            severity="warning",
            code="not-supported",
        )

    def _cursor(self, request: Request) -> Cursor | None:
        if request.cursor is None:
            return None
        return unseal(request.cursor, self._search(request), self._secret, len(request.sort))

    def _total(self, compiler: Compiler, where: Clause) -> int:
        statement = f"SELECT count(*) FROM {compiler.shape.table} s WHERE {where.sql}"  # noqa: S608
        ((total,),) = self.chart.fetch(statement, where.values)
        return int(total)

    def _page_total(
        self, compiler: Compiler, where: Clause, request: Request, cursor: Cursor | None, all_rows: int | None
    ) -> int | None:
        if not request.total:
            return None
        if cursor is not None:
            return cursor.total if cursor.total >= 0 else None
        return all_rows if all_rows is not None else self._total(compiler, where)

    def _page(
        self, compiler: Compiler, where: Clause, request: Request, cursor: Cursor | None
    ) -> list[tuple[Any, ...]]:
        """Rows (seq, id, stored bytes, sort values...): one more than the page holds, if there is one."""
        keys = [compiler.sort_value(key) for key in request.sort]
        columns = "".join(f", {key.sql} AS k{number}" for number, key in enumerate(keys))
        order = "".join(
            f"k{number} IS NULL, k{number}{' DESC' if key.descending else ''}, "
            for number, key in enumerate(request.sort)
        )
        inner = f"SELECT s.seq AS seq{columns} FROM {compiler.shape.table} s WHERE {where.sql}"  # noqa: S608
        values = [value for key in keys for value in key.values] + where.values
        if cursor is not None:
            after = _after(request, cursor)
            if keys:
                inner, values = f"SELECT * FROM ({inner}) WHERE {after.sql}", values + after.values  # noqa: S608
            else:
                inner, values = f"{inner} AND s.seq > ?", [*values, cursor.seq]
        # The plus sign keeps SQLite from walking the whole table in order of seq when an index is at hand.
        by_seq = "+seq" if where.selective and not keys else "seq"
        names = "".join(f", q.k{number}" for number in range(len(keys)))
        statement = (
            f"SELECT q.seq, r.id, r.body{names} FROM ({inner} ORDER BY {order}{by_seq} LIMIT ?) q "  # noqa: S608
            "CROSS JOIN resource r ON r.seq = q.seq"
        )
        return self.chart.fetch(statement, [*values, request.count + 1])

    def _entries(self, request: Request, rows: Sequence[tuple[Any, ...]]) -> Iterator[Entry]:
        kind, decode = request.resource_type, self.chart.body
        for row in rows:
            body = decode(row[2])
            yield Entry(kind, row[1], shape_entry(request, body) if request.shaped else body)

    def _included(self, request: Request, rows: Sequence[tuple[Any, ...]]) -> Iterator[Entry]:
        if not request.includes or not rows:
            return
        seen = {(request.resource_type, row[1]) for row in rows}
        seqs = ",".join(str(row[0]) for row in rows)
        params = search_params(request.resource_type)
        for include in request.includes:
            names = (
                [name for name, param in params.items() if param.kind == "reference" and not param.alias]
                if include.param == "*"
                else [params[include.param].stored_as]
            )
            for name in names:
                # The numbers of the page's rows come from this chart, not from the caller.
                statement = (
                    "SELECT DISTINCT f.type, f.id FROM reference f WHERE f.id <> '' AND f.set_key IN "  # noqa: S608
                    f"(SELECT {column(name)} FROM {request.resource_type.lower()} WHERE seq IN ({seqs})) "
                    "ORDER BY f.type, f.id"
                )
                for kind, target in self.chart.fetch(statement):
                    if (kind, target) in seen or include.target not in ("", kind):
                        continue
                    seen.add((kind, target))
                    body = self.chart.read(kind, target)
                    if body is not None:
                        yield Entry(kind, target, body)


def _after(request: Request, cursor: Cursor) -> Clause:
    """Rows that come after the cursor in the order of the search; missing values come last."""
    sql, values = "seq > ?", [cursor.seq]
    for number in reversed(range(len(request.sort))):
        name, value = f"k{number}", cursor.keys[number]
        sign = "<" if request.sort[number].descending else ">"
        if value is None:
            sql = f"({name} IS NULL AND ({sql}))"
        else:
            sql = f"({name} IS NULL OR {name} {sign} ? OR ({name} = ? AND ({sql})))"
            values = [value, value, *values]
    return Clause(sql, values)
