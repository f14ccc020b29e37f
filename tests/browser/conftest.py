"""A real browser over real pages. `make test-browser` installs what these tests need."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import ROOT
from tests.harness.make_run import RunSpec, make_run
from tests.harness.viewer_server import running_viewer

AXE = ROOT / "harness" / "viewer_ui" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

OpenPage = Callable[..., Any]


def chromium() -> str:
    """Where Chromium is: WARDROUND_CHROMIUM, or the one on the path; skips where there is none."""
    found = (
        os.environ.get("WARDROUND_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    )
    if not found:
        pytest.skip("no Chromium: install it, or set WARDROUND_CHROMIUM to its path")
    return found


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One headless Chromium for all tests."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield launched
        launched.close()


@contextmanager
def watched_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page that fails its test for any console error, script error or request to another place."""
    faults: list[str] = []
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.on(
        "console", lambda m: faults.append(f"console: {m.text}") if m.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1:", "file:", "data:", "about:"))
            else faults.append(f"request: {request.url}")
        ),
    )
    try:
        yield page
        assert page.evaluate("window.hacked") is None
    finally:
        context.close()
    assert faults == []


@pytest.fixture
def open_page(browser: Browser) -> OpenPage:
    """`with open_page(color_scheme="dark") as page:`, watched for errors."""
    return lambda **options: watched_page(browser, **options)


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four runs, hostile text in their charts, one result of over a megabyte."""
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "large-native", RunSpec(rate=0.78))
    make_run(root / "large-text", RunSpec(protocol="text", seed=2, rate=0.62, invalid=0.08))
    make_run(root / "small-x3", RunSpec(seed=3, repeats=3, rate=0.4, model="openai-chat/small-7b"))
    make_run(root / "stopped", RunSpec(seed=9, owed=17, cost=None))
    path = root / "large-native" / "attempts.jsonl"
    lines = path.read_text().splitlines()
    first = json.loads(lines[0])
    text = "".join(f"<b>row {number}</b>\n" for number in range(70_000))
    first["rounds"][0]["calls"][0].update(result=text, result_bytes=len(text))
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    return root


@pytest.fixture(scope="package")
def viewer(runs: Path) -> Iterator[str]:
    """The address of a viewer over the runs."""
    with running_viewer(runs) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="package")
def shots() -> Path:
    """Where screenshots are kept: WARDROUND_TEST_SCREENSHOTS, or build/screenshots."""
    folder = Path(os.environ.get("WARDROUND_TEST_SCREENSHOTS") or ROOT / "build" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def serious_faults(page: Page) -> list[str]:
    """What axe-core finds on a page that is serious or critical, one line per rule and element."""
    if not AXE.is_file():
        pytest.skip("no axe-core: run `npm ci` in harness/viewer_ui")
    # Evaluated, not added as a script: the page's own policy would refuse that.
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 5
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def overflow(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
