"""`wardround-mcp` as its users meet it: options, one-line errors, captures, the doctor, the HTTP process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from tests.server.fakes import VITAL, make_service
from tests.server.test_stdio import PROGRAM, environment
from wardround_schemas.errors import UserError
from wardround_server.cli import build_parser, main
from wardround_server.cli_options import settings_from
from wardround_server.journal import CAPTURES, Journal, read_captures
from wardround_server.settings import ServerSettings, is_loopback

pytestmark = pytest.mark.anyio


def settings_of(*argv: str, env: dict[str, str] | None = None) -> ServerSettings:
    return settings_from(build_parser().parse_args(list(argv)), env or {})


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """The program sends the process's logs to standard error; a test gives them back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


# --- options ------------------------------------------------------------------------------------


def test_options_are_taken_before_and_after_the_command() -> None:
    assert settings_of("--writes", "off", "http").writes == "off"
    assert settings_of("http", "--writes", "off").writes == "off"
    assert settings_of("--writes", "overlay", "http", "--writes", "off").writes == "off"
    assert settings_of("http").writes == "capture"


def test_every_option_has_an_environment_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(" secret \n")
    given = {
        "WRITES": "overlay",
        "RESULTS": "compact",
        "PROFILE": "r4",
        "NAMES": "dotted",
        "PAGE_SIZE": "7",
        "MAX_RESULT_BYTES": "5000",
        "JOURNAL": str(tmp_path),
        "HOST": "::1",
        "PORT": "9",
        "TOKEN_FILE": str(token),
        "ALLOW_HOST": "a.example, b.example",
        "MAX_SESSIONS": "3",
        "SESSION_IDLE": "60",
        "LOG_DETAILS": "1",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"WARDROUND_{name}", value)
    made = settings_of("http")
    assert (made.writes, made.results, made.profile, made.names) == ("overlay", "compact", "r4", "dotted")
    assert (made.page_size, made.max_result_bytes, made.journal) == (7, 5000, tmp_path)
    assert (made.host, made.port, made.token, made.max_sessions) == ("::1", 9, "secret", 3)
    assert made.allow_hosts == ("a.example", "b.example")
    assert (made.session_idle_seconds, made.log_details) == (60.0, True)
    assert "secret" not in repr(made)


