"""The layout of a chart file: which columns and tables keep which search values.

`resource` holds the bytes, once, in the order in which they came. Each searched type has a narrow table
of its own (`observation`, ...) with one row per resource and typed columns:

    token, uri, reference   NAME             the number of a *set* of values; equal sets are kept once
    date                    NAME_low, _span  start in ms since the epoch and length, _off and _off2: minutes
                                             from UTC of its two ends, as written
    quantity                NAME_value, NAME_unit

Values of which one resource has many are rows of `text` and `span`. Sets are what keeps the file small:
half a million observations share a few thousand of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .params import SEARCHED_TYPES, SearchParam, stored_params

FORMAT = 1
"""Version of the layout; a file of another version is refused, not guessed at."""
APPLICATION_ID = 0x57524348
"""SQLite's application_id of a chart file ("WRCH")."""

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE resource_type(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE resource(seq INTEGER PRIMARY KEY, type INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE token(set_key INTEGER NOT NULL, system TEXT NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE reference(set_key INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL,
  system TEXT, value TEXT);
CREATE TABLE text(param TEXT NOT NULL, folded TEXT NOT NULL, exact TEXT NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE span(param TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, off INTEGER NOT NULL,
  off2 INTEGER NOT NULL, seq INTEGER NOT NULL);
"""
_INDEXES = """
CREATE UNIQUE INDEX resource_id ON resource(type, id);
CREATE INDEX token_code ON token(code, system, set_key);
CREATE INDEX token_set ON token(set_key);
CREATE INDEX reference_id ON reference(id, type, set_key);
CREATE INDEX reference_url ON reference(url, set_key) WHERE url <> '';
CREATE INDEX reference_value ON reference(value, system, set_key) WHERE value IS NOT NULL;
CREATE INDEX reference_set ON reference(set_key);
CREATE INDEX text_folded ON text(param, folded, seq);
CREATE INDEX text_seq ON text(seq, param);
CREATE INDEX span_low ON span(param, low, high, seq);
CREATE INDEX span_seq ON span(seq, param);
"""
# The searches that the nine functions make: a patient's records of one code or category, by date.
_SEARCHES: dict[str, tuple[tuple[str, ...], ...]] = {
    "Patient": (("identifier",), ("birthdate",)),
    "Condition": (("subject", "category"), ("code",)),
    "Observation": (("subject", "code", "date"), ("subject", "category", "date"), ("code", "date")),
    "MedicationRequest": (("subject", "authoredon"),),
    "Procedure": (("subject", "date"), ("code", "date")),
    "ServiceRequest": (("subject", "authored"),),
}


def leads_an_index(resource_type: str, name: str) -> bool:
    """Whether the values of a parameter lead to their rows by an index of the type's own table."""
    return any(names[0] == name for names in _SEARCHES[resource_type])


def column(param: SearchParam | str) -> str:
    """The SQL name of a parameter's column: letters, digits and underscores only."""
    name = param if isinstance(param, str) else param.name
    return "p" + name if name.startswith("_") else name.replace("-", "_")


def columns_of(param: SearchParam) -> tuple[str, ...]:
    """The columns of a parameter; none where its values are rows of `text` or `span`."""
    name = column(param)
    if param.kind == "string" or param.many:
        return ()
    if param.kind == "date":
        return (f"{name}_low", f"{name}_span", f"{name}_off", f"{name}_off2")
    if param.kind == "quantity":
        return (f"{name}_value", f"{name}_unit")
    return (name,)


@dataclass(frozen=True, slots=True)
class Layout:
    """The table of one type: its name, its columns, and where each parameter's first column stands."""

    table: str
    columns: tuple[str, ...]
    slots: dict[str, int]
    params: dict[str, SearchParam]

    @property
    def insert(self) -> str:
        """The statement that adds one row: seq first, then every column."""
        marks = ",".join("?" * (len(self.columns) + 1))
        return f"INSERT INTO {self.table} VALUES({marks})"


@cache
def layout(resource_type: str) -> Layout:
    """The layout of a searched type."""
    columns: list[str] = []
    slots: dict[str, int] = {}
    params = {param.name: param for param in stored_params(resource_type)}
    for param in params.values():
        slots[param.name] = len(columns)
        columns.extend(columns_of(param))
    return Layout(resource_type.lower(), tuple(columns), slots, params)


@cache
def create_tables() -> str:
    """The script that makes the tables of an empty chart."""
    script = [_TABLES]
    for resource_type in SEARCHED_TYPES:
        shape = layout(resource_type)
        kinds = ", ".join(f"{name}{' REAL' if name.endswith('_value') else ''}" for name in shape.columns)
        script.append(f"CREATE TABLE {shape.table}(seq INTEGER PRIMARY KEY, {kinds});")
    return "\n".join(script)


@cache
def create_indexes() -> str:
    """The script that makes the indexes, once the rows are in."""
    script = [_INDEXES]
    for resource_type, searches in _SEARCHES.items():
        shape = layout(resource_type)
        for names in searches:
            columns = [part for name in names for part in columns_of(shape.params[name])]
            label = "_".join((shape.table, *(column(name) for name in names)))
            script.append(f"CREATE INDEX {label} ON {shape.table}({', '.join(columns)});")
    return "\n".join(script)
