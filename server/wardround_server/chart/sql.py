"""Search criteria as SQL over the columns of a chart.

Every statement is put together from names of the parameter table; whatever a caller sent is bound as a
value. The rules are those of `match`; the tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .dates import MINUTE, DateQuery, approximate
from .params import SearchParam
from .query import ID_PARAM, Criterion, QuantityQuery, ReferenceQuery, SortKey, TokenQuery
from .schema import column, layout, leads_an_index
from .values import normalize

FOURTEEN_HOURS = 14 * 60 * MINUTE
_LAST = "\U0010ffff"
_NOTHING = "0"
_INDEXED = frozenset({"token", "text", "reference", "identifier", "date", "chain"})
"""Criteria that an index on the parameter's own column serves."""


class SetLookup(Protocol):
    """Finds the sets of values that hold a given one."""

    def token_sets(self, queries: Sequence[TokenQuery]) -> Sequence[int]: ...
    def uri_sets(self, values: Sequence[str]) -> Sequence[int]: ...
    def text_sets(self, texts: Sequence[str]) -> Sequence[int]: ...
    def unit_sets(self, system: str | None, code: str) -> Sequence[int]: ...
    def reference_sets(self, queries: Sequence[ReferenceQuery]) -> Sequence[int]: ...
    def identifier_sets(self, queries: Sequence[TokenQuery]) -> Sequence[int]: ...
    def type_key(self, resource_type: str) -> int | None: ...


@dataclass(slots=True)
class Clause:
    """A piece of SQL and its bound values, in order. `selective` says that an index leads to its rows."""

    sql: str
    values: list[Any] = field(default_factory=list)
    selective: bool = False


def in_sets(name: str, sets: Sequence[int]) -> Clause:
    """The column holds one of these sets."""
    if not sets:
        return Clause(_NOTHING)
    if len(sets) == 1:
        return Clause(f"{name} = ?", [sets[0]])
    if len(sets) <= 500:
        return Clause(f"{name} IN ({','.join('?' * len(sets))})", list(sets))
    # Numbers of our own making, written as JSON: one bound value instead of thousands.
    numbers = f"[{','.join(map(str, sets))}]"
    return Clause(f"{name} IN (SELECT value FROM json_each(?))", [numbers])  # noqa: S608 - see module


