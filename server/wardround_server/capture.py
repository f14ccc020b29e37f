"""One capture: what a create call asked for, as it stands in the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


def now_text() -> str:
    """The present instant in UTC, to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def delivery_key(capture: Capture) -> str:
    """What makes a second sending of a capture no second order: a digest of its place in the journal."""
    name = f"{capture.session}-{capture.seq}-{capture.at}"
    return hashlib.sha256(name.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Capture:
    """One create call of a session.

    `resource` is what was sent, `canonical` its valid R4 form (the only one that is ever forwarded;
    None where there is none). `failures` are [{path, message}]. `previous` is the SHA-256 of the
    journal's line before this one, None on the first. `idempotency_key` is a digest of the key that
    makes a repeated call the same capture, None where the call carried none.
    """

    at: str
    session: str
    seq: int
    function: str
    resource_type: str
    resource: Any
    canonical: Json | None
    accepted: bool
    failures: tuple[Json, ...] = ()
    previous: str | None = None
    idempotency_key: str | None = None

    def to_json(self) -> Json:
        """The journal's line as an object; keys in the order of the record format."""
        line: Json = {
            "at": self.at,
            "session": self.session,
            "seq": self.seq,
            "function": self.function,
            "resource_type": self.resource_type,
            "resource": self.resource,
            "canonical": self.canonical,
            "accepted": self.accepted,
            "failures": list(self.failures),
        }
        if self.idempotency_key is not None:
            line["idempotency_key"] = self.idempotency_key
        line["previous"] = self.previous
        return line

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Capture:
        """Read one line back. Raises KeyError where a field is missing."""
        return cls(
            at=line["at"],
            session=line["session"],
            seq=line["seq"],
            function=line["function"],
            resource_type=line["resource_type"],
            resource=line["resource"],
            canonical=line["canonical"],
            accepted=line["accepted"],
            failures=tuple(line["failures"]),
            previous=line["previous"],
            idempotency_key=line.get("idempotency_key"),
        )

    def chained(self, previous: str | None) -> Capture:
        """The same capture, with its place in the chain."""
        return replace(self, previous=previous)
