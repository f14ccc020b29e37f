"""OperationOutcomes, and the error that becomes one."""

from __future__ import annotations

from typing import Any

import orjson

from wardround_schemas.errors import ChartError

MEDIA_TYPE = "application/fhir+json"


class SearchFault(ChartError):
    """A request that this server refuses: HTTP status, FHIR issue code and a line saying why.

    A `ChartError`, so that whoever reads a chart meets one kind of failure, embedded or remote.
    """

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid") -> None:
        super().__init__(message, status=status)
        self.code = code

    def outcome(self) -> bytes:
        """The OperationOutcome that says so."""
        return outcome(str(self), code=self.code)


def issue(message: str, *, severity: str = "error", code: str = "invalid") -> dict[str, Any]:
    """An OperationOutcome resource with one issue."""
    return {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": severity, "code": code, "diagnostics": message}],
    }


def outcome(message: str, *, severity: str = "error", code: str = "invalid") -> bytes:
    """The same as JSON bytes. What a caller sent is quoted as text: broken characters are replaced."""
    safe = message.encode("utf-8", "replace").decode("utf-8")
    return orjson.dumps(issue(safe, severity=severity, code=code))
