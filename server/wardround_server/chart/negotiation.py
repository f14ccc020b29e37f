"""HTTP manners of the FHIR face: formats, Prefer, versions, errors."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import orjson
from fastapi import Request, Response

from .outcome import MEDIA_TYPE, SearchFault, outcome
from .shape import dump, parse_exact

CONTENT_TYPE = f"{MEDIA_TYPE}; charset=utf-8"
_TAKEN = frozenset(
    {"*/*", "application/*", "application/json", MEDIA_TYPE, "application/json+fhir", "text/json", "json"}
)


def check_accept(request: Request, params: list[tuple[str, str]]) -> None:
    """Refuse, with 406, a caller who takes no JSON; `_format` has the word over the Accept header."""
    accept = request.headers.get("accept")
    if not accept or any(name == "_format" for name, _ in params):
        return
    for choice in accept.lower().split(","):
        kind, *settings = (part.strip() for part in choice.split(";"))
        refused = any(part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in settings)
        if kind in _TAKEN and not refused:
            return
    raise SearchFault(f"this server answers {MEDIA_TYPE} only", status=406, code="not-supported")


def is_lenient(request: Request) -> bool:
    """Whether the caller asked for unknown parameters to be left out: `Prefer: handling=lenient`."""
    for header in request.headers.getlist("prefer"):
        for preference in header.replace(";", ",").split(","):
            if preference.replace(" ", "").replace('"', "").lower() == "handling=lenient":
                return True
    return False


def version_headers(body: bytes) -> dict[str, str]:
    """ETag and Last-Modified from the resource's own meta, where it has them."""
    meta = orjson.loads(body).get("meta")
    headers: dict[str, str] = {}
    if not isinstance(meta, dict):
        return headers
    version, updated = meta.get("versionId"), meta.get("lastUpdated")
    if isinstance(version, str) and version.isascii() and version.isalnum():
        headers["etag"] = f'W/"{version}"'
    if isinstance(updated, str):
        try:
            moment = datetime.fromisoformat(updated)
        except ValueError:
            return headers
        if moment.tzinfo is not None:
            headers["last-modified"] = format_datetime(moment.astimezone(UTC), usegmt=True)
    return headers


def answer(
    request: Request,
    body: bytes,
    status: int = 200,
    *,
    headers: dict[str, str] | None = None,
    pretty: bool = False,
) -> Response:
    """A FHIR response; for HEAD the same headers without the body."""
    if pretty:
        body = dump(parse_exact(body), pretty=True)
    sent = {"content-type": CONTENT_TYPE, **(headers or {})}
    if request.method == "HEAD":
        return Response(status_code=status, headers={**sent, "content-length": str(len(body))})
    return Response(body, status, sent)


def fault(
    request: Request, message: str, status: int, code: str, headers: dict[str, str] | None = None
) -> Response:
    """An OperationOutcome of severity error."""
    return answer(request, outcome(message, code=code), status, headers=headers)
