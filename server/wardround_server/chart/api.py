"""The embedded FHIR server: a read-only R4 REST face over a chart, as a FastAPI router.

Results go out as the bytes they are stored in; nothing is turned into Python objects and encoded again.
"""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import orjson
from fastapi import APIRouter, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

from wardround_schemas.chart import SearchPage
from wardround_schemas.errors import ChartError

from . import negotiation as http
from .outcome import SearchFault
from .params import SEARCHED_TYPES, search_params
from .request import MAX_PARAMS, check_format, parse_request
from .shape import shape_entry

MAX_FORM = 64 << 10
"""Bytes of a POST `_search` body."""
_READ_PARAMETERS = ("_format", "_pretty", "_summary", "_elements")


class ReadableChart(Protocol):
    """What the router needs of a backend: `EmbeddedBackend` has it."""

    @property
    def base_url(self) -> str: ...
    @property
    def page_size(self) -> int: ...
    def search_now(
        self, resource_type: str, params: list[tuple[str, str]], *, lenient: bool = False
    ) -> SearchPage: ...
    def read_now(self, resource_type: str, resource_id: str) -> bytes | None: ...
    async def capabilities(self) -> dict[str, Any]: ...


def build_fhir_router(backend: ReadableChart) -> APIRouter:
    """A router for the FHIR base path: search, read, `metadata`; every write is answered 405.

    Every error is an OperationOutcome. Include it with the prefix that `backend.base_url` ends in. The
    routes of the searched types are there for the OpenAPI document; one handler answers them all.
    """
    # FastAPI's own `path` stops at a line break, and what it does not match gets an answer that is not FHIR.
    register_url_convertor("anything", _Anything())
    face = _Face(backend)
    router = APIRouter(tags=["fhir"])

    def document(path: str, method: str, summary: str, **extra: Any) -> None:
        router.add_api_route(
            path,
            face.respond,
            methods=[method],
            summary=summary,
            operation_id=f"fhir_{summary.lower().replace(' ', '_')}",
            response_class=Response,
            response_model=None,
            responses=_ANSWERS,
            openapi_extra=extra,
        )

    document("/metadata", "GET", "Read the CapabilityStatement")
    for name in SEARCHED_TYPES:
        document(f"/{name}", "GET", f"Search {name}", parameters=_documented(name))
        document(f"/{name}/_search", "POST", f"Search {name} by form", requestBody=_form(name))
    document("/{resource_type}/{resource_id}", "GET", "Read one resource", parameters=_READ_PATH)
    every = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
    router.add_api_route("/{path:anything}", face.respond, methods=every, include_in_schema=False)
    return router


def build_fhir_app(backend: ReadableChart) -> ASGIApp:
    """The same as an ASGI application without FastAPI around it, for who has the path already.

    It answers paths below the path of `backend.base_url`; a search costs it about a third less time.
    """
    face = _Face(backend)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await face.respond(Request(scope, receive))
        await response(scope, receive, send)

    return app


class _Anything(StringConvertor):
    """The rest of a path, whatever it is."""

    regex = "(?s:.*)"


