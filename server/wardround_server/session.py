"""One session: the single door to the chart for MCP, HTTP and the text protocol.

It counts rounds, holds the write mode, keeps what was called and captured, and never raises for
what a model sent: whatever comes in, a `CallResult` goes out.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from wardround_schemas.errors import ChartError
from wardround_schemas.function import Function, decode, explain, finish_function

from . import plainjson, voice
from .asking import Ask, AskLater
from .backends.base import Backend
from .call import CallRecord, CallResult
from .capture import Capture, now_text
from .journal import Journal
from .reading import Reader, ResultOptions
from .settings import Names, Voice, WriteMode
from .writing import Order, Writer

if TYPE_CHECKING:
    from .overlay import OverlayReader

Status = Literal["open", "completed", "budget_exhausted"]
MAX_CALL_RECORDS = 10_000
MAX_KEPT_ARGUMENTS = 64 * 1024
"""Most bytes of a call's arguments that are remembered; a capture holds its resource whatever its size."""


class Session:
    """See the module. Made by `SessionStore.create`; safe for concurrent calls on one event loop."""

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the field's name in the contract
        backend: Backend,
        journal: Journal,
        functions: Iterable[Function],
        options: ResultOptions | None = None,
        budget: int | None = None,
        writes: WriteMode = "capture",
        finish: bool = False,
        voice: Voice = "assistant",
        names: Names = "underscore",
        page_size: int = 20,
        restored: Iterable[Capture] = (),
        on_call: Callable[[CallRecord], None] | None = None,
    ) -> None:
        self.id = id
        self.backend = backend
        self.budget = budget
        self.writes: WriteMode = writes
        self.finish = finish
        self.voice: Voice = voice
        self.names: Names = names
        self.status: Status = "open"
        self.rounds_used = 0
        self.answer: str | None = None
        self.chart_error: str | None = None
        self.journal_error: str | None = None
        self.created_at = now_text()
        self.calls: deque[CallRecord] = deque(maxlen=MAX_CALL_RECORDS)
        self._call_seq = 0
        self._on_call = on_call
        self._functions = tuple(functions)
        self._writer = Writer(self.id, backend, journal, writes, voice, self._changed, restored)
        self._overlay = self._make_overlay(page_size)
        self._reader = Reader(backend, options or ResultOptions(), self._overlay)
        self._watchers: list[Callable[[str], None]] = []
        self._by_name = {name: f for f in self._functions for name in (f.name, f.tool_name)}

    # --- what it offers and holds -------------------------------------------------------------

    @property
    def captures(self) -> list[Capture]:
        """The session's captures, refused ones included, as they stand in the journal."""
        return self._writer.captures

    def functions(self) -> tuple[Function, ...]:
        """The functions that this session lists, with its write mode in their descriptions."""
        listed = [self._described(f) for f in self._functions if f.kind == "search" or self.writes != "off"]
        return (*listed, finish_function()) if self.finish else tuple(listed)

    def tool_name(self, function: Function) -> str:
        """The name under which a function is listed: `lab_search`, or `lab.search` where dots are wanted."""
        return function.listed_name(self.names)

    def watch(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Call `watcher("calls" | "captures")` at each change; returns what ends that."""
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def to_json(self) -> dict[str, Any]:
        """The session as `GET /sessions/{id}` gives it."""
        return {
            "id": self.id,
            "status": self.status,
            "rounds_used": self.rounds_used,
            "budget": self.budget,
            "calls": [asdict(record) for record in self.calls],
            "captures": [capture.to_json() for capture in self.captures],
            "answer": self.answer,
            "writes": self.writes,
            "finish": self.finish,
            "voice": self.voice,
            "chart_error": self.chart_error,
            "journal_error": self.journal_error,
        }

    # --- the calls ----------------------------------------------------------------------------

    async def call(
        self, name: str, arguments: object, *, key: str | None = None, ask: Ask | None = None
    ) -> CallResult:
        """Carry out one tool call.

        `arguments` is what came over the wire: an object, JSON text, None, or anything else that a
        model sends. `key` makes a repeated create the same capture. `ask` puts the question to the
        person in `confirm` mode; only what it raises (AskLater) passes through.
        """
        function = self._by_name.get(name)
        if (
            function is not None
            and function.kind == "create"
            and key is not None
            and self.status != "completed"
        ):
            order = Order.from_call(function, arguments, self.backend.base_url)
            done = await self._writer.repeated(key, order, lambda: not self._is_over())
            if done is not None:
                return done
        called = function.name if function is not None else name
        return await self._round(
            called, arguments, lambda: self._dispatch(function, name, arguments, key, ask)
        )

    async def http_get(self, url: str) -> CallResult:
        """The text protocol's GET: a search, a next link, one resource or `metadata` of the chart."""
        return await self._round(f"GET {url[:500]}", None, lambda: self._reader.get(url))

    async def http_post(self, url: str, body: str) -> CallResult:
        """The text protocol's POST: accepted when the body is JSON; faults are recorded beside it."""
        return await self._round(f"POST {url[:500]}", body, lambda: self._post(url, body))

    async def settle(self) -> None:
        """Wait until every write that was begun is at its end."""
        await self._writer.settle()

    # --- inside -------------------------------------------------------------------------------

    async def _round(
        self, called: str, arguments: object, act: Callable[[], Awaitable[CallResult]]
    ) -> CallResult:
        """Count, carry out and record one call; refuse it past the budget or after the end."""
        refusal = self._refusal()
        self._call_seq += 1
        seq, at, started = self._call_seq, now_text(), time.perf_counter()
        if refusal is not None:
            result = CallResult(ok=False, text=refusal)
        else:
            self.rounds_used += 1
            try:
                result = await act()
            except AskLater:
                self.rounds_used -= 1
                raise
            except asyncio.CancelledError:
                self._note(
                    CallRecord(seq, at, called, _kept(arguments), False, 0, time.perf_counter() - started)
                )
                raise
            except ChartError as error:
                self.chart_error = self.chart_error or str(error)
                result = CallResult(ok=False, text=voice.chart_error_text(error))
        if not result.text.isascii():
            # A model can send half a character; no transport can send it back.
            result = replace(result, text=result.text.encode("utf-8", "replace").decode())
        size = len(result.text.encode())
        seconds = time.perf_counter() - started
        self._note(CallRecord(seq, at, called, _kept(arguments), result.ok, size, seconds))
        return result

    def _note(self, record: CallRecord) -> None:
        self.calls.append(record)
        if self._on_call is not None:
            self._on_call(record)
        self._changed("calls")

    def _refusal(self) -> str | None:
        if self.status == "completed":
            return voice.FINISHED_TEXT
        if self.budget is not None and self._is_over():
            self.status = "budget_exhausted"
            return voice.budget_text(self.budget)
        return None

    def _is_over(self) -> bool:
        """Whether the session carries out no further call: it is finished, or its budget is used up."""
        return self.status == "completed" or (self.budget is not None and self.rounds_used >= self.budget)

    async def _dispatch(
        self, function: Function | None, name: str, arguments: object, key: str | None, ask: Ask | None
    ) -> CallResult:
        if function is None:
            if self.finish and name == finish_function().tool_name:
                return self._finish(arguments)
            known = [self.tool_name(f) for f in self.functions()]
            return CallResult(ok=False, text=voice.unknown_tool_text(name, known))
        if function.kind == "create":
            return await self._place(Order.from_call(function, arguments, self.backend.base_url), key, ask)
        decoded = decode(function, arguments, base_url=self.backend.base_url)
        if decoded.faults:
            return CallResult(ok=False, text=explain(function, decoded.faults), is_search=True)
        return await self._reader.search(function, decoded.arguments)

    async def _post(self, url: str, body: str) -> CallResult:
        order = Order.from_text(url, body, self.backend.base_url, self._functions)
        return await self._place(order, None, None)

    async def _place(self, order: Order, key: str | None, ask: Ask | None) -> CallResult:
        result = await self._writer.place(order, key, ask)
        if self._writer.error is not None:
            self.journal_error = self._writer.error
        return result

    def _finish(self, arguments: object) -> CallResult:
        decoded = decode(finish_function(), arguments)
        if decoded.faults:
            return CallResult(ok=False, text=explain(finish_function(), decoded.faults))
        answers = plainjson.storable(decoded.arguments["answers"])
        self.answer = plainjson.dumps(answers).decode()
        self.status = "completed"
        return CallResult(ok=True, text=voice.FINISH_TEXT)

    def _make_overlay(self, page_size: int) -> OverlayReader | None:
        """In `overlay` mode, the chart in which what was captured takes part, earlier captures too."""
        if self.writes != "overlay":
            return None
        from .overlay import OverlayReader

        overlay = OverlayReader(self.backend, page_size=page_size)
        for capture in self.captures:
            _lay_over(overlay, capture)
        return overlay

    def _described(self, function: Function) -> Function:
        """A create tool's description says what the write mode means, not to an agent under evaluation."""
        if function.kind != "create" or self.voice == "evaluation":
            return function
        return replace(function, description=f"{function.description} {voice.mode_note(self.writes)}")

    def _changed(self, what: str) -> None:
        if what == "captures" and self._overlay is not None:
            _lay_over(self._overlay, self.captures[-1])
        for watcher in list(self._watchers):
            watcher(what)


def _kept(arguments: object) -> Any:
    """Arguments as they are remembered: whole, or by their size where they are huge."""
    plain = plainjson.storable(arguments)
    size = len(plainjson.dumps(plain))
    return plain if size <= MAX_KEPT_ARGUMENTS else f"({size} bytes, not kept)"


def _lay_over(overlay: OverlayReader, capture: Capture) -> None:
    """Let an accepted capture take part in searches. One that FHIR can't hold has nothing to be found by."""
    if capture.accepted and capture.canonical is not None:
        with contextlib.suppress(TypeError, ValueError):
            overlay.add(capture.canonical, f"captured-{capture.seq}")
