"""Asking the person over MCP: by a request in mid-call, or by an answer that asks for input.

Clients up to 2025-11-25 are sent `elicitation/create` while the call waits. From 2026-07-28 on the
call is answered with `input_required`; the client asks the person and calls again, with the reply
and the state that we sealed.
"""

from __future__ import annotations

import secrets
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from . import plainjson
from .asking import Answer, Ask, AskLater, Question

_KEY = "approve-order"
_WAIT_SECONDS = 600.0
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Send this order",
            "description": "Only a yes sends it. Anything else leaves it unsent.",
        }
    },
    "required": ["approve"],
}

Context = ServerRequestContext[Any, Any]


class Asker:
    """Puts the questions of one MCP server, and sees that one consent sends one order."""

    def __init__(self) -> None:
        self._spent: set[str] = set()

    def ask_for(self, ctx: Context, params: types.CallToolRequestParams) -> Ask:
        """The way of asking that fits the client of this call."""
        if not _can_ask(ctx):
            return _unsupported
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return lambda question: self._from_reply(params, question)
        return lambda question: _in_mid_call(ctx, question)

    def reply_key(self, params: types.CallToolRequestParams) -> str | None:
        """What makes a repeated reply the same call: the nonce that went out with the question."""
        state = _state(params)
        return f"ask:{state['nonce']}" if state is not None and params.input_responses else None

    def question_result(self, later: AskLater) -> types.InputRequiredResult:
        """The answer that asks for input, with a fresh nonce in its state."""
        request = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=later.question.text, requested_schema=_SCHEMA)
        )
        state = {"digest": later.question.digest, "nonce": secrets.token_urlsafe(16)}
        return types.InputRequiredResult(
            input_requests={_KEY: request}, request_state=plainjson.dumps(state).decode()
        )

    async def _from_reply(self, params: types.CallToolRequestParams, question: Question) -> Answer:
        reply = (params.input_responses or {}).get(_KEY)
        state = _state(params)
        if (
            state is None
            or state["digest"] != question.digest
            or state["nonce"] in self._spent
            or not isinstance(reply, types.ElicitResult)
        ):
            # Never asked, asked about another order, or a consent that was used: ask (again).
            raise AskLater(question)
        self._spent.add(state["nonce"])
        return _read(reply)


async def _unsupported(question: Question) -> Answer:
    return "unsupported"


async def _in_mid_call(ctx: Context, question: Question) -> Answer:
    try:
        with anyio.move_on_after(_WAIT_SECONDS):
            return _read(
                await ctx.session.elicit_form(
                    message=question.text, requested_schema=_SCHEMA, related_request_id=ctx.request_id
                )
            )
    except (MCPError, ValidationError):
        # No channel, a client that refuses, or a reply that is none: in each case nobody said yes.
        return "none"
    return "none"


def _read(reply: types.ElicitResult) -> Answer:
    if reply.action == "cancel":
        return "none"
    if reply.action == "accept" and (reply.content or {}).get("approve") is True:
        return "yes"
    return "no"


def _can_ask(ctx: Context) -> bool:
    """Whether the client declared that it can put a form to its user.

    A bare `elicitation: {}` is the older spelling of form support.
    """
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _state(params: types.CallToolRequestParams) -> dict[str, str] | None:
    """The state that we sent with the question; the boundary has checked its seal."""
    if params.request_state is None:
        return None
    try:
        state = plainjson.loads(params.request_state)
    except ValueError:
        return None
    if not isinstance(state, dict) or not all(isinstance(state.get(n), str) for n in ("digest", "nonce")):
        return None
    return state
