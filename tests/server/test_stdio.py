"""The program itself over stdio: what an IDE starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.server.fakes import VITAL
from wardround_server.journal import check_journal, read_captures

pytestmark = pytest.mark.anyio

PROGRAM = [sys.executable, "-m", "wardround_server.cli"]


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WARDROUND_")}
    return {**kept, "WARDROUND_JOURNAL": str(tmp_path / "journal")}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_starts_it_searches_a_patient_and_captures_a_vital(tmp_path: Path, mode: str) -> None:
    server = StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:], env=environment(tmp_path))
    async with Client(server, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 9
        found = await client.call_tool("patient_search", {"gender": "female", "_count": 1})
        bundle = json.loads(found.content[0].text)  # type: ignore[union-attr]
        patient = bundle["entry"][0]["resource"]["id"]
        order = {**VITAL, "subject": {"reference": f"Patient/{patient}"}}
        result = await client.call_tool("vital_create", order)
        assert not result.is_error
    (kept,) = read_captures(tmp_path / "journal")
    assert kept.resource == order
    assert check_journal(tmp_path / "journal") == []


def exchange(tmp_path: Path, lines: list[Any], *arguments: str) -> tuple[list[dict[str, Any]], str]:
    """Feed raw lines to the program; gives what it wrote, line by line, and its standard error."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path),
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def opening(version: str = "2025-11-25") -> list[Any]:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def call(ident: int, name: str, arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params}


async def test_nothing_but_protocol_goes_to_standard_output(tmp_path: Path) -> None:
    answers, _ = exchange(
        tmp_path,
        [
            *opening(),
            "this is no JSON",
            '{"jsonrpc": "2.0", "id": 5, "method": "no/such"}',
            "[]",
            "",
            call(1, "lab_search", "{"),
            call(2, "no_such", {}),
            call(3, "vital_create", {**VITAL, "subject": {"reference": "Patient/S9999999"}}),
            call(4, "lab_search", {"patient": "S9999999", "code": "MG", "_sort": "-nonsense"}),
        ],
    )
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer["id"]: answer for answer in answers if answer.get("id") is not None}
    assert by_id[0]["result"]["protocolVersion"] == "2025-11-25"
    assert by_id[5]["error"]["code"] == -32601
    assert [by_id[n]["result"].get("isError", False) for n in (1, 2, 3)] == [True, True, False]


async def test_the_same_request_sent_twice_is_one_capture(tmp_path: Path) -> None:
    order = call(1, "vital_create", VITAL)
    answers, _ = exchange(tmp_path, [*opening(), order, order, call(2, "vital_create", VITAL)])
    assert len(answers) == 4
    assert [c.seq for c in read_captures(tmp_path / "journal")] == [1, 2]


async def test_options_come_from_the_command_line_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answers, _ = exchange(tmp_path, [*opening(), listing], "--writes", "off", "--names", "dotted")
    names = [tool["name"] for tool in answers[-1]["result"]["tools"]]
    assert len(names) == 6
    assert "lab.search" in names


async def test_kill_9_in_mid_session_loses_no_accepted_write(tmp_path: Path) -> None:
    with subprocess.Popen(
        PROGRAM,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(tmp_path),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in opening():
            process.stdin.write(json.dumps(line) + "\n")
        for number in range(1, 2000):
            order = call(number, "vital_create", {**VITAL, "valueString": f"{number}/77 mmHg"})
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            if number == 60:
                break
        accepted: list[str] = []
        for _ in range(40):
            answer = json.loads(process.stdout.readline())
            if answer.get("id"):
                assert not answer["result"].get("isError", False)
                accepted.append(f"{answer['id']}/77 mmHg")
        os.kill(process.pid, signal.SIGKILL)
    kept = [c.resource["valueString"] for c in read_captures(tmp_path / "journal")]
    assert set(accepted) <= set(kept)
    assert len(kept) == len(set(kept))
    assert check_journal(tmp_path / "journal") == []
