"""Fuzzing of the FHIR face: no 500, no traceback, every refusal an OperationOutcome, none of it slow."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from tests.fhir.serving import fhir_app
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.params import SEARCHED_TYPES, search_params

STATUSES = (200, 304, 400, 404, 405, 406, 413, 415)


def bounded(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )


@pytest.fixture(scope="module")
def app(suite_backend: EmbeddedBackend) -> FastAPI:
    return fhir_app(suite_backend)


def is_answered(status: int, text: str) -> None:
    """A resource where the status is 200, an OperationOutcome else; never an accident of ours."""
    assert status in STATUSES, (status, text)
    assert "Traceback" not in text
    if status not in (200, 304):
        assert text.startswith('{"resourceType":"OperationOutcome"')


CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]


def test_any_request_is_answered_as_the_openapi_document_says(app: FastAPI) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == 2 + 2 * len(SEARCHED_TYPES)
    for operation in operations:

        @bounded(10)
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            response = case.call()
            is_answered(response.status_code, response.text)
            case.validate_response(response, checks=CHECKS)

        ask()


names = sorted({name for kind in SEARCHED_TYPES for name in search_params(kind)})
results = [
    "_id",
    "_sort",
    "_count",
    "_include",
    "_elements",
    "_summary",
    "_total",
    "_cursor",
    "_format",
    "_has",
]
chains = ["patient.identifier", "subject:Patient.name:exact", "patient.foo", "code.name", "encounter.status"]
modifiers = [
    "",
    ":missing",
    ":exact",
    ":contains",
    ":not",
    ":text",
    ":identifier",
    ":Patient",
    ":above",
    ":",
    ".",
]
values = st.one_of(
    st.text(max_size=30),
    st.text("|,\\$:/. -+TZ0123456789gelt", max_size=30),
    st.sampled_from(["1", "true", "2023-11-12", "Patient/cx-p1", "-date", "ge2023", "*", "9" * 30, "cx-o1"]),
)
pairs = st.lists(
    st.tuples(st.sampled_from([*names, *results, *chains]), st.sampled_from(modifiers), values), max_size=4
)


@bounded(500)
@given(
    resource_type=st.sampled_from(SEARCHED_TYPES),
    params=pairs,
    safe=st.sampled_from(["", "|,", "+", "&=;"]),
    lenient=st.booleans(),
)
def test_any_search_is_answered(
    app: FastAPI,
    resource_type: str,
    params: list[tuple[str, str, str]],
    safe: str,
    *,
    lenient: bool,
) -> None:
    query = "&".join(
        f"{quote(name + modifier, safe=':.')}={quote(value, safe=safe, errors='ignore')}"
        for name, modifier, value in params
    )
    headers = [(b"prefer", b"handling=lenient")] if lenient else []
    status, body = asyncio.run(call(app, f"/fhir/{resource_type}", query.encode(), headers))
    is_answered(status, body.decode())


@bounded(250)
@given(raw=st.binary(max_size=60))
def test_any_bytes_as_query_are_answered(app: FastAPI, raw: bytes) -> None:
    status, body = asyncio.run(call(app, "/fhir/Patient", raw, []))
    is_answered(status, body.decode())


@bounded(250)
@given(path=st.text(max_size=20), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]))
def test_any_path_is_answered(app: FastAPI, path: str, method: str) -> None:
    status, body = asyncio.run(call(app, f"/fhir/{path}", b"", [], method))
    is_answered(status, body.decode())


async def call(
    app: FastAPI, path: str, query: bytes, headers: list[tuple[bytes, bytes]], method: str = "GET"
) -> tuple[int, bytes]:
    """Status and body of one request, with query and path exactly as given."""
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: object) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "root_path": "",
        "scheme": "http",
        "query_string": query,
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8421),
    }
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)
