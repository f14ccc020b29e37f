"""Taking one finished chart into another that is being written, table by table, without reading a resource.

A large chart can so be made in parts by several processes: each indexes and compresses its own resources,
and joining the parts costs SQLite a copy of their rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .params import SEARCHED_TYPES
from .schema import columns_of, layout
from .values import Reference, Token

AddSet = Callable[[str, tuple[Any, ...]], int]
"""Finds or adds a set of tokens or references (`table`, values); gives its number in the growing chart."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """What came in: number of resources, and the part's checksum."""

    resources: int
    checksum: int


def absorb_part(
    database: sqlite3.Connection, part: str, first_seq: int, type_key: Callable[[str], int], add_set: AddSet
) -> Absorbed:
    """Copy every row of the chart file `part` into `database`, whose transaction has been closed.

    The part's resources follow in its own order from `first_seq` on; numbers of types and of sets are
    those of the growing chart. Both must compress with the same dictionary: the caller sees to that.
    """
    database.execute("ATTACH DATABASE ? AS part", (part,))
    try:
        database.execute("BEGIN")
        _map_types(database, type_key)
        _map_sets(database, "token", Token, add_set)
        _map_sets(database, "reference", _reference, add_set)
        offset = first_seq - 1
        database.execute(
            "INSERT INTO main.resource SELECT r.seq + ?, t.new, r.id, r.body FROM part.resource r "
            "JOIN temp.new_type t ON t.old = r.type ORDER BY r.seq",
            (offset,),
        )
        (count,) = database.execute("SELECT count(*) FROM part.resource").fetchone()
        for resource_type in SEARCHED_TYPES:
            database.execute(_copy_statement(resource_type), (offset,))
        database.execute(
            "INSERT INTO main.text SELECT param, folded, exact, seq + ? FROM part.text", (offset,)
        )
        database.execute(
            "INSERT INTO main.span SELECT param, low, high, off, off2, seq + ? FROM part.span", (offset,)
        )
        (checksum,) = database.execute("SELECT value FROM part.meta WHERE key = 'checksum'").fetchone()
        for name in ("type", "token", "reference"):
            database.execute(f"DROP TABLE temp.new_{name}")
        database.execute("COMMIT")
    finally:
        database.execute("DETACH DATABASE part")
    return Absorbed(count, int(checksum, 16))


def _map_types(database: sqlite3.Connection, type_key: Callable[[str], int]) -> None:
    database.execute("CREATE TEMP TABLE new_type(old INTEGER PRIMARY KEY, new INTEGER)")
    names = database.execute("SELECT key, name FROM part.resource_type").fetchall()
    database.executemany(
        "INSERT INTO temp.new_type VALUES(?,?)", [(key, type_key(name)) for key, name in names]
    )


def _map_sets(database: sqlite3.Connection, table: str, make: Callable[..., Any], add_set: AddSet) -> None:
    """Note for each of the part's sets its number here; sets that are equal stay one."""
    sets: dict[int, list[Any]] = {}
    for key, *values in database.execute(f"SELECT * FROM part.{table} ORDER BY rowid").fetchall():  # noqa: S608
        sets.setdefault(key, []).append(make(*values))
    database.execute(f"CREATE TEMP TABLE new_{table}(old INTEGER PRIMARY KEY, new INTEGER)")
    database.executemany(
        f"INSERT INTO temp.new_{table} VALUES(?,?)",
        [(key, add_set(table, tuple(values))) for key, values in sets.items()],
    )


def _reference(kind: str, name: str, url: str, system: str | None, value: str | None) -> Reference:
    return Reference(kind, name, url, None if value is None else (system or "", value))


def _copy_statement(resource_type: str) -> str:
    """Copies the rows of a type's search table, each set number looked up in its new numbering."""
    shape = layout(resource_type)
    tables: dict[str, str] = {}
    for param in shape.params.values():
        columns = columns_of(param)
        if param.kind == "quantity":
            tables[columns[1]] = "token"
        elif columns and param.kind == "reference":
            tables[columns[0]] = "reference"
        elif columns and param.kind != "date":
            tables[columns[0]] = "token"
    parts = ["seq + ?"]
    for column in shape.columns:
        if column in tables:
            parts.append(f"(SELECT new FROM temp.new_{tables[column]} WHERE old = {column})")  # noqa: S608
        else:
            parts.append(column)
    return f"INSERT INTO main.{shape.table} SELECT {', '.join(parts)} FROM part.{shape.table} ORDER BY seq"  # noqa: S608
