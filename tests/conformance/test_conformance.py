"""The official MCP conformance suite, run against real servers of ours. `run.sh` installs it first."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from wardround_server.http_serve import bind

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

pytestmark = pytest.mark.conformance

PLAIN: dict[str, tuple[str, ...]] = {
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    ),
}
"""Scenarios that need no fixture: the product as it ships must pass them."""


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command that runs the suite."""
    folder = os.environ.get("WARDROUND_TEST_CONFORMANCE")
    if not folder:
        pytest.skip("the suite is not installed; tests/conformance/run.sh installs and runs it")
    modules = Path(folder) / "node_modules"
    return [
        str(modules / "node" / "bin" / "node"),
        str(modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"),
    ]


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """A server process; gives the URL of its MCP endpoint once it answers."""
    with bind("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.conformance.app", str(port), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with contextlib.suppress(urllib.error.URLError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz")
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def product() -> Iterator[str]:
    with serving("--plain") as url:
        yield url


@pytest.fixture(scope="module")
def composition() -> Iterator[str]:
    with serving() as url:
        yield url


def run(suite: list[str], folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the suite; gives its exit code and what it said, without colours."""
    done = subprocess.run(
        [*suite, "server", *arguments], cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


@pytest.mark.parametrize(("version", "scenario"), [(v, s) for v, names in PLAIN.items() for s in names])
def test_the_product_passes_every_scenario_that_needs_no_fixture(
    suite: list[str], product: str, tmp_path: Path, version: str, scenario: str
) -> None:
    code, said = run(suite, tmp_path, "--url", product, "--scenario", scenario, "--spec-version", version)
    assert code == 0, said
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", said)
    assert passed is not None, said
    assert int(passed[1]) == int(passed[2]) > 0


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_with_its_fixtures_every_required_scenario_of_a_revision_passes(
    suite: list[str], composition: str, tmp_path: Path, revision: str
) -> None:
    failures = HERE / "expected-failures.yaml"
    code, said = run(
        suite,
        tmp_path,
        "--url",
        composition,
        "--requirements",
        revision,
        "--expected-failures",
        str(failures),
    )
    assert code == 0, said[-8000:]
    results = re.findall(r"^([✓✗]) ([a-z0-9-]+): \d+ passed", said, re.MULTILINE)
    known = {line.strip("- \n") for line in failures.read_text().splitlines() if line.startswith("  - ")}
    assert {name for mark, name in results if mark == "✗"} <= known
    assert len({name for mark, name in results if mark == "✓"}) >= 30
