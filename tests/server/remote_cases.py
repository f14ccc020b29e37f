"""What the tests of the remote backend share: bundles, a patient, and backends that do not wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.server.scripted import ScriptedServer
from wardround_server.backends.auth import RemoteAuth
from wardround_server.backends.exchange import RemoteLimits
from wardround_server.backends.remote import RemoteBackend

PATIENT = "S100"
BY_PATIENT = [("patient", PATIENT)]


def observation(number: int, patient: str | None = f"Patient/{PATIENT}") -> dict[str, Any]:
    subject = {} if patient is None else {"subject": {"reference": patient}}
    return {"resourceType": "Observation", "id": f"o{number}", "status": "final", **subject}


def searchset(resources: Sequence[dict[str, Any]], total: int | None = None, **links: str) -> dict[str, Any]:
    """A searchset Bundle of matches; `links` by relation (`self_` for self)."""
    bundle: dict[str, Any] = {"resourceType": "Bundle", "type": "searchset"}
    if total is not None:
        bundle["total"] = total
    if links:
        bundle["link"] = [{"relation": k.rstrip("_"), "url": url} for k, url in links.items()]
    if resources:
        bundle["entry"] = [{"resource": one, "search": {"mode": "match"}} for one in resources]
    return bundle


@dataclass
class Pauses:
    """Takes the place of sleeping: keeps how long it would have been."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def backend(
    server: ScriptedServer | str,
    *,
    auth: RemoteAuth | None = None,
    pauses: Pauses | None = None,
    limits: RemoteLimits | None = None,
    allow_writes: bool = False,
    page_size: int = 20,
) -> RemoteBackend:
    """A backend on a scripted server, whose dice always fall the same."""
    return RemoteBackend(
        server if isinstance(server, str) else server.base,
        auth=auth,
        limits=limits,
        allow_writes=allow_writes,
        page_size=page_size,
        pause=pauses or Pauses(),
        chance=lambda: 1.0,
    )
