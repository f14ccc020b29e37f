"""The committed front end is what its sources build, byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.browser

SOURCES = ROOT / "harness" / "viewer_ui"
STATIC = ROOT / "harness" / "wardround_harness" / "viewer" / "static"


@pytest.fixture(scope="module")
def npx() -> str:
    """The command that runs what `npm ci` installed."""
    found = shutil.which("npx")
    if found is None or not (SOURCES / "node_modules").is_dir():
        pytest.skip("no front-end tools: run `npm ci` in harness/viewer_ui")
    return found


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_are_those_of_the_schema(npx: str, tmp_path: Path) -> None:
    made = tmp_path / "types.ts"
    script = json.loads((SOURCES / "package.json").read_bytes())["scripts"]["types"]
    command = [str(made) if word == "src/types.ts" else word for word in script.split()]
    run(npx, "--no-install", *command)
    assert made.read_text() == (SOURCES / "src" / "types.ts").read_text()


def test_the_sources_are_typed(npx: str) -> None:
    run(npx, "--no-install", "tsc", "--noEmit")


def test_the_committed_build_is_that_of_the_sources(npx: str, tmp_path: Path) -> None:
    run(npx, "--no-install", "vite", "build", "--outDir", str(tmp_path), "--logLevel", "error")
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built == {path.name: path.read_bytes() for path in STATIC.iterdir()}


def test_the_lock_file_names_no_address() -> None:
    assert "resolved" not in (SOURCES / "package-lock.json").read_text()
    assert "http" not in (SOURCES / ".npmrc").read_text()
