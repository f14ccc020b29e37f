"""Control: making, looking at and ending sessions, for whoever holds the control token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from wardround_schemas.errors import UserError

from . import plainjson
from .http_guard import bearer_of, is_token
from .service import Service
from .sessions import CeilingError, TooManySessionsError
from .settings import Voice, WriteMode


class SessionRequest(BaseModel):
    """What a new session is to be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"budget": 8, "finish": True}]})

    budget: int | None = Field(default=None, ge=1, le=1_000_000, description="calls allowed; none: no limit")
    writes: WriteMode | None = Field(default=None, description="write mode, at most the server's own")
    finish: bool = Field(default=False, description="whether the session lists the tool `finish`")
    voice: Voice | None = Field(default=None, description="who reads the answers to a create")


class SessionMade(BaseModel):
    """A session that was made: give `mcp_url` to the agent, and nothing else."""

    id: str
    mcp_url: str
    budget: int | None
    writes: WriteMode
    finish: bool
    voice: Voice


class TokenGuard:
    """A dependency that lets a request pass with the control token, where there is one."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    async def __call__(self, request: Request) -> None:
        """Raises 401 for a request without the token."""
        if self._token is not None and not is_token(bearer_of(request.headers), self._token):
            raise HTTPException(401, "the control token is needed", headers={"www-authenticate": "Bearer"})


def build_control_router(service: Service, guard: TokenGuard) -> APIRouter:
    """`/sessions`, behind the guard."""
    router = APIRouter(prefix="/sessions", tags=["control"], dependencies=[Depends(guard)])

    @router.post("", status_code=201, response_model=SessionMade, summary="Make a session")
    async def make(body: SessionRequest, request: Request) -> SessionMade:
        voice: Voice = body.voice or ("evaluation" if body.finish else "assistant")
        try:
            session = service.sessions.create(
                budget=body.budget, writes=body.writes, finish=body.finish, voice=voice
            )
        except CeilingError as error:
            raise HTTPException(403, str(error)) from error
        except TooManySessionsError as error:
            raise HTTPException(503, str(error)) from error
        except UserError as error:
            raise HTTPException(422, str(error)) from error
        base = str(request.base_url).rstrip("/")
        return SessionMade(
            id=session.id,
            mcp_url=f"{base}/mcp/{session.id}",
            budget=session.budget,
            writes=session.writes,
            finish=session.finish,
            voice=session.voice,
        )

    @router.get("/{session_id}", summary="A session with its calls, captures and answer")
    async def show(session_id: str) -> Response:
        session = service.sessions.peek(session_id)
        if session is None:
            raise HTTPException(404, "there is no such session")
        body: dict[str, Any] = session.to_json()
        return Response(plainjson.dumps(body), media_type="application/json")

    @router.delete("/{session_id}", status_code=204, summary="End a session; its captures stay")
    async def end(session_id: str) -> None:
        if not service.sessions.close(session_id):
            raise HTTPException(404, "there is no such session")

    return router
