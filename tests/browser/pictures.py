"""The pictures of the documentation, taken from real runs of the builtin agents.

    python -m tests.browser.pictures [-o docs/images]

Runs the oracle, the always-act and the null agent over the bundled tasks, then photographs the report
and the viewer. Needs Chromium, as the tests of this folder do.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS, chromium
from tests.harness.viewer_server import running_viewer
from wardround_harness.cli import dispatch

AGENTS = ("oracle", "always-act", "null")
ATTEMPT = "#/runs/always-act/task5_2/0"


def photograph(browser: Browser, address: str, file: Path, *, scheme: str = "light") -> None:
    """One picture of what a window of 1280 x 860 shows, at twice the resolution."""
    page = browser.new_page(
        viewport={"width": 1280, "height": 860},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1.5,
    )
    page.goto(address)
    page.locator("h1").wait_for()
    page.screenshot(path=file)
    page.close()


def main() -> None:
    """Run, photograph, and leave nothing but the pictures."""
    parser = argparse.ArgumentParser(description="Take the pictures of the documentation.")
    parser.add_argument("-o", dest="output", type=Path, default=Path("docs/images"))
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        runs, report = Path(name) / "runs", Path(name) / "report.html"
        for agent in AGENTS:
            dispatch(["run", "--model", f"builtin/{agent}", "-o", str(runs / agent)])
        dispatch(["report", *(str(runs / agent) for agent in AGENTS), "-o", str(report)])
        with sync_playwright() as playwright, running_viewer(runs) as port:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            viewer = f"http://127.0.0.1:{port}/"
            photograph(browser, report.as_uri(), output / "report.png")
            photograph(browser, viewer, output / "viewer-runs.png")
            photograph(browser, viewer + ATTEMPT, output / "viewer-attempt.png")
            browser.close()


if __name__ == "__main__":
    main()
