"""The viewer's FastAPI app: its API under /api, the built front end beside it, nothing else.

It reads run folders and writes nothing. It answers only to names of this machine, so that a page of
another site can't reach it by pointing a name of its own here.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import ResponseValidationError
from fastapi.responses import JSONResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wardround_schemas.errors import UserError

from ..report.texts import RESEARCH_USE
from .compared import compare_entries
from .details import attempt_detail, result_part
from .index import MALFORMED, Entry, RunIndex
from .models import (
    AttemptDetail,
    Compared,
    Problem,
    ResultPart,
    RunDetail,
    RunRow,
    Score,
    SearchResult,
)
from .search import search

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

# The framework's spans and records carry paths and queries, and a search may be for a patient's name.
NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


class SecurityHeaders:
    """Adds the page's policy to every answer; chart data is never to be cached or framed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def load_static() -> dict[str, tuple[bytes, str]]:
    """The built front end by name, read once: what is not in it is not served."""
    folder = files(__package__).joinpath("static")
    found: dict[str, tuple[bytes, str]] = {}
    for item in folder.iterdir():
        suffix = "." + item.name.rpartition(".")[2]
        if suffix in TYPES:
            found[item.name] = item.read_bytes(), TYPES[suffix]
    return found


def build_viewer_app(folder: Path) -> FastAPI:
    """The app over a folder of runs, or over one run folder."""
    from importlib.metadata import version

    app = FastAPI(
        title="wardround viewer",
        version=version("wardround"),
        description=f"Runs of agents on clinical tasks, read-only. {RESEARCH_USE}",
        docs_url=None,
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    app.add_middleware(GZipMiddleware, minimum_size=2048, compresslevel=3)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(LOCAL_NAMES), www_redirect=False)
    app.add_middleware(SecurityHeaders)
    index = RunIndex(folder)
    app.state.index = index
    _add_runs(app, index)
    _add_lookups(app, index)
    _add_static(app)

    @app.exception_handler(UserError)
    async def user_error(request: Request, error: UserError) -> JSONResponse:
        return JSONResponse(Problem(detail=str(error)).model_dump(), status_code=404)

    async def malformed(request: Request, error: Exception) -> JSONResponse:
        text = f"the run's files are not as expected: {type(error).__name__}: {error}"
        return JSONResponse(Problem(detail=" ".join(text.split())[:500]).model_dump(), status_code=422)

    for kind in (*MALFORMED, ResponseValidationError):
        app.add_exception_handler(kind, malformed)
    return app


_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}


def _add_runs(app: FastAPI, index: RunIndex) -> None:
    @app.get("/api/runs", tags=["runs"])
    def list_runs() -> list[RunRow]:
        """Every run of the folder."""
        return index.runs()

    @app.get("/api/runs/{run}", tags=["runs"], responses=_NOT_FOUND)
    def show_run(run: str) -> RunDetail:
        """One run with its manifest, scores by group and attempts."""
        return _run_detail(index, index.entry(run))

    @app.get("/api/runs/{run}/attempts/{task}/{repeat}", tags=["runs"], responses=_NOT_FOUND)
    def show_attempt(run: str, task: str, repeat: int) -> AttemptDetail:
        """One attempt: rounds, calls, captured writes beside what was expected; results folded."""
        return attempt_detail(index, index.entry(run), (task, repeat))

    @app.get(
        "/api/runs/{run}/attempts/{task}/{repeat}/rounds/{round}/calls/{call}/result",
        tags=["runs"],
        responses=_NOT_FOUND,
    )
    def show_result(
        run: str,
        task: str,
        repeat: int,
        round: Annotated[int, PathParameter(ge=0)],  # noqa: A002 - the name in the path
        call: Annotated[int, PathParameter(ge=0)],
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> ResultPart:
        """A part of one call's result; `next` is the offset of the part after it."""
        line, _, _ = index.attempt(index.entry(run), (task, repeat))
        return result_part(line, round, call, offset)


def _run_detail(index: RunIndex, entry: Entry) -> RunDetail:
    run = index.stored(entry)
    summary = run.summary
    return RunDetail(
        run=entry.row,
        manifest=dict(run.manifest),
        manifest_sha256=run.manifest_sha256,
        scores={
            rules: {group: Score(**score) for group, score in groups.items()}
            for rules, groups in summary["scores"].items()
        },
        pass_hat_k=summary["pass_hat_k"],
        baselines=summary["baselines"],
        severity=summary.get("severity") or {},
        torn=run.torn,
        attempts=index.attempts(entry),
    )


def _add_lookups(app: FastAPI, index: RunIndex) -> None:
    @app.get("/api/compare", tags=["lookups"], responses=_NOT_FOUND)
    def compare(
        a: str,
        b: str,
        margin: Annotated[float, Query(gt=0, lt=1)] = 0.05,
        allow_different: bool = False,
    ) -> Compared:
        """Two runs side by side, b judged against a."""
        return compare_entries(
            index, index.entry(a), index.entry(b), margin=margin, allow_different=allow_different
        )

    @app.get("/api/search", tags=["lookups"])
    def find(q: Annotated[str, Query(max_length=200)], run: str | None = None) -> SearchResult:
        """Attempts that hold a text, in all runs or in one."""
        return search(index, q, run)

    @app.get("/healthz", tags=["lookups"])
    def healthz() -> dict[str, str]:
        """Whether the viewer answers."""
        return {"status": "ok"}


def _add_static(app: FastAPI) -> None:
    static = load_static()

    def serve(name: str) -> Response:
        if name not in static:
            raise HTTPException(404, "there is no such page")
        body, media_type = static[name]
        return Response(body, media_type=media_type)

    @app.get("/", include_in_schema=False)
    def front() -> Response:
        return serve("index.html")

    @app.get("/static/{name}", include_in_schema=False)
    def asset(name: str) -> Response:
        return serve(name)