class _Face:
    """The FHIR face of one chart."""

    def __init__(self, backend: ReadableChart) -> None:
        self._backend = backend

    async def respond(self, request: Request) -> Response:
        """Answer one request; what is refused is an OperationOutcome."""
        try:
            return await self._dispatch(request)
        except SearchFault as error:
            return http.fault(request, str(error), error.status or 400, error.code)
        except ChartError as error:
            return http.fault(request, str(error), error.status or 500, "exception")

    async def _dispatch(self, request: Request) -> Response:
        path: str = request.scope["path"]
        below = path.removeprefix(urlsplit(self._backend.base_url).path).strip("/")
        segments = below.split("/") if below else []
        match request.method, segments:
            case (("GET" | "HEAD"), ["metadata"]):
                return await self._metadata(request)
            case (("GET" | "HEAD"), [resource_type] | [resource_type, "_search"]):
                return self._search(request, resource_type, _parameters(request.scope["query_string"]))
            case (("GET" | "HEAD"), [resource_type, resource_id]):
                return self._read(request, resource_type, resource_id)
            case "POST", [resource_type, "_search"]:
                return await self._search_form(request, resource_type)
            case (("GET" | "HEAD"), _):
                raise SearchFault(
                    "there is nothing here: this server answers Type, Type/id, Type/_search and metadata",
                    status=404,
                    code="not-found",
                )
        message = f"{request.method} is not allowed: this server is read-only"
        return http.fault(request, message, 405, "not-supported", {"allow": "GET, HEAD"})

    def _search(self, request: Request, resource_type: str, params: list[tuple[str, str]]) -> Response:
        http.check_accept(request, params)
        page = self._backend.search_now(resource_type, params, lenient=http.is_lenient(request))
        return http.answer(request, page.body, pretty=_is_pretty(params))

    async def _search_form(self, request: Request, resource_type: str) -> Response:
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        body = await _body(request)
        if kind != "application/x-www-form-urlencoded" and (body or kind):
            raise SearchFault(
                "_search takes application/x-www-form-urlencoded", status=415, code="not-supported"
            )
        params = _parameters(request.scope["query_string"]) + _parameters(body)
        return self._search(request, resource_type, params)

    def _read(self, request: Request, resource_type: str, resource_id: str) -> Response:
        params = _parameters(request.scope["query_string"])
        http.check_accept(request, params)
        _check_read(params)
        body = self._backend.read_now(resource_type, resource_id)
        if body is None:
            raise SearchFault(f"{resource_type}/{resource_id} is not known", status=404, code="not-found")
        headers = http.version_headers(body)
        if headers.get("etag") and request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        shaping = [(name, value) for name, value in params if name in ("_summary", "_elements")]
        if shaping and resource_type in SEARCHED_TYPES:
            wanted = parse_request(resource_type, shaping)
            body = shape_entry(wanted, body) if wanted.shaped else body
        return http.answer(request, body, headers=headers, pretty=_is_pretty(params))

    async def _metadata(self, request: Request) -> Response:
        params = _parameters(request.scope["query_string"])
        http.check_accept(request, params)
        statement = orjson.dumps(await self._backend.capabilities())
        return http.answer(request, statement, pretty=_is_pretty(params))


def _parameters(query: bytes) -> list[tuple[str, str]]:
    """Decoded parameters of a query string or form."""
    if not query:
        return []
    try:
        return parse_qsl(
            query.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMS
        )
    except UnicodeDecodeError as error:
        raise SearchFault("the parameters are not valid UTF-8") from error
    except ValueError as error:
        raise SearchFault(f"more than {MAX_PARAMS} parameters", code="too-costly") from error


async def _body(request: Request) -> bytes:
    """The request's body; refused as soon as it is larger than a form may be."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            raise SearchFault(f"the form is larger than {MAX_FORM} bytes", status=413, code="too-long")
    return bytes(body)


def _check_read(params: list[tuple[str, str]]) -> None:
    for name, value in params:
        if name not in _READ_PARAMETERS:
            raise SearchFault(f"unknown parameter {name[:60]!r} for a read", code="not-supported")
        if name == "_format":
            check_format(value)


def _is_pretty(params: list[tuple[str, str]]) -> bool:
    return ("_pretty", "true") in params


_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A FHIR resource",
        "content": {"application/fhir+json": {"schema": {"type": "object"}}},
    },
    "4XX": {
        "description": "An OperationOutcome that says what is wrong",
        "content": {"application/fhir+json": {"schema": {"type": "object"}}},
    },
}
_READ_PATH = [
    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name in ("resource_type", "resource_id")
]


def _documented(resource_type: str) -> list[dict[str, Any]]:
    """The search parameters for the OpenAPI document."""
    results = ("_id", "_count", "_sort", "_summary", "_elements", "_include", "_total", "_format", "_pretty")
    kinds = {name: param.kind for name, param in search_params(resource_type).items()}
    return [
        {
            "name": name,
            "in": "query",
            "schema": {"type": "string"},
            "description": kinds.get(name, "result parameter"),
        }
        for name in (*kinds, *results)
    ]


def _form(resource_type: str) -> dict[str, Any]:
    properties = {entry["name"]: entry["schema"] for entry in _documented(resource_type)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}