class Compiler:
    """Compiles the criteria of one resource type. `now` in ms is what `ap` measures from."""

    def __init__(self, resource_type: str, lookup: SetLookup, now: int) -> None:
        self.resource_type = resource_type
        self.shape = layout(resource_type)
        self.lookup = lookup
        self.now = now

    def where(self, criteria: Sequence[Criterion]) -> Clause:
        """All criteria joined by AND; a true clause where there are none."""
        parts = [self.criterion(criterion) for criterion in criteria]
        return Clause(
            " AND ".join(f"({part.sql})" for part in parts) or "1",
            [value for part in parts for value in part.values],
            any(map(self._leads_to_rows, criteria, parts)),
        )

    def _leads_to_rows(self, criterion: Criterion, part: Clause) -> bool:
        """Whether an index finds the rows of a criterion, so that the table need not be walked."""
        if part.selective or part.sql == _NOTHING:
            return True
        return criterion.op in _INDEXED and leads_an_index(self.resource_type, criterion.param.stored_as)

    def criterion(self, criterion: Criterion) -> Clause:  # noqa: C901 - a table of rules
        """One criterion on the row `s`."""
        name = f"s.{column(criterion.param.stored_as)}"
        given: Any = criterion.alternatives
        match criterion.op:
            case "id":
                return self._id(given)
            case "missing":
                return self._missing(criterion)
            case "token":
                return in_sets(name, self.lookup.token_sets(given))
            case "not":
                sets = in_sets(name, self.lookup.token_sets(given))
                return Clause(f"NOT ifnull({sets.sql}, 0)", sets.values)
            case "text":
                return in_sets(name, self.lookup.text_sets(given))
            case "uri":
                return in_sets(name, self.lookup.uri_sets(given))
            case "reference":
                return in_sets(name, self.lookup.reference_sets(given))
            case "identifier":
                return in_sets(name, self.lookup.identifier_sets(given))
            case "string" | "contains" | "exact":
                return self._rows("text", criterion.param, [_string(criterion.op, text) for text in given])
            case "quantity":
                return _either([self._quantity(name, query) for query in given])
            case "date":
                return self._date(criterion.param, name, given)
            case "chain":
                return self._chain(name, criterion)

    def _id(self, ids: Sequence[str]) -> Clause:
        key = self.lookup.type_key(self.resource_type)
        marks = ",".join("?" * len(ids))
        return Clause(
            f"s.seq IN (SELECT seq FROM resource WHERE type = ? AND id IN ({marks}))",  # noqa: S608
            [key, *ids],
            True,
        )

    def _missing(self, criterion: Criterion) -> Clause:
        param = self.shape.params[criterion.param.stored_as]
        values: list[Any] = []
        if criterion.param.alias:
            marks = ",".join("?" * len(criterion.param.targets))
            held = f"s.{column(param)} IN (SELECT set_key FROM reference WHERE type IN ({marks}))"  # noqa: S608
            present, values = f"ifnull({held}, 0)", list(criterion.param.targets)
        elif param.kind == "string" or param.many:
            table = "text" if param.kind == "string" else "span"
            present = f"s.seq IN (SELECT seq FROM {table} WHERE param = ?)"  # noqa: S608
            values = [self._label(param)]
        else:
            suffix = {"date": "_low", "quantity": "_value"}.get(param.kind, "")
            present = f"s.{column(param)}{suffix} IS NOT NULL"
        return Clause(f"NOT {present}" if criterion.missing else present, values)

    def _label(self, param: SearchParam) -> str:
        return f"{self.resource_type}.{param.stored_as}"

    def _rows(self, table: str, param: SearchParam, conditions: Sequence[Clause]) -> Clause:
        """A condition on the values that are rows of their own."""
        either = _either(conditions)
        return Clause(
            f"s.seq IN (SELECT x.seq FROM {table} x WHERE x.param = ? AND ({either.sql}))",  # noqa: S608
            [self._label(param), *either.values],
            True,
        )

    def _date(self, param: SearchParam, name: str, queries: Sequence[DateQuery]) -> Clause:
        stored = self.shape.params[param.stored_as]
        if stored.many:
            ends = ("x.low", "x.high", "x.off", "x.off2")
            return self._rows("span", param, [self._range(query, *ends) for query in queries])
        ends = (f"{name}_low", f"({name}_low + {name}_span)", f"{name}_off", f"{name}_off2")
        found = _either([self._range(query, *ends) for query in queries])
        return Clause(found.sql, found.values)

    def _range(self, query: DateQuery, low: str, high: str, low_offset: str, high_offset: str) -> Clause:
        """One date search on a stored range (the rules of `dates.matches`)."""
        stored_low = low
        if query.whole_days:
            low, high = f"({low} + {low_offset} * {MINUTE})", f"({high} + {high_offset} * {MINUTE})"
        slack = FOURTEEN_HOURS if query.whole_days else 0
        contained = f"{low} >= ? AND {high} <= ?"
        ends: list[Any] = [query.low, query.high]
        # A plain bound on the stored column lets an index narrow what the rule then decides.
        from_low, to_high = f"{stored_low} >= ? AND ", f"{stored_low} < ? AND "
        match query.prefix:
            case "eq":
                bounds = [query.low - slack, query.high + slack]
                return Clause(f"{from_low}{to_high}{contained}", [*bounds, *ends])
            case "ne":
                return Clause(f"{stored_low} IS NOT NULL AND NOT ({contained})", ends)
            case "gt":
                return Clause(f"{high} > ?", [query.high])
            case "lt":
                return Clause(f"{to_high}{low} < ?", [query.low + slack, query.low])
            case "ge":
                return Clause(f"{high} > ? OR ({contained})", [query.high, *ends])
            case "le":
                return Clause(
                    f"{to_high}({low} < ? OR ({contained}))", [query.high + slack, query.low, *ends]
                )
            case "sa":
                return Clause(f"{from_low}{low} >= ?", [query.high - slack, query.high])
            case "eb":
                return Clause(f"{to_high}{high} <= ?", [query.low + slack, query.low])
            case "ap":
                wide_low, wide_high = approximate(query, self.now)
                return Clause(f"{low} < ? AND {high} > ?", [wide_high, wide_low])

    def _quantity(self, name: str, query: QuantityQuery) -> Clause:
        value = f"{name}_value"
        match query.prefix:
            case "eq" | "ap":
                number = Clause(f"{value} >= ? AND {value} < ?", [query.low, query.high])
            case "ne":
                number = Clause(f"({value} < ? OR {value} >= ?)", [query.low, query.high])
            case "gt" | "sa":
                number = Clause(f"{value} > ?", [query.value])
            case "lt" | "eb":
                number = Clause(f"{value} < ?", [query.value])
            case "ge":
                number = Clause(f"{value} >= ?", [query.value])
            case "le":
                number = Clause(f"{value} <= ?", [query.value])
        if query.code is None and query.system is None:
            return number
        unit = in_sets(f"{name}_unit", self.lookup.unit_sets(query.system, query.code or ""))
        return Clause(f"{number.sql} AND {unit.sql}", [*number.values, *unit.values])

    def _chain(self, name: str, criterion: Criterion) -> Clause:
        if criterion.chained is None:
            raise ValueError("a chain without a criterion")
        inner = Compiler(criterion.target, self.lookup, self.now)
        found = inner.criterion(criterion.chained)
        return Clause(
            f"{name} IN (SELECT f.set_key FROM {inner.shape.table} s "  # noqa: S608 - names of the table of parameters
            f"CROSS JOIN resource r ON r.seq = s.seq JOIN reference f ON f.id = r.id AND f.type = ? "
            f"WHERE {found.sql})",
            [criterion.target, *found.values],
        )

    def sort_value(self, key: SortKey) -> Clause:
        """What a `_sort` key compares: of several values the one that comes first in that order."""
        pick = "max" if key.descending else "min"
        if key.param is ID_PARAM:
            return Clause("(SELECT id FROM resource WHERE seq = s.seq)")
        param = self.shape.params[key.param.stored_as]
        name = f"s.{column(param)}"
        if param.kind == "string":
            return Clause(
                f"(SELECT {pick}(folded) FROM text WHERE seq = s.seq AND param = ?)",  # noqa: S608
                [self._label(param)],
            )
        if param.many:
            return Clause(
                f"(SELECT {pick}(low) FROM span WHERE seq = s.seq AND param = ?)",  # noqa: S608
                [self._label(param)],
            )
        if param.kind == "date":
            return Clause(f"{name}_low")
        if param.kind == "quantity":
            return Clause(f"{name}_value")
        if param.kind == "reference":
            return Clause(
                f"(SELECT {pick}(CASE WHEN url = '' THEN type || '/' || id ELSE url END) "  # noqa: S608
                f"FROM reference WHERE set_key = {name})"
            )
        return Clause(f"(SELECT {pick}(code) FROM token WHERE set_key = {name} AND code <> '')")  # noqa: S608


def _string(op: str, text: str) -> Clause:
    if op == "exact":
        return Clause("x.folded = ? AND x.exact = ?", [normalize(text), text])
    if op == "contains":
        return Clause("instr(x.folded, ?) > 0", [text])
    return Clause("x.folded >= ? AND x.folded < ?", [text, text + _LAST])


def _either(clauses: Sequence[Clause]) -> Clause:
    if len(clauses) == 1:
        return clauses[0]
    return Clause(
        " OR ".join(f"({clause.sql})" for clause in clauses),
        [value for clause in clauses for value in clause.values],
    )
