"""Create calls: recorded first, then, where the mode allows, confirmed and sent.

The journal's line is on disk before anything is sent or said. A repeated call with the same key is
the same capture; equal orders without one are two orders.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wardround_schemas.canonical import canonical_resource, validate_r4
from wardround_schemas.errors import ChartError
from wardround_schemas.function import Fault, Function, decode, explain

from . import plainjson
from . import voice as say
from .asking import WHY_NOT_SENT, Answer, Ask, Question
from .backends.base import Backend
from .call import CallResult
from .capture import Capture, delivery_key, now_text
from .journal import Delivery, DeliveryState, Journal
from .settings import Voice, WriteMode, reach
from .textpath import chart_path

MAX_CAPTURES = 10_000
MAX_RESOURCE_BYTES = 1024 * 1024
MAX_QUESTION = 20_000
"""Most characters of an order that the person is shown; a longer one could hide what it orders."""


@dataclass(frozen=True, slots=True)
class Order:
    """A create call as understood: where it goes, what it carries, and what is wrong with it.

    `refusal` is the text that refuses it; None where the protocol accepts it. The text protocol
    accepts whatever is JSON and only records the faults.
    """

    function: str
    resource_type: str
    resource: Any
    faults: tuple[Fault, ...]
    refusal: str | None

    @classmethod
    def from_call(cls, function: Function, arguments: object, base_url: str) -> Order:
        """A native call: accepted when it passes the function's schema."""
        decoded = decode(function, arguments, base_url=base_url)
        refusal = explain(function, decoded.faults) if decoded.faults else None
        # What can't be understood at all is kept as it came.
        resource = decoded.arguments if isinstance(arguments, dict) or decoded.arguments else arguments
        return cls(function.name, function.resource_type, resource, decoded.faults, refusal)

    @classmethod
    def from_text(cls, url: str, body: str, base_url: str, functions: Sequence[Function]) -> Order:
        """A POST of the text protocol: accepted when the body is JSON, whatever else is wrong."""
        place = chart_path(url, base_url)
        path = place if isinstance(place, str) else place.path
        resource_type = url.strip()[:200] if isinstance(place, str) else path[:200]
        function = next((f for f in functions if f.kind == "create" and f.path == f"/{path}"), None)
        name = function.name if function is not None else "POST"
        try:
            resource = plainjson.loads(body)
        except ValueError as error:
            fault = Fault("$", f"the body is not JSON: {error}", "a FHIR resource as JSON", "")
            return cls(name, resource_type, body, (fault,), f"Invalid POST: the body is not JSON: {error}")
        if function is None:
            where = path if isinstance(place, str) else f"no create function posts to /{path[:100]}"
            faults: tuple[Fault, ...] = (Fault("$", where, "one of the create functions' endpoints", ""),)
        else:
            faults = decode(function, resource, base_url=base_url).faults
        return cls(name, resource_type, resource, faults, None)


