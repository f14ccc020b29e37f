"""Structured logs on standard error: one JSON object a line, without secrets and without chart data.

An exception is logged by its type and the places that it passed through; its message, which may
quote a record, only where details are asked for.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO

request_id: ContextVar[str | None] = ContextVar("wardround_request_id", default=None)
"""The id of the HTTP request that is being served."""

FIELDS = "wardround_fields"
"""Name under `extra` of a dict of further fields for a line."""

_FOREIGN_LEVEL = logging.WARNING


class JsonFormatter(logging.Formatter):
    """One line of JSON for each record."""

    def __init__(self, *, details: bool) -> None:
        super().__init__()
        self._details = details

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; messages of other libraries are left out unless details are asked for."""
        ours = record.name.startswith("wardround")
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            # The template of a foreign message names no values; its arguments may.
            "message": record.getMessage() if ours or self._details else str(record.msg)[:200],
        }
        current = request_id.get()
        if current is not None:
            line["request_id"] = current
        line.update(getattr(record, FIELDS, {}))
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = self._error(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, default=str)

    def _error(self, error: BaseException) -> dict[str, object]:
        frames = traceback.extract_tb(error.__traceback__)
        shown: dict[str, object] = {
            "type": type(error).__name__,
            "at": [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames[-8:]],
        }
        if self._details:
            shown["message"] = str(error)[:2000]
        return shown


def set_up_logs(*, details: bool = False, stream: IO[str] | None = None) -> None:
    """Send the process's logs to standard error as JSON; ours from INFO, others' from WARNING."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(details=details))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_FOREIGN_LEVEL)
    logging.getLogger("wardround_server").setLevel(logging.INFO)
