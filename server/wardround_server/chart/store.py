"""Reading a chart file: many readers at once, none of which can change it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import orjson
import zstandard

from wardround_schemas.errors import ChartError, UserError

from .schema import APPLICATION_ID, FORMAT

Row = tuple[Any, ...]


class Chart:
    """An open chart file, read only.

    Charts are never changed in place (a new one takes the name of the old), so the file is opened as
    immutable: no locks, and a reader goes on seeing the chart that it opened. One connection per thread.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        if not self.path.is_file():
            raise UserError(
                f"no chart at {self.path}", mend="build one with 'wardround-mcp chart build -o FILE'"
            )
        self.meta: dict[str, Any] = self._read_meta()
        self.types: dict[str, int] = {
            name: key for key, name in self.execute("SELECT key, name FROM resource_type").fetchall()
        }
        dictionary = self.meta.get("dictionary")
        self._dictionary = zstandard.ZstdCompressionDict(dictionary) if dictionary else None

    def _read_meta(self) -> dict[str, Any]:
        mend = "give a file made by 'wardround-mcp chart build' or 'chart load'"
        try:
            (application,) = self.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise UserError(f"{self.path} is not a chart", mend=mend)
            meta = dict(self.execute("SELECT key, value FROM meta").fetchall())
        except sqlite3.DatabaseError as error:
            raise UserError(f"{self.path} is not a chart ({error})", mend=mend) from error
        if meta.get("format") != FORMAT:
            raise UserError(
                f"{self.path} is a chart of format {meta.get('format')}; this program reads {FORMAT}",
                mend="build or load it again",
            )
        return meta

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise ChartError("the chart is closed")
        uri = f"file:{quote(str(self.path.resolve()))}?mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise ChartError(f"can't open {self.path}: {error}") from error
        connection.execute("PRAGMA query_only=1")
        connection.execute("PRAGMA mmap_size=1073741824")
        with self._lock:
            self._connections.append(connection)
        return connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement on this thread's connection. Values are bound, never text of the statement."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._closed:
            connection = self._local.connection = self._connect()
        return connection.execute(statement, values)

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a statement; ChartError where the file can't be read."""
        try:
            return self.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise ChartError(f"can't read {self.path}: {error}") from error

    def body(self, stored: bytes) -> bytes:
        """The JSON of a resource from its stored form."""
        if stored[:1] == b"{":
            return stored
        decompressor: zstandard.ZstdDecompressor | None = getattr(self._local, "decompressor", None)
        if decompressor is None:
            if self._dictionary is None:
                raise ChartError(f"{self.path} holds compressed records but no dictionary")
            decompressor = self._local.decompressor = zstandard.ZstdDecompressor(dict_data=self._dictionary)
        try:
            return decompressor.decompress(stored)
        except zstandard.ZstdError as error:
            raise ChartError(f"a record of {self.path} can't be decompressed: {error}") from error

    def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """The bytes of one resource; None where there is none."""
        key = self.types.get(resource_type)
        if key is None:
            return None
        rows = self.fetch("SELECT body FROM resource WHERE type = ? AND id = ?", (key, resource_id))
        return self.body(rows[0][0]) if rows else None

    @property
    def counts(self) -> dict[str, int]:
        """Number of resources by type."""
        counts: dict[str, int] = orjson.loads(self.meta["counts"])
        return counts

    @property
    def checksum(self) -> str:
        """The content checksum (see ChartWriter): 64 hexadecimal digits."""
        return str(self.meta["checksum"])

    def backup(self, target: sqlite3.Connection) -> None:
        """Copy the whole chart into another database."""
        self.execute("SELECT 1")
        self._local.connection.backup(target)

    def close(self) -> None:
        """Close every connection; a later read raises ChartError."""
        self._closed = True
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
