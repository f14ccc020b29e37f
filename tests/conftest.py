"""Fixtures that every part of the suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, as the product does."""
    return "asyncio"


@pytest.fixture(scope="session")
def medagentbench_dir() -> Path:
    """The folder with the original's task and function files; tests that need it skip where it is absent."""
    default = ROOT.parent / "shared" / "medagentbench"
    folder = Path(os.environ.get("WARDROUND_MEDAGENTBENCH_DIR", str(default)))
    if not (folder / "test_data_v2.json").is_file():
        pytest.skip(f"no MedAgentBench files in {folder}; set WARDROUND_MEDAGENTBENCH_DIR to their folder")
    return folder


@pytest.fixture(autouse=True)
def _no_settings_leak_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own WARDROUND_ settings must not decide a test."""
    kept = {"WARDROUND_MEDAGENTBENCH_DIR", "WARDROUND_HAPI_URL", "WARDROUND_CACHE_DIR", "WARDROUND_CHROMIUM"}
    for name in list(os.environ):
        if name.startswith("WARDROUND_") and name not in kept and not name.startswith("WARDROUND_TEST_"):
            monkeypatch.delenv(name)
