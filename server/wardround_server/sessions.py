"""The sessions of one process: made by control or by first use, found by name, ended when idle."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator

from wardround_schemas.errors import UserError
from wardround_schemas.function import load_functions

from .backends.base import Backend
from .call import CallRecord
from .journal import Journal
from .reading import ResultOptions
from .session import Session
from .settings import ServerSettings, Voice, WriteMode, reach

DEFAULT_NAME = "default"
_MADE = re.compile(r"s_[A-Za-z0-9_-]{32}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class TooManySessionsError(Exception):
    """The limit of open sessions is reached; nothing was made."""


class CeilingError(Exception):
    """A session was asked to go further with writes than the operator allows."""


def new_name() -> str:
    """A name that can't be guessed: 192 bits from the system's source of randomness."""
    return f"s_{secrets.token_urlsafe(24)}"


def may_be_chosen(name: str) -> bool:
    """Whether a client may pick this name for a new session.

    Names of the form that control gives are never picked: a session that control made and that has
    ended must not come back by its next use, without its budget.
    """
    return _NAME.fullmatch(name) is not None and _MADE.fullmatch(name) is None


class SessionStore:
    """All open sessions, by name. Not for several threads."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        settings: ServerSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._journal = journal
        self._settings = settings
        self._clock = clock
        self._open: dict[str, Session] = {}
        self._used: dict[str, float] = {}
        self._closers: list[Callable[[Session], None]] = []
        self._call_watchers: list[Callable[[CallRecord], None]] = []
        self._options = ResultOptions(form=settings.results, max_bytes=settings.max_result_bytes)
        self._functions = load_functions(settings.profile)

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._open.values()))

    def create(
        self,
        *,
        budget: int | None = None,
        writes: WriteMode | None = None,
        finish: bool = False,
        voice: Voice = "assistant",
        name: str | None = None,
    ) -> Session:
        """Make a session and return it.

        `budget` is a number of calls, None for no limit; `writes` the mode, the operator's where
        None; `name` a name of the caller's choice, a fresh one where None. A name that the journal
        knows takes up its captures again. Raises CeilingError for a mode above the operator's,
        TooManySessionsError at the limit, UserError for a bad name or budget.
        """
        mode = writes if writes is not None else self._settings.writes
        if reach(mode) > reach(self._settings.writes):
            raise CeilingError(f"writes {mode} is above this server's ceiling, {self._settings.writes}")
        if budget is not None and budget < 1:
            raise UserError(f"the budget is {budget}", mend="give at least one call, or none for no limit")
        if name is not None and (_NAME.fullmatch(name) is None or name in self._open):
            raise UserError(f"the session name {name[:80]!r} can't be used", mend="take another")
        self.expire()
        if len(self._open) >= self._settings.max_sessions:
            raise TooManySessionsError(f"{len(self._open)} sessions are open")
        restored = list(self._journal.captures(name)) if name is not None else []
        session = Session(
            id=name if name is not None else new_name(),
            backend=self._backend,
            journal=self._journal,
            functions=self._functions,
            options=self._options,
            budget=budget,
            writes=mode,
            finish=finish,
            voice=voice,
            names=self._settings.names,
            page_size=self._settings.page_size,
            restored=restored,
            on_call=self._called,
        )
        self._open[session.id] = session
        self._used[session.id] = self._clock()
        return session

    def peek(self, id: str) -> Session | None:  # noqa: A002
        """The open session of this name, None where there is none; looking does not keep it from expiring."""
        return None if id not in self._open or self._is_idle(id) else self._open[id]

    def get(self, id: str) -> Session | None:  # noqa: A002 - the field's name in the contract
        """The open session of this name, None where there is none. Using it keeps it from expiring."""
        session = self._open.get(id)
        if session is None:
            return None
        if self._is_idle(id):
            self.close(id)
            return None
        self._used[id] = self._clock()
        return session

    def get_or_create(self, id: str) -> Session | None:  # noqa: A002
        """The session of this name, made on first use; None where the name can't be chosen."""
        session = self.get(id)
        if session is None and may_be_chosen(id):
            session = self.create(name=id)
        return session

    def close(self, id: str) -> bool:  # noqa: A002
        """End a session; its captures stay in the journal. False where there is none."""
        session = self._open.pop(id, None)
        self._used.pop(id, None)
        if session is None:
            return False
        for closer in self._closers:
            closer(session)
        return True

    def expire(self) -> None:
        """End every session that has been idle too long."""
        for name in [name for name in self._open if self._is_idle(name)]:
            self.close(name)

    def on_close(self, closer: Callable[[Session], None]) -> None:
        """Call `closer` with each session that ends."""
        self._closers.append(closer)

    def on_call(self, watcher: Callable[[CallRecord], None]) -> None:
        """Call `watcher` with the record of each call of any session."""
        self._call_watchers.append(watcher)

    def _called(self, record: CallRecord) -> None:
        for watcher in self._call_watchers:
            watcher(record)

    def _is_idle(self, name: str) -> bool:
        return self._clock() - self._used[name] > self._settings.session_idle_seconds
