"""Programs as agents: started without a shell, bounded in time, ended with all that they started."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_harness.agents.command import Command, fill_arguments, split_template
from wardround_schemas.errors import UserError

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")]
PYTHON = shlex.quote(sys.executable)


def program(code: str, arguments: str = "{mcp_url}", limit: float = 30.0) -> Command:
    """A Python program as an agent."""
    return Command("command:x", f"{PYTHON} -c {shlex.quote(code)} {arguments}", time_limit=limit)


async def test_placeholders_are_filled_and_the_output_comes_back() -> None:
    code = (
        "import json,sys; c=json.load(open(sys.argv[3]))['mcpServers']['wardround'];"
        "print(sys.argv[1:3], c['type'], c['url'])"
    )
    result = await program(code, "{prompt} {mcp_url} {mcp_config}").attempt("a task", "http://x/mcp/s")
    assert result.failure is None
    assert result.text.strip() == "['a task', 'http://x/mcp/s'] http http://x/mcp/s"


async def test_nothing_in_a_prompt_reaches_a_shell_or_another_argument(tmp_path: Path) -> None:
    hostile = f"'; touch {tmp_path}/pwned; $(touch {tmp_path}/pwned) \" {{mcp_config}} \\ \n`x`"
    result = await program("import sys; print(repr(sys.argv[1:]))", "{prompt} end").attempt(hostile, "u")
    assert result.text.strip() == repr([hostile, "end"])
    assert list(tmp_path.iterdir()) == []


async def test_a_program_without_a_prompt_argument_reads_it_from_standard_input() -> None:
    result = await program("import sys; print(sys.stdin.read().upper())").attempt("hello", "u")
    assert result.text.strip() == "HELLO"


async def test_the_configuration_is_private_and_gone_afterwards() -> None:
    code = "import os,sys; print(oct(os.stat(sys.argv[1]).st_mode & 0o777), sys.argv[1])"
    mode, path = (await program(code, "{mcp_config}").attempt("", "u")).text.split()
    assert mode == "0o600"
    assert not Path(path).exists()


async def test_a_program_that_fails_is_named_by_its_exit_code() -> None:
    result = await program("import sys; print('half'); sys.exit(7)").attempt("", "u")
    assert (result.failure, result.text.strip()) == ("exit code 7", "half")


async def test_a_program_past_its_time_limit_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = (
        "import subprocess,sys,time; p=subprocess.Popen([sys.executable,'-c','import time; time.sleep(60)']);"
        f"open({str(note)!r},'w').write(str(p.pid)); print('started', flush=True); time.sleep(60)"
    )
    result = await program(code, limit=2.0).attempt("", "u")
    assert result.failure == "time limit of 2 s reached"
    assert result.text.strip() == "started"
    await gone(int(note.read_text()))


async def test_children_that_hold_the_output_open_do_not_hold_the_attempt(tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = (
        "import subprocess,sys; p=subprocess.Popen([sys.executable,'-c','import time; time.sleep(60)']);"
        f"open({str(note)!r},'w').write(str(p.pid)); print('[1]')"
    )
    result = await program(code).attempt("", "u")
    assert (result.failure, result.text.strip()) == (None, "[1]")
    await gone(int(note.read_text()))


async def test_a_cancelled_attempt_ends_the_program(tmp_path: Path) -> None:
    note = tmp_path / "self"
    code = f"import os,time; open({str(note)!r},'w').write(str(os.getpid())); time.sleep(60)"
    async with anyio.create_task_group() as group:
        group.start_soon(program(code).attempt, "", "u")
        while not (note.exists() and note.read_text()):
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    await gone(int(note.read_text()))


async def test_a_program_that_ignores_being_asked_is_ended() -> None:
    code = (
        "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('on', flush=True); time.sleep(60)"
    )
    result = await program(code, limit=1.5).attempt("", "u")
    assert result.failure == "time limit of 1.5 s reached"


async def test_output_without_end_is_kept_by_its_end() -> None:
    code = "import sys\nfor i in range(200000): sys.stdout.write('x'*100+'\\n')\nprint('[2]')"
    result = await program(code).attempt("", "u")
    assert result.text.endswith("[2]\n")
    assert len(result.text) <= 65_536


@pytest.mark.parametrize(
    ("template", "said"), [("", "no program"), ("'open", "split"), ("no-such-program-x", "no program")]
)
async def test_a_template_that_cannot_work_is_refused_before_anything_runs(template: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        split_template(template)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=50))
def test_any_prompt_stays_one_argument(prompt: str) -> None:
    filled = fill_arguments(
        ("a", "{prompt}", "x{mcp_url}y"), {"prompt": prompt, "mcp_url": "U", "mcp_config": "C"}
    )
    assert filled == ["a", prompt, "xUy"]


async def gone(pid: int) -> None:
    """Wait until a process is no more, or is a zombie that nobody has collected."""
    with anyio.fail_after(10):
        while True:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return
            await anyio.sleep(0.01)
