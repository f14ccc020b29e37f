"""The store: names, ceilings, limits, idleness."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.fakes import VITAL, make_service
from wardround_server.sessions import TooManySessionsError, may_be_chosen, new_name

pytestmark = pytest.mark.anyio


async def test_names_are_unguessable_and_sessions_isolated(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        one, two = service.sessions.create(), service.sessions.create()
        assert one.id != two.id
        assert len(one.id) >= 32
        await one.call("vital_create", VITAL)
        assert (len(one.captures), len(two.captures), two.rounds_used) == (1, 0, 0)


async def test_an_idle_session_ends_and_its_made_name_never_comes_back(tmp_path: Path) -> None:
    async with make_service(tmp_path, session_idle_seconds=10.0) as service:
        time = [0.0]
        service.sessions._clock = lambda: time[0]
        made = service.sessions.create(budget=1)
        chosen = service.sessions.get_or_create("ward")
        assert chosen is not None
        time[0] = 9.0
        assert service.sessions.get(made.id) is made
        time[0] = 30.0
        assert service.sessions.get(made.id) is None
        assert service.sessions.get_or_create(made.id) is None
        again = service.sessions.get_or_create("ward")
        assert again is not None
        assert again is not chosen


async def test_sessions_are_bounded(tmp_path: Path) -> None:
    async with make_service(tmp_path, max_sessions=2) as service:
        service.sessions.create()
        service.sessions.get_or_create("b")
        with pytest.raises(TooManySessionsError):
            service.sessions.create()
        with pytest.raises(TooManySessionsError):
            service.sessions.get_or_create("c")


HOSTILE_NAMES = [
    "",
    ".",
    "..",
    "a/b",
    "../x",
    "a b",
    "a\n",
    "-x",
    "_x",
    "x" * 65,
    "é",
    "%2e%2e",
    "a\x00",
    pytest.param(new_name(), id="a name that only control may make"),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_hostile_name_makes_no_session(tmp_path: Path, name: str) -> None:
    async with make_service(tmp_path) as service:
        assert not may_be_chosen(name)
        assert service.sessions.get_or_create(name) is None
        assert len(service.sessions) == 0
