"""The journal: on disk before it is said, whole after a crash, never interleaved."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_schemas.errors import UserError
from wardround_server import plainjson
from wardround_server.capture import Capture
from wardround_server.chainfile import ChainFile, check_chain, line_hash, read_lines
from wardround_server.journal import CAPTURES, Journal, check_journal, read_captures

pytestmark = pytest.mark.anyio


def make_capture(seq: int, session: str = "one", resource: Any = None) -> Capture:
    return Capture(
        at="2023-11-13T10:15:00.000Z",
        session=session,
        seq=seq,
        function="vital.create",
        resource_type="Observation",
        resource=resource if resource is not None else {"valueString": f"{seq}"},
        canonical=None,
        accepted=True,
    )


async def test_a_capture_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    kept = await journal.append(make_capture(1))
    assert list(read_captures(tmp_path)) == [kept]
    journal.close()


async def test_each_line_names_the_hash_of_the_line_before(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for seq in range(1, 5):
        await journal.append(make_capture(seq))
    journal.close()
    lines = list(read_lines(tmp_path / CAPTURES))
    assert lines[0][1]["previous"] is None
    for (before, _), (_, after) in itertools.pairwise(lines):
        assert after["previous"] == line_hash(before)
    assert check_journal(tmp_path) == []


async def test_a_changed_line_breaks_the_chain_and_is_found(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for seq in range(1, 4):
        await journal.append(make_capture(seq))
    journal.close()
    path = tmp_path / CAPTURES
    path.write_bytes(path.read_bytes().replace(b'"valueString":"2"', b'"valueString":"9"'))
    assert check_chain(path) == [f"{CAPTURES}, line 3: does not follow the line before it"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_only_the_owner_may_read_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new")
    await journal.append(make_capture(1))
    journal.close()
    assert stat.S_IMODE((tmp_path / "new" / CAPTURES).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_a_torn_last_line_is_set_aside_and_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = await journal.append(make_capture(1))
    journal.close()
    path = tmp_path / CAPTURES
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at":"2023-11-13T10:1')
    assert list(read_captures(tmp_path)) == [first]
    again = Journal(tmp_path)
    assert path.read_bytes() == whole
    torn = tmp_path / (CAPTURES + ".torn")
    assert torn.read_bytes() == b'{"at":"2023-11-13T10:1\n'
    assert len(again.warnings) == 1
    assert torn.name in again.warnings[0]
    await again.append(make_capture(2))
    again.close()
    assert [c.seq for c in read_captures(tmp_path)] == [1, 2]
    assert check_journal(tmp_path) == []


async def test_a_line_that_json_cannot_hold_fails_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    results = await asyncio.gather(
        *(
            journal.append(make_capture(n, resource={"v": float("inf") if n == 2 else n}))
            for n in range(1, 4)
        ),
        return_exceptions=True,
    )
    journal.close()
    assert [type(result) for result in results] == [Capture, ValueError, Capture]
    assert [c.seq for c in read_captures(tmp_path)] == [1, 3]
    assert check_journal(tmp_path) == []


async def test_a_journal_without_a_single_whole_line_starts_afresh(tmp_path: Path) -> None:
    (tmp_path / CAPTURES).write_bytes(b"\x00" * 5000)
    journal = Journal(tmp_path)
    await journal.append(make_capture(1))
    journal.close()
    assert [c.seq for c in read_captures(tmp_path)] == [1]
    assert check_journal(tmp_path) == []


async def test_two_journals_on_one_folder_never_interleave_or_fork_the_chain(tmp_path: Path) -> None:
    journals = [Journal(tmp_path), Journal(tmp_path)]
    await asyncio.gather(
        *(journals[n % 2].append(make_capture(n, session=f"s{n % 2}")) for n in range(200)),
    )
    for journal in journals:
        journal.close()
    assert sorted(c.seq for c in read_captures(tmp_path)) == list(range(200))
    assert check_journal(tmp_path) == []


async def test_a_cancelled_caller_does_not_take_its_line_out_of_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    task = asyncio.ensure_future(journal.append(make_capture(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = await journal.append(make_capture(2))
    journal.close()
    assert [c.seq for c in read_captures(tmp_path)] == [1, 2]
    assert kept.previous is not None


async def test_a_disk_that_refuses_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    first = await journal.append(make_capture(1))
    real_write = os.write
    budget = [20]

    def short_write(descriptor: int, data: Any) -> int:
        if budget[0] == 0:
            raise OSError(28, "No space left on device")
        part = bytes(data)[: budget[0]]
        budget[0] -= len(part)
        return real_write(descriptor, part)

    with monkeypatch.context() as patched:
        patched.setattr("wardround_server.chainfile.os.write", short_write)
        with pytest.raises(OSError, match="No space left"):
            await journal.append(make_capture(2))
    assert list(read_captures(tmp_path)) == [first]
    assert (tmp_path / CAPTURES).read_bytes().endswith(b"\n")
    await journal.append(make_capture(3))
    journal.close()
    assert [c.seq for c in read_captures(tmp_path)] == [1, 3]
    assert check_journal(tmp_path) == []


async def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        Journal(tmp_path / "file")


async def test_a_closed_journal_refuses_appends(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(OSError, match="closed"):
        await journal.append(make_capture(1))


async def test_a_reader_does_not_see_the_line_that_is_being_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = await journal.append(make_capture(1))
    with (tmp_path / CAPTURES).open("ab") as file:
        file.write(b'{"at": "half')
    assert list(read_captures(tmp_path)) == [first]
    journal.close()


async def test_a_foreign_line_is_named_with_its_number(tmp_path: Path) -> None:
    (tmp_path / CAPTURES).write_bytes(b'{"session":"one"}\n')
    with pytest.raises(UserError, match="line 1: not a capture"):
        list(read_captures(tmp_path))


_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.server.test_journal import make_capture
from wardround_server.journal import Journal

async def main():
    journal = Journal(Path(sys.argv[1]))
    async def one(worker):
        for n in range(100000):
            kept = await journal.append(make_capture(n, session=f"w{worker}", resource={"t": "x" * 3000}))
            print(f"{kept.session} {kept.seq}", flush=True)
    await asyncio.gather(*(one(w) for w in range(8)))

asyncio.run(main())
"""


def test_kill_9_in_the_middle_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        confirmed = [process.stdout.readline().split() for _ in range(200)]
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read()
    confirmed += [line.split() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    journal = Journal(tmp_path)
    journal.close()
    kept = {(c.session, c.seq) for c in read_captures(tmp_path)}
    assert {(session, int(seq)) for session, seq in confirmed} <= kept
    assert check_journal(tmp_path) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=_JSON)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_whatever_a_model_sends_can_be_kept_and_read_back(value: Any) -> None:
    kept = plainjson.storable(value)
    assert plainjson.loads(plainjson.dumps(kept)) == kept


@given(cut=st.integers(min_value=0, max_value=10_000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_file_cut_anywhere_opens_with_every_whole_line(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "lines.jsonl"
    file = ChainFile(path)
    for number in range(5):
        file.commit([lambda previous, number=number: {"n": number, "previous": previous}])  # type: ignore[misc]
    file.close()
    data = path.read_bytes()
    cut %= len(data) + 1
    path.write_bytes(data[:cut])
    again = ChainFile(path)
    whole = [line["n"] for _, line in read_lines(path)]
    assert whole == list(range(data[:cut].count(b"\n")))
    again.commit([lambda previous: {"n": 99, "previous": previous}])
    again.close()
    assert check_chain(path) == []
