"""Many sessions at once: nothing lost, nothing doubled, nothing in the wrong session."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.server.fakes import VITAL, FakeChart, make_service
from tests.server.live import running
from wardround_server.http import build_app
from wardround_server.journal import check_journal, read_captures

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SESSIONS = 64
CALLS = 50


def is_write(session: int, number: int) -> bool:
    """Half of the calls write; which half differs between sessions."""
    return (session + number) % 2 == 0


async def test_64_sessions_of_50_mixed_calls_lose_double_and_misplace_no_capture(tmp_path: Path) -> None:
    limit = anyio.Semaphore(16)
    async with make_service(tmp_path, FakeChart()) as service, running(build_app(service)) as base:

        async def one(session: int) -> None:
            mode = "legacy" if session % 2 else "2026-07-28"
            async with limit, Client(f"{base}/mcp/n{session}", mode=mode) as client:
                for number in range(CALLS):
                    if is_write(session, number):
                        order = {**VITAL, "valueString": f"{session} {number}"}
                        result = await client.call_tool("vital_create", order)
                    else:
                        result = await client.call_tool("lab_search", {"patient": "S1234567", "code": "MG"})
                    assert not result.is_error

        async with anyio.create_task_group() as tasks:
            for session in range(SESSIONS):
                tasks.start_soon(one, session)
        counted = {session.id: (session.rounds_used, len(session.captures)) for session in service.sessions}
    expected = {
        f"n{session}": [f"{session} {n}" for n in range(CALLS) if is_write(session, n)]
        for session in range(SESSIONS)
    }
    assert counted == {name: (CALLS, len(texts)) for name, texts in expected.items()}
    kept: dict[str, list[str]] = {}
    for capture in read_captures(tmp_path / "journal"):
        assert capture.seq == len(kept.setdefault(capture.session, [])) + 1
        kept[capture.session].append(capture.resource["valueString"])
    assert kept == expected
    assert check_journal(tmp_path / "journal") == []


async def test_sessions_in_process_share_the_journal_without_mixing(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service:
        sessions = [service.sessions.create() for _ in range(SESSIONS)]
        async with anyio.create_task_group() as tasks:
            for number in range(CALLS):
                for session in sessions:
                    tasks.start_soon(
                        session.call, "vital_create", {**VITAL, "valueString": f"{session.id} {number}"}
                    )
        assert all(sorted(c.seq for c in s.captures) == list(range(1, CALLS + 1)) for s in sessions)
    kept = list(read_captures(tmp_path / "journal"))
    assert len({(c.session, c.seq) for c in kept}) == len(kept) == SESSIONS * CALLS
    assert all(c.resource["valueString"].startswith(c.session) for c in kept)
    assert check_journal(tmp_path / "journal") == []
