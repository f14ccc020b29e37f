"""Other people's MCP clients against the real program.

Each one lists the tools, searches a patient, creates a vital sign and finds it captured. Each runs in
an environment of its own; `run.sh` makes them and runs this.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.server.fakes import VITAL
from wardround_schemas.function import load_functions
from wardround_server.journal import read_captures

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.clients

NINE = [function.tool_name for function in load_functions()]


@pytest.fixture(scope="module")
def cache() -> Path:
    folder = os.environ.get("WARDROUND_TEST_CLIENTS")
    if not folder:
        pytest.skip("the clients are not installed; tests/clients/run.sh installs and tests them")
    return Path(folder)


@dataclass(frozen=True, slots=True)
class Running:
    """The server under test: its base URL, its journal, and a patient of its chart."""

    base: str
    journal: Path
    patient: str

    def job(self) -> dict[str, Any]:
        """What each client is to do; `env` is for clients that start the server themselves."""
        order = {**VITAL, "subject": {"reference": f"Patient/{self.patient}"}}
        env = {"WARDROUND_JOURNAL": str(self.journal), "PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
        return {"search": {"identifier": self.patient}, "order": order, "env": env}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    journal = tmp_path_factory.mktemp("clients") / "journal"
    command = [sys.executable, "-m", "wardround_server.cli", "http", "--port", "0", "--journal", str(journal)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line: dict[str, Any] = {}
        while line.get("message") != "serving":
            text = process.stderr.readline()
            assert text, "the server ended before it served"
            line = json.loads(text)
        base = line["mcp"].removesuffix("/mcp")
        try:
            yield Running(base, journal, _a_patient(base))
        finally:
            process.kill()


def _a_patient(base: str) -> str:
    """A patient of the chart, once the server answers."""
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{base}/fhir/Patient?_count=1") as answer:
            ident: str = json.load(answer)["entry"][0]["resource"]["id"]
            return ident


def said_by(command: list[str], folder: Path | None = None) -> str:
    """Run a client; gives the last line of its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    return done.stdout.strip()


def assert_done(said: dict[str, Any], running: Running, session: str | None) -> None:
    """Nine tools seen, the patient found, the order captured: in the client's eyes and in the journal."""
    assert said["tools"] == NINE
    bundle = json.loads(said["found"])
    assert bundle["entry"][0]["resource"]["id"] == running.patient
    assert "Captured, not sent" in said["created"]
    kept = [c for c in read_captures(running.journal) if session is None or c.session == session]
    assert kept[-1].accepted
    assert kept[-1].resource == running.job()["order"]


PYTHON: list[tuple[str, str, tuple[str, ...]]] = [
    ("mcp_v1", "mcp_v1", ()),
    ("mcp_v2", "mcp_v2", ("legacy",)),
    ("mcp_v2", "mcp_v2", ("auto",)),
    ("fastmcp", "fastmcp_client", ()),
    ("langchain", "langchain_adapters", ()),
    ("pydantic_ai", "pydantic_ai_agent", ()),
    ("openai_agents", "openai_agents", ()),
    ("inspect", "inspect_tools", ()),
]


@pytest.mark.parametrize(("environment", "script", "more"), PYTHON)
def test_a_python_client_over_http(
    cache: Path, server: Running, environment: str, script: str, more: tuple[str, ...]
) -> None:
    session = "-".join(("http", environment, *more))
    python = str(cache / environment / "bin" / "python")
    url = f"{server.base}/mcp/{session}"
    line = said_by([python, str(HERE / "python" / f"{script}.py"), url, json.dumps(server.job()), *more])
    assert_done(json.loads(line.splitlines()[-1]), server, session)


@pytest.mark.parametrize(("script", "more"), [("mcp_v1", ()), ("mcp_v2", ("legacy",)), ("mcp_v2", ("auto",))])
def test_the_python_sdk_over_stdio(cache: Path, server: Running, script: str, more: tuple[str, ...]) -> None:
    python = str(cache / script / "bin" / "python")
    program = json.dumps([sys.executable, "-m", "wardround_server.cli"])
    line = said_by([python, str(HERE / "python" / f"{script}.py"), program, json.dumps(server.job()), *more])
    assert_done(json.loads(line.splitlines()[-1]), server, None)


def test_each_era_is_spoken_where_the_client_can(cache: Path, server: Running) -> None:
    python = str(cache / "mcp_v2" / "bin" / "python")
    script = str(HERE / "python" / "mcp_v2.py")
    for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
        url = f"{server.base}/mcp/era-{mode}"
        line = said_by([python, script, url, json.dumps(server.job()), mode])
        assert json.loads(line.splitlines()[-1])["protocol"] == version


@pytest.mark.parametrize("script", ["sdk_v1", "client_v2"])
def test_a_typescript_client_over_http(cache: Path, server: Running, script: str) -> None:
    # Node.js looks for packages beside the script, so it runs from the folder that has them.
    copy = shutil.copy(HERE / "node" / f"{script}.mjs", cache / "node")
    line = said_by(["node", str(copy), f"{server.base}/mcp/{script}", json.dumps(server.job())])
    assert_done(json.loads(line.splitlines()[-1]), server, script)


def test_the_inspectors_command_line_and_its_strict_lint(cache: Path, server: Running) -> None:
    inspector = str(cache / "node" / "node_modules" / ".bin" / "mcp-inspector")
    start = [inspector, "--cli", f"{server.base}/mcp/inspector", "--transport", "http", "--method"]

    def tool(name: str, arguments: dict[str, Any]) -> str:
        pairs = [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in arguments.items()]
        options = [option for pair in pairs for option in ("--tool-arg", pair)]
        result = json.loads(said_by([*start, "tools/call", "--tool-name", name, *options]))
        text: str = result["content"][0]["text"]
        return text

    listed = json.loads(said_by([*start, "tools/list", "--strict"]))
    job = server.job()
    said = {
        "tools": [entry["name"] for entry in listed["tools"]],
        "found": tool("patient_search", job["search"]),
        "created": tool("vital_create", job["order"]),
    }
    assert_done(said, server, "inspector")


def test_mcporter(cache: Path, server: Running, tmp_path: Path) -> None:
    program = str(cache / "node" / "node_modules" / ".bin" / "mcporter")
    ad_hoc = ["--http-url", f"{server.base}/mcp/mcporter", "--allow-http", "--name", "wardround"]

    def call(name: str, arguments: dict[str, Any]) -> str:
        return said_by([program, "call", *ad_hoc, "--tool", name, "--args", json.dumps(arguments)], tmp_path)

    job = server.job()
    found, created = call("patient_search", job["search"]), call("vital_create", job["order"])
    assert_done({"tools": NINE, "found": found, "created": created}, server, "mcporter")


def test_every_environment_of_the_list_is_tested() -> None:
    lines = (HERE / "python" / "environments.txt").read_text().split("\n")
    assert {line.split()[0] for line in lines if line} == {environment for environment, _, _ in PYTHON}
