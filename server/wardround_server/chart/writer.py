"""Writing a chart: resources in, one finished SQLite file out, or nothing at all."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson
import zstandard

from wardround_schemas.errors import UserError

from .absorb import absorb_part
from .dates import EARLIEST, LATEST
from .extract import ResourceFault, Values, extract
from .params import SEARCHED_TYPES
from .schema import APPLICATION_ID, FORMAT, create_indexes, create_tables, layout
from .values import Quantity, Reference, Text, Token

Stored = Literal["added", "replaced", "unchanged"]

BATCH = 4_096
COMPRESS_FROM = 24 << 20
"""Bytes of JSON from which a chart is compressed; smaller ones are kept plain, which reads fastest."""
DICTIONARY_BYTES = 112 << 10
_SAMPLES = 6_000
_LEVEL = 6
_REMAINS_SECONDS = 24 * 60 * 60
_MODULUS = 1 << 256
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}", re.ASCII)
_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}", re.ASCII)
_CLINICAL_DATES = {
    "Observation": "date",
    "Procedure": "date",
    "MedicationRequest": "authoredon",
    "Condition": "recorded_date",
    "ServiceRequest": "authored",
}


def train_dictionary(samples: Sequence[bytes]) -> bytes:
    """A zstd dictionary from resources like those that a chart will hold."""
    given: list[bytes | bytearray | memoryview] = list(samples)
    return zstandard.train_dictionary(DICTIONARY_BYTES, given, level=_LEVEL).as_bytes()


def digest_of(resource_type: str, resource_id: str, body: bytes) -> int:
    """The share of one resource in the content checksum: SHA-256 of type, id and bytes, as a number."""
    return int.from_bytes(hashlib.sha256(f"{resource_type}/{resource_id}\0".encode() + body).digest(), "big")


class ChartWriter:
    """Fills a chart file. A context manager: the file appears, whole, when the block ends without an error.

    Until then everything goes to a temporary file beside it (mode 0600); an error, an interrupt or a kill
    leaves an older file of that name as it was. With `extend`, an existing chart is added to: a resource of
    the same type and id takes the place of the old one. With a `dictionary` (see `train_dictionary`) every
    resource is compressed, however small the chart.

    The content checksum is the sum, modulo 2**256, of the SHA-256 of every resource: it depends on the
    resources alone, not on their order, the machine or the file's layout.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        synthetic: bool = False,
        name: str = "",
        seed: int | None = None,
        extend: bool = False,
        dictionary: bytes | None = None,
    ) -> None:
        self.path = Path(path)
        self._temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.partial")
        self._extend = extend and self.path.exists()
        self._meta: dict[str, Any] = {}
        self._given: dict[str, Any] = {"synthetic": int(synthetic), "name": name, "seed": seed}
        self._types: dict[str, int] = {}
        self._seqs: dict[tuple[int, str], int] = {}
        self._next_seq = 1
        self._checksum = 0
        self._sets: dict[str, dict[tuple[Any, ...], int]] = {"token": {}, "reference": {}}
        self._pending: list[tuple[int, int, str, bytes]] = []
        self._pending_bytes = 0
        self._rows: dict[str, list[list[Any]]] = {}
        self._side: dict[str, list[tuple[Any, ...]]] = {"token": [], "reference": [], "text": [], "span": []}
        self._compressor: zstandard.ZstdCompressor | None = None
        self._decompressor: zstandard.ZstdDecompressor | None = None
        self._database: sqlite3.Connection | None = None
        self._given_dictionary = dictionary

    def __enter__(self) -> Self:
        self._clear_remains()
        try:
            descriptor = os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.close(descriptor)
        except OSError as error:
            raise UserError(
                f"can't write a chart to {self.path}: {error.strerror}",
                mend="name a file in a folder you can write",
            ) from error
        try:
            if self._extend:
                self._copy_existing()
            self._database = sqlite3.connect(self._temporary, isolation_level=None, check_same_thread=False)
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-65536", "temp_store=MEMORY"):
                self._database.execute(f"PRAGMA {pragma}")
            if self._extend:
                self._resume()
            else:
                self._database.executescript(create_tables())
                self._meta = {"secret": secrets.token_bytes(32)}
                self._meta.update(self._given)
                if self._given_dictionary is not None:
                    self._meta["dictionary"] = self._given_dictionary
                    self._use_dictionary(self._given_dictionary)
            self._database.execute("BEGIN")
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            self._finish()
        except BaseException:
            self._discard()
            raise

    def _clear_remains(self) -> None:
        """Remove what a writer of this chart left that was killed a day ago or more."""
        for remains in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.partial"):
            with contextlib.suppress(OSError):
                if time.time() - remains.stat().st_mtime > _REMAINS_SECONDS:
                    remains.unlink()

    def meta(self, **values: str | int | float | None) -> None:
        """Set facts about the chart: `synthetic`, `name`, `seed` or any other that its maker wants kept."""
        self._meta.update(values)

    def put(self, resource: dict[str, Any] | bytes) -> Stored:
        """Store one resource: its JSON bytes (kept as they are) or an object.

        Raises ResourceFault, and stores nothing, for what is not a FHIR resource with a type and an id
        or holds a search value that can't be read.
        """
        if isinstance(resource, dict):
            body = orjson.dumps(resource)
        else:
            body = resource
            try:
                resource = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                raise ResourceFault(f"not JSON: {error}") from error
            if not isinstance(resource, dict):
                raise ResourceFault("not a JSON object")
        resource_type, resource_id = _identity(resource)
        values = extract(resource_type, resource) if resource_type in SEARCHED_TYPES else {}
        type_key = self._type_key(resource_type)
        key = (type_key, resource_id)
        seq = self._seqs.get(key)
        outcome: Stored = "added"
        if seq is None:
            seq = self._seqs[key] = self._next_seq
            self._next_seq += 1
        elif self._remove(resource_type, seq, resource_id, body):
            outcome = "replaced"
        else:
            return "unchanged"
        self._checksum = (self._checksum + digest_of(resource_type, resource_id, body)) % _MODULUS
        self._pending.append((seq, type_key, resource_id, body))
        self._pending_bytes += len(body)
        if resource_type in SEARCHED_TYPES:
            self._index(resource_type, seq, values)
        full = len(self._pending) >= BATCH
        if full and (self._compressor is not None or self._pending_bytes >= COMPRESS_FROM):
            self._flush()
        return outcome

    def put_all(self, resources: Iterable[dict[str, Any] | bytes]) -> int:
        """Store many; returns how many were given."""
        count = 0
        for resource in resources:
            self.put(resource)
            count += 1
        return count

    def absorb(self, part: Path | str) -> int:
        """Take in every resource of another chart, a part of this one made beside it; returns how many.

        The part must be compressed with the `dictionary` that both were given, and share no resource
        with this chart. Nothing can be put afterwards.
        """
        self._flush()
        self._db.execute("COMMIT")
        came = absorb_part(self._db, str(part), self._next_seq, self._type_key, self._set)
        self._db.execute("BEGIN")
        self._next_seq += came.resources
        self._checksum = (self._checksum + came.checksum) % _MODULUS
        return came.resources

    def _type_key(self, resource_type: str) -> int:
        known = self._types.get(resource_type)
        if known is None:
            known = self._types[resource_type] = len(self._types) + 1
        return known

    @property
    def _db(self) -> sqlite3.Connection:
        if self._database is None:
            raise RuntimeError("a ChartWriter is used inside its 'with' block")
        return self._database

    def _index(self, resource_type: str, seq: int, values: Values) -> None:
        shape = layout(resource_type)
        row: list[Any] = [None] * (len(shape.columns) + 1)
        row[0] = seq
        for name, found in values.items():
            slot = shape.slots[name] + 1
            first = found[0]
            if isinstance(first, Token):
                row[slot] = self._set("token", tuple(found))
            elif isinstance(first, Reference):
                row[slot] = self._set("reference", tuple(found))
            elif isinstance(first, Text):
                label = f"{resource_type}.{name}"
                self._side["text"].extend((label, text.folded, text.exact, seq) for text in found)
            elif isinstance(first, Quantity):
                row[slot] = first.value
                unit = Token(first.system, first.code, first.unit)
                row[slot + 1] = self._set("token", (unit,))
            elif shape.params[name].many:
                label = f"{resource_type}.{name}"
                self._side["span"].extend((label, *span, seq) for span in found)
            else:
                low, high, row[slot + 2], row[slot + 3] = first
                row[slot], row[slot + 1] = low, high - low
        rows = self._rows.get(resource_type)
        if rows is None:
            rows = self._rows[resource_type] = []
        rows.append(row)

    def _set(self, table: str, values: tuple[Any, ...]) -> int:
        known = self._sets[table]
        key = known.get(values)
        if key is None:
            key = known[values] = len(known) + 1
            if table == "token":
                self._side["token"].extend((key, *token) for token in values)
            else:
                self._side["reference"].extend(
                    (key, ref.type, ref.id, ref.url, *(ref.identifier or (None, None))) for ref in values
                )
        return key

    def _flush(self) -> None:
        if self._compressor is None and self._pending_bytes >= COMPRESS_FROM:
            self._train()
        rows: Iterable[tuple[int, int, str, bytes]] = self._pending
        if self._compressor is not None:
            compress = self._compressor.compress
            rows = [(seq, kind, name, compress(body)) for seq, kind, name, body in self._pending]
        self._db.executemany("INSERT INTO resource VALUES(?,?,?,?)", rows)
        for resource_type, found in self._rows.items():
            self._db.executemany(layout(resource_type).insert, found)
            found.clear()
        for table, width in (("token", 4), ("reference", 6), ("text", 4), ("span", 6)):
            marks = ",".join("?" * width)
            self._db.executemany(f"INSERT INTO {table} VALUES({marks})", self._side[table])
            self._side[table].clear()
        self._pending.clear()
        if self._compressor is not None:
            self._pending_bytes = 0

    def _train(self) -> None:
        """Train the dictionary on resources spread evenly over what has come so far."""
        step = max(1, len(self._pending) // _SAMPLES)
        trained = train_dictionary([row[3] for row in self._pending[::step]])
        self._meta["dictionary"] = trained
        self._use_dictionary(trained)

    def _use_dictionary(self, content: bytes) -> None:
        dictionary = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)
        dictionary.precompute_compress(level=_LEVEL)
        self._compressor = zstandard.ZstdCompressor(
            level=_LEVEL, dict_data=dictionary, write_dict_id=False, write_content_size=True
        )
        self._decompressor = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(content))

    def _remove(self, resource_type: str, seq: int, resource_id: str, body: bytes) -> bool:
        """Take the earlier version of a resource out; False (nothing done) where it is the same."""
        if self._pending:
            self._flush()
        (stored,) = self._db.execute("SELECT body FROM resource WHERE seq = ?", (seq,)).fetchone()
        if self._decompressor is not None and not stored.startswith(b"{"):
            stored = self._decompressor.decompress(stored)
        if stored == body:
            return False
        self._checksum = (self._checksum - digest_of(resource_type, resource_id, stored)) % _MODULUS
        self._db.execute("DELETE FROM resource WHERE seq = ?", (seq,))
        if resource_type in SEARCHED_TYPES:
            table = layout(resource_type).table
            for name in (table, "text", "span"):
                self._db.execute(f"DELETE FROM {name} WHERE seq = ?", (seq,))  # noqa: S608 - fixed names
        return True

    def _copy_existing(self) -> None:
        from .store import Chart

        with Chart(self.path) as chart, sqlite3.connect(self._temporary) as target:
            chart.backup(target)
        target.close()

    def _resume(self) -> None:
        """Take up what an existing chart holds: its types, sets, resources and facts."""
        database = self._db
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        ).fetchall():
            database.execute(f'DROP INDEX "{name}"')
        database.executescript(
            "CREATE INDEX text_seq ON text(seq, param); CREATE INDEX span_seq ON span(seq, param)"
        )
        self._meta = dict(database.execute("SELECT key, value FROM meta"))
        self._checksum = int(self._meta["checksum"], 16)
        self._types = {name: key for key, name in database.execute("SELECT key, name FROM resource_type")}
        for seq, kind, name in database.execute("SELECT seq, type, id FROM resource"):
            self._seqs[kind, name] = seq
            self._next_seq = max(self._next_seq, seq + 1)
        tokens: dict[int, list[Token]] = {}
        for key, system, code, text in database.execute("SELECT * FROM token ORDER BY rowid"):
            tokens.setdefault(key, []).append(Token(system, code, text))
        self._sets["token"] = {tuple(values): key for key, values in tokens.items()}
        references: dict[int, list[Reference]] = {}
        for key, kind_, name, url, system, value in database.execute(
            "SELECT * FROM reference ORDER BY rowid"
        ):
            logical = None if value is None else (system, value)
            references.setdefault(key, []).append(Reference(kind_, name, url, logical))
        self._sets["reference"] = {tuple(values): key for key, values in references.items()}
        # A synthetic chart that takes in other records is no longer one.
        self._meta["synthetic"] = min(self._given["synthetic"] or 0, self._meta.get("synthetic") or 0)
        self._meta["name"] = self._given["name"] or self._meta.get("name", "")
        dictionary = self._meta.get("dictionary")
        if dictionary:
            self._use_dictionary(dictionary)

    def _finish(self) -> None:
        self._flush()
        database = self._db
        database.execute("DELETE FROM resource_type")
        database.executemany(
            "INSERT INTO resource_type VALUES(?,?)", [(key, name) for name, key in self._types.items()]
        )
        database.execute("COMMIT")
        database.executescript("DROP INDEX IF EXISTS text_seq; DROP INDEX IF EXISTS span_seq")
        database.executescript(create_indexes())
        counts = dict(
            database.execute(
                "SELECT t.name, n FROM (SELECT type, count(*) n FROM resource GROUP BY type) "
                "JOIN resource_type t ON t.key = type"
            )
        )
        first, last = self._time_span()
        self._meta.update(
            {
                "format": FORMAT,
                "checksum": f"{self._checksum:064x}",
                "counts": orjson.dumps(dict(sorted(counts.items()))).decode(),
                "first": first,
                "last": last,
            }
        )
        database.execute("DELETE FROM meta")
        database.executemany("INSERT INTO meta VALUES(?,?)", list(self._meta.items()))
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        database.execute("ANALYZE")
        database.close()
        self._database = None
        with open(self._temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._temporary, self.path)

    def _time_span(self) -> tuple[int | None, int | None]:
        """Start of the earliest and of the latest dated clinical record, ms since the epoch."""
        lows: list[int] = []
        for resource_type, name in _CLINICAL_DATES.items():
            found = self._db.execute(
                f"SELECT min({name}_low), max({name}_low) FROM {layout(resource_type).table} "  # noqa: S608
                f"WHERE {name}_low > ? AND {name}_low < ?",
                (EARLIEST, LATEST),
            ).fetchone()
            lows.extend(value for value in found if value is not None)
        return (min(lows), max(lows)) if lows else (None, None)

    def _discard(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        self._temporary.unlink(missing_ok=True)


def _identity(resource: dict[str, Any]) -> tuple[str, str]:
    resource_type = resource.get("resourceType")
    if not isinstance(resource_type, str) or not _TYPE.fullmatch(resource_type):
        raise ResourceFault("resourceType is missing or not the name of a resource type")
    resource_id = resource.get("id")
    if not isinstance(resource_id, str) or not _ID.fullmatch(resource_id):
        raise ResourceFault(f"{resource_type}: id is missing or not a FHIR id")
    return resource_type, resource_id


__all__ = ["ChartWriter", "ResourceFault", "Stored", "digest_of", "train_dictionary"]