def key_digest(key: str) -> str:
    """A key as it is kept: its SHA-256, so that a client's own text is not stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _content_digest(function: str, resource: Any) -> str:
    return hashlib.sha256(plainjson.dumps([function, _ordered(plainjson.storable(resource))])).hexdigest()


def _ordered(value: Any) -> Any:
    """The value with its keys in order: two spellings of one object are the same content."""
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value


@dataclass(slots=True)
class _Placed:
    """A create call under way or done, under its key.

    `begun` is set once `task` carries the order out, or once it is clear that nothing will (the
    question was put off, the caller went away); the key is free again then.
    """

    content: str
    task: asyncio.Task[CallResult] | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)


class Writer:
    """The captures of one session, and the way of each from call to answer."""

    def __init__(
        self,
        session: str,
        backend: Backend,
        journal: Journal,
        mode: WriteMode,
        voice: Voice,
        changed: Callable[[str], None],
        restored: Iterable[Capture] = (),
    ) -> None:
        self.captures: list[Capture] = list(restored)
        self.error: str | None = None
        self._session = session
        self._backend = backend
        self._journal = journal
        self._mode: WriteMode = mode
        self._voice: Voice = voice
        self._changed = changed
        self._seq = max((c.seq for c in self.captures), default=0)
        self._placed: dict[str, _Placed] = {}
        self._restored = {c.idempotency_key: c for c in self.captures if c.idempotency_key and c.accepted}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def repeated(self, key: str, order: Order, may_send: Callable[[], bool]) -> CallResult | None:
        """The answer that a call with this key had or is about to have, None where it is new.

        An order whose sending failed is sent again, where `may_send` allows it then; one of before a
        restart, whose answer is not remembered, has none where it does not.
        """
        digest = key_digest(key)
        content = _content_digest(order.function, order.resource)
        while (placed := self._placed.get(digest)) is not None:
            if placed.content != content:
                return CallResult(ok=False, text=say.KEY_REUSED_TEXT)
            if placed.task is not None and placed.task.done():
                result = placed.task.result()
                return await self._retried(digest, content, result) if may_send() else result
            await placed.begun.wait()
            if placed.task is not None:
                return await asyncio.shield(placed.task)
        capture = self._restored.get(digest)
        if capture is None:
            return None
        if _content_digest(capture.function, capture.resource) != content:
            return CallResult(ok=False, text=say.KEY_REUSED_TEXT)
        if self._sends() and not may_send():
            return None
        return await self._once_more(digest, content, capture)

    async def place(self, order: Order, key: str | None, ask: Ask | None) -> CallResult:
        """Carry an order as far as the mode lets it go. What `ask` raises passes through.

        The key is taken before the person is asked: of two equal calls at once only one asks and sends.
        The caller has seen in the same breath, by `repeated`, that the key is free.
        """
        if self._mode == "off":
            return CallResult(ok=False, text=say.WRITES_OFF_TEXT)
        if len(self.captures) >= MAX_CAPTURES:
            return CallResult(ok=False, text=f"Refused: this session already holds {MAX_CAPTURES} captures.")
        placed = _Placed(_content_digest(order.function, order.resource))
        digest = key_digest(key) if key is not None else None
        if digest is not None:
            self._placed[digest] = placed
        task: asyncio.Task[CallResult] | None = None
        try:
            task = await self._begin(_within_size(order), digest, ask)
        finally:
            if task is None and digest is not None:
                del self._placed[digest]
            placed.task = task
            placed.begun.set()
        return await asyncio.shield(task)

    async def settle(self) -> None:
        """Wait until nothing of this session is on its way to the disk or to the FHIR server."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- inside -------------------------------------------------------------------------------

    async def _begin(self, order: Order, digest: str | None, ask: Ask | None) -> asyncio.Task[CallResult]:
        """Find out what becomes of an order, asking where that is needed, and set out to do it."""
        draft = self._draft(order, digest)
        refusal = order.refusal
        if refusal is None and reach(self._mode) >= reach("confirm"):
            refusal = self._unfit(order, draft)
        if refusal is not None:
            return self._kept(self._refuse(draft, order.faults, refusal), digest)
        answer: Answer = "yes"
        if self._mode == "confirm":
            answer = await ask(_question(draft)) if ask is not None else "unsupported"
        return self._kept(self._carry_out(draft, answer), digest)

    def _draft(self, order: Order, digest: str | None) -> Capture:
        canonical: dict[str, Any] | None = None
        if isinstance(order.resource, dict) and order.refusal is None:
            formed = canonical_resource(order.resource_type, order.resource, base_url=self._backend.base_url)
            canonical = plainjson.storable(formed)
        return Capture(
            at=now_text(),
            session=self._session,
            seq=0,
            function=order.function,
            resource_type=order.resource_type,
            resource=plainjson.storable(order.resource),
            canonical=canonical,
            accepted=order.refusal is None,
            failures=tuple({"path": f.path, "message": f.message} for f in order.faults),
            idempotency_key=digest,
        )

    def _unfit(self, order: Order, draft: Capture) -> str | None:
        """Why an order may not be sent, None where it may: only valid FHIR leaves the house."""
        if draft.canonical is None:
            return say.NOT_FHIR_TEXT
        if draft.resource != order.resource or not plainjson.is_exchangeable(draft.canonical):
            return say.NOT_JSON_TEXT
        faults = validate_r4(order.resource_type, draft.canonical)
        if not faults:
            if self._mode == "confirm" and len(_summary(draft)) > MAX_QUESTION:
                return (
                    f"Refused: the order is too long to be shown to a person, over {MAX_QUESTION} characters."
                )
            return None
        listed = "; ".join(f"{f.path}: {f.message}" for f in faults)[:1800]
        return f"Refused: the order is not a valid FHIR R4 resource and was not sent: {listed}"

    def _kept(self, work: Coroutine[Any, Any, CallResult], digest: str | None) -> asyncio.Task[CallResult]:
        """Run to the end even if the caller goes away: what is on its way to the disk is kept."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if digest is not None:
            task.add_done_callback(lambda done: self._forget_unrecorded(digest, done))
        return task

    def _forget_unrecorded(self, digest: str, done: asyncio.Task[CallResult]) -> None:
        """Free the key of an order whose line never reached the journal: it may be tried again."""
        unrecorded = done.cancelled() or (done.exception() is None and done.result().capture_seq is None)
        placed = self._placed.get(digest)
        if unrecorded and placed is not None and placed.task is done:
            del self._placed[digest]

    async def _record(self, draft: Capture) -> Capture | None:
        """Number the capture and bring it to disk; None where the disk refuses."""
        self._seq += 1
        numbered = replace(draft, seq=self._seq)
        try:
            capture = await self._journal.append(numbered)
        except OSError as error:
            self.error = f"{type(error).__name__}: {error.strerror or error}"
            return None
        self.captures.append(capture)
        self._changed("captures")
        return capture

    async def _refuse(self, draft: Capture, faults: Sequence[Fault], text: str) -> CallResult:
        failures = draft.failures or ({"path": "$", "message": text},)
        capture = await self._record(replace(draft, accepted=False, failures=failures))
        if capture is None:
            return CallResult(ok=False, text=say.JOURNAL_TEXT)
        return CallResult(ok=False, text=text, capture_seq=capture.seq)

    async def _carry_out(self, draft: Capture, answer: Answer) -> CallResult:
        if answer != "yes":
            reason = WHY_NOT_SENT[answer]
            failures = ({"path": "$", "message": reason},)
            declined = await self._record(replace(draft, accepted=False, failures=failures))
            if declined is None:
                return CallResult(ok=False, text=say.JOURNAL_TEXT)
            return CallResult(ok=False, text=say.declined_text(declined, reason), capture_seq=declined.seq)
        capture = await self._record(draft)
        if capture is None:
            return CallResult(ok=False, text=say.JOURNAL_TEXT)
        return await self._sent_or_accepted(capture)

    async def _sent_or_accepted(self, capture: Capture) -> CallResult:
        """The end of an order's way: sent where the mode and the chart allow it, else as it stands."""
        return await self._send(capture) if self._sends() else self._accepted(capture)

    def _sends(self) -> bool:
        """Whether the mode and the chart let orders go out."""
        return reach(self._mode) >= reach("confirm") and not self._backend.read_only

    async def _send(self, capture: Capture) -> CallResult:
        """Send the canonical form; the key makes a second sending of the same capture no second order."""
        if capture.canonical is None:
            return CallResult(ok=False, text=say.NOT_FHIR_TEXT, capture_seq=capture.seq)
        delivery = await self._deliver(capture, capture.canonical)
        try:
            await self._journal.append_delivery(delivery)
        except OSError as error:
            self.error = f"{type(error).__name__}: {error.strerror or error}"
        return CallResult(
            ok=delivery.state == "sent", text=say.delivered_text(capture, delivery), capture_seq=capture.seq
        )

    async def _deliver(self, capture: Capture, canonical: dict[str, Any]) -> Delivery:
        from .backends.exchange import UncertainWriteError

        name, seq = capture.session, capture.seq
        try:
            created = await self._backend.create(canonical, idempotency_key=delivery_key(capture))
        except UncertainWriteError as error:
            return Delivery(name, seq, "unknown", status=error.status, error=str(error))
        except ChartError as error:
            state: DeliveryState = "unknown"
            if error.status is None:
                # No answer, and the backend does not call it uncertain: the order never went out.
                state = "unsent"
            elif 400 <= error.status < 500:
                state = "refused"
            return Delivery(name, seq, state, status=error.status, error=str(error))
        return Delivery(name, seq, "sent", status=created.status, id=created.id, location=created.location)

    async def _retried(self, digest: str, content: str, first: CallResult) -> CallResult:
        """The answer to a repeated call: the first one's, unless that was an order whose sending failed."""
        capture = next((c for c in self.captures if c.seq == first.capture_seq), None)
        if first.ok or capture is None or not capture.accepted:
            return first
        return await self._once_more(digest, content, capture)

    async def _once_more(self, digest: str, content: str, capture: Capture) -> CallResult:
        """Carry a recorded order on from where it stands, once for all that ask for it meanwhile."""
        task = self._kept(self._sent_or_accepted(capture), digest)
        self._placed[digest] = _Placed(content, task)
        self._placed[digest].begun.set()
        return await asyncio.shield(task)

    def _accepted(self, capture: Capture) -> CallResult:
        return CallResult(
            ok=True, text=say.accepted_text(capture, self._voice, self._mode), capture_seq=capture.seq
        )


def _within_size(order: Order) -> Order:
    """The order, or a refusal of it where it is larger than any order is."""
    size = len(plainjson.dumps(plainjson.storable(order.resource)))
    if size <= MAX_RESOURCE_BYTES:
        return order
    text = f"Refused: the resource has {size} bytes, and {MAX_RESOURCE_BYTES} is the most that is taken."
    fault = Fault("$", f"{size} bytes", f"at most {MAX_RESOURCE_BYTES} bytes", "")
    return replace(order, resource=f"({size} bytes, not kept)", faults=(fault,), refusal=text)


def _summary(draft: Capture) -> str:
    return json.dumps(draft.canonical, indent=2, ensure_ascii=False)


def _question(draft: Capture) -> Question:
    digest = _content_digest(draft.function, draft.canonical)
    return Question(say.question_text(draft, _summary(draft)), digest)
