"""Storing a resource on a remote server once, even when the answer to it is lost."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from wardround_schemas.errors import ChartError

from .base import CreatedResource
from .connection import FhirConnection
from .exchange import Answer, UncertainWriteError
from .searchset import REFERENCE, RESOURCE_ID, RESOURCE_TYPE, error_text, read_json

IDEMPOTENCY_SYSTEM = "urn:wardround:idempotency-key"
"""System of the identifier by which a server recognises a create that reaches it twice."""


def knows_conditional_create(capabilities: dict[str, Any], resource_type: str) -> bool:
    """Whether a CapabilityStatement promises If-None-Exist for a type (rest.resource.conditionalCreate)."""
    for rest in capabilities.get("rest") or ():
        for resource in (rest.get("resource") or ()) if isinstance(rest, dict) else ():
            if isinstance(resource, dict) and resource.get("type") == resource_type:
                return resource.get("conditionalCreate") is True
    return False


def with_identifier(resource: dict[str, Any], key_hash: str) -> dict[str, Any]:
    """A copy of the resource that carries the key's hash as one more identifier."""
    ours = {"system": IDEMPOTENCY_SYSTEM, "value": key_hash}
    others = [one for one in resource.get("identifier") or () if one != ours]
    return {**resource, "identifier": [*others, ours]}


async def create_once(
    line: FhirConnection, resource: dict[str, Any], idempotency_key: str, *, conditional: bool
) -> CreatedResource:
    """POST a resource, with If-None-Exist where `conditional`; see `RemoteBackend.create`.

    Only the key's SHA-256 leaves this machine: the key may be a client's own text.
    """
    resource_type = resource.get("resourceType")
    if not isinstance(resource_type, str) or not RESOURCE_TYPE.match(resource_type):
        raise ChartError("create: the resource has no resourceType")
    what = f"create of {resource_type}"
    key_hash = hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()
    headers = {"Prefer": "return=representation"}
    if conditional:
        resource = with_identifier(resource, key_hash)
        headers["If-None-Exist"] = f"identifier={quote(IDEMPOTENCY_SYSTEM, safe=':')}%7C{key_hash}"
    else:
        headers["Idempotency-Key"] = f'"{key_hash}"'
    answer = await line.post_resource(
        f"{line.base_url}/{resource_type}", orjson.dumps(resource), what, headers, repeatable=conditional
    )
    return read_created(answer, resource_type, what)


def read_created(answer: Answer, resource_type: str, what: str) -> CreatedResource:
    """The server's answer to a create. Raises ChartError for a refusal, UncertainWriteError for a riddle."""
    if answer.status not in (200, 201):
        if 200 <= answer.status < 300:
            raise UncertainWriteError(
                f"{what}: the server answered {answer.status}, which says nothing of a stored resource",
                status=answer.status,
            )
        raise ChartError(
            f"{what}: the server answered {answer.status}: {error_text(answer)}", status=answer.status
        )
    location = answer.headers.get("location") or answer.headers.get("content-location")
    found = id_in_location(location, resource_type)
    if answer.body.strip():
        try:
            stored = read_json(answer, what)
        except ChartError as error:
            raise UncertainWriteError(
                f"{error}; what was stored is not known", status=answer.status
            ) from None
        if stored.get("resourceType") == resource_type and isinstance(stored.get("id"), str):
            found = found or stored["id"]
        elif stored.get("resourceType") != "OperationOutcome":
            raise UncertainWriteError(f"{what}: the server sent back another resource", status=answer.status)
    if found is None or not RESOURCE_ID.match(found):
        raise UncertainWriteError(
            f"{what}: the server answered {answer.status} without the new resource's id", status=answer.status
        )
    return CreatedResource(status=answer.status, id=found, location=location, body=answer.body)


def id_in_location(location: str | None, resource_type: str) -> str | None:
    """The id that a Location names, absolute or relative, versioned or not. It is never requested."""
    if not location:
        return None
    try:
        path = httpx.URL(location).path.strip("/")
    except httpx.InvalidURL:
        return None
    parts = path.split("/_history/")[0].split("/")
    match = REFERENCE.match("/".join(parts[-2:]))
    return match["id"] if match and match["type"] == resource_type else None