def test_the_token_comes_from_the_environment_or_a_file_and_never_from_an_argument() -> None:
    assert settings_of("http", env={"WARDROUND_TOKEN": "t"}).token == "t"
    with pytest.raises(UserError):
        settings_of("http", "--token", "t")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("ward.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_what_counts_as_loopback_is_the_address_bound(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    "argv",
    [
        ["--nonsense"],
        ["nonsense"],
        ["--writes", "everything"],
        ["--writes", "forward"],
        ["--writes", "forward", "--allow-forward"],
        ["--page-size", "0"],
        ["--page-size", "many"],
        ["--max-result-bytes", "1"],
        ["--fhir", "/no/such/chart.db"],
        ["--journal", "/proc/nowhere"],
        ["http", "--token-file", "/no/such/file"],
        ["http", "--host", "0.0.0.0"],
        ["http", "--host", "no such host"],
        ["http", "--port", "99999"],
        ["captures"],
        ["captures", "list", "--journal", "/no/such/folder"],
        ["captures", "show", "x/1", "--journal", "/no/such/folder"],
        ["chart"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err


# --- captures -----------------------------------------------------------------------------------


@pytest.fixture
async def journal(tmp_path: Path) -> Path:
    """A journal with an accepted and a refused capture of session `ward`, and one of another session."""
    async with make_service(tmp_path) as service:
        ward = service.sessions.create(name="ward")
        await ward.call("vital_create", VITAL)
        await ward.call("vital_create", {**VITAL, "status": 7})
        await service.sessions.create(name="other").call(
            "vital_create", {**VITAL, "valueString": "1\x1b[31m"}
        )
    return tmp_path / "journal"


def lines_of(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().out.splitlines()


async def test_captures_list_names_each_capture_with_patient_and_outcome(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["captures", "list", "--journal", str(journal)]) == 0
    rows = [line.split() for line in lines_of(capfd)]
    assert rows[0] == ["capture", "at", "function", "patient", "outcome"]
    assert [(row[0], row[2], row[3], row[4]) for row in rows[1:]] == [
        ("ward/1", "vital.create", "S1234567", "captured"),
        ("ward/2", "vital.create", "S1234567", "refused"),
        ("other/1", "vital.create", "S1234567", "captured"),
    ]
    main(["captures", "list", "--journal", str(journal), "--session", "ward", "--accepted"])
    assert len(lines_of(capfd)) == 2


async def test_captures_can_be_read_while_they_are_written(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    open_one = Journal(journal)
    with (journal / CAPTURES).open("ab") as file:
        file.write(b'{"half')
    assert main(["captures", "list", "--journal", str(journal)]) == 0
    assert len(lines_of(capfd)) == 4
    open_one.close()


async def test_captures_show_gives_one_in_full(journal: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["captures", "show", "ward/1", "--journal", str(journal)]) == 0
    shown = json.loads("\n".join(lines_of(capfd)))
    assert shown["resource"] == VITAL
    assert shown["canonical"]["resourceType"] == "Observation"
    assert main(["captures", "show", "ward/9", "--journal", str(journal)]) == 2


async def test_captures_export_as_ndjson_and_as_a_transaction(
    journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["captures", "export", "--journal", str(journal)]) == 0
    assert [json.loads(line)["seq"] for line in lines_of(capfd)] == [1, 2, 1]
    target = tmp_path / "orders.json"
    argv = ["captures", "export", "--journal", str(journal), "--format", "bundle", "-o", str(target)]
    assert main(argv) == 0
    bundle = json.loads(target.read_text())
    assert (bundle["resourceType"], bundle["type"]) == ("Bundle", "transaction")
    kept = [c for c in read_captures(journal) if c.accepted]
    assert len(bundle["entry"]) == len(kept) == 2
    for entry, capture in zip(bundle["entry"], kept, strict=True):
        assert capture.canonical is not None
        sent = {k: v for k, v in entry["resource"].items() if k != "identifier"}
        assert sent == {k: v for k, v in capture.canonical.items() if k != "identifier"}
        assert entry["request"]["method"] == "POST"
        assert entry["request"]["url"] == "Observation"
        assert entry["request"]["ifNoneExist"].startswith("identifier=")
    if os.name != "nt":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    first = target.read_bytes()
    assert main(argv) == 0
    assert target.read_bytes() == first


async def test_a_damaged_journal_is_said_and_is_exit_code_1(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = journal / CAPTURES
    path.write_bytes(path.read_bytes().replace(b'"final"', b'"Final"', 1))
    assert main(["captures", "list", "--journal", str(journal)]) == 1
    assert "damaged" in capfd.readouterr().err


async def test_text_of_a_model_cannot_drive_the_terminal(
    journal: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with make_service(journal.parent) as service:
        order = {**VITAL, "subject": {"reference": "Patient/\x1b]0;owned\x07"}}
        await service.sessions.create(name="evil").http_post("Observation", json.dumps(order))
    main(["captures", "list", "--journal", str(journal)])
    assert "\x1b" not in capfd.readouterr().out


# --- doctor -------------------------------------------------------------------------------------


def test_the_doctor_finds_the_embedded_chart_well_and_leaves_no_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "journal"
    assert main(["doctor", "--journal", str(folder)]) == 0
    out = capfd.readouterr().out
    for name in ("chart", "tools over MCP", "lab.search", "vital.search", "write", "chart unchanged"):
        assert name in out
    assert "FAILED" not in out
    assert not folder.exists()


def test_the_doctor_says_what_is_wrong_and_exits_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/fhir"
        assert main(["doctor", "--fhir", url, "--journal", str(tmp_path)]) == 1
    out = capfd.readouterr().out
    assert "FAILED" in out
    assert "Traceback" not in out


# --- the HTTP process ---------------------------------------------------------------------------


@contextlib.contextmanager
def http_program(tmp_path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The HTTP server as a process of its own; gives it and the line that says where it serves."""
    with subprocess.Popen(
        [*PROGRAM, "http", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    ) as process:
        assert process.stderr is not None
        line: dict[str, Any] = {}
        while line.get("message") != "serving":
            text = process.stderr.readline()
            assert text, "the server ended before it served"
            line = json.loads(text)
        try:
            yield process, line
        finally:
            process.kill()


async def until_up(client: httpx.AsyncClient) -> None:
    for _ in range(200):
        with contextlib.suppress(httpx.TransportError):
            if (await client.get("/healthz")).status_code == 200:
                return
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_http_program_serves_and_ends_cleanly_on_a_signal(tmp_path: Path, number: int) -> None:
    with http_program(tmp_path) as (process, line):
        base = line["mcp"].removesuffix("/mcp")
        async with httpx.AsyncClient(base_url=base) as http:
            await until_up(http)
            chart = await http.get("/fhir/Patient?_count=1")
            assert chart.json()["link"][0]["url"].startswith(f"{base}/fhir/")
            patient = chart.json()["entry"][0]["resource"]["id"]
            async with Client(line["mcp"], mode="legacy") as client:
                order = {**VITAL, "subject": {"reference": f"Patient/{patient}"}}
                assert not (await client.call_tool("vital_create", order)).is_error
            assert (await http.post("/fhir/Observation", json=VITAL)).status_code == 405
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0
        assert out == ""
        assert all(json.loads(text)["level"] in ("info", "warning") for text in err.splitlines())
        assert patient not in err
    assert len(list(read_captures(tmp_path / "journal"))) == 1


async def test_a_busy_port_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [*PROGRAM, "http", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr


async def test_kill_9_of_the_http_program_loses_no_accepted_write(tmp_path: Path) -> None:
    with http_program(tmp_path) as (process, line):
        base = line["mcp"].removesuffix("/mcp")
        async with httpx.AsyncClient(base_url=base) as http:
            await until_up(http)
        accepted: set[str] = set()

        async def order(name: str) -> None:
            with contextlib.suppress(BaseExceptionGroup, Exception):
                async with Client(f"{base}/mcp/{name}", mode="2026-07-28") as client:
                    for number in range(1000):
                        text = f"{name} {number}"
                        result = await client.call_tool("vital_create", {**VITAL, "valueString": text})
                        if not result.is_error:
                            accepted.add(text)
                        if len(accepted) > 60:
                            process.kill()

        await asyncio.wait_for(asyncio.gather(*(order(f"n{n}") for n in range(4))), 60)
    assert len(accepted) > 60
    kept = [capture.resource["valueString"] for capture in read_captures(tmp_path / "journal")]
    assert accepted <= set(kept)
    assert len(kept) == len(set(kept))


def test_the_program_says_what_it_does(capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True)
    for word in ("http", "chart", "captures", "doctor", "--fhir", "--writes", "WARDROUND_FHIR"):
        assert word in done.stdout
