"""The report and the leaderboard in a real browser: offline, in the dark, on a phone, on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, overflow, serious_faults
from tests.harness.make_run import RunSpec, make_run
from wardround_harness.leaderboard import add_entry, build_site
from wardround_harness.reading import read_run
from wardround_harness.report import render_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of the pages, as files."""
    folder = tmp_path_factory.mktemp("pages")
    held = {name: read_run(runs / name) for name in ("large-native", "large-text", "small-x3", "stopped")}
    files = {
        "report-one": [held["large-native"]],
        "report-two": [held["large-native"], held["large-text"]],
        "report-four": list(held.values()),
    }
    found: dict[str, str] = {}
    for name, chosen in files.items():
        path = folder / f"{name}.html"
        path.write_text(render_report(chosen))
        found[name] = path.as_uri()
    for seed in (1, 2):
        add_entry(make_run(folder / f"run{seed}", RunSpec(seed=seed, per_category=3)), folder / "entries")
    found["leaderboard"] = build_site(folder / "entries", folder / "site").as_uri()
    return found


PAGES = ("report-one", "report-two", "report-four", "leaderboard")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_offline_without_a_serious_fault(
    open_page: OpenPage, pages: dict[str, str], shots: Path, name: str, scheme: str
) -> None:
    with open_page(color_scheme=scheme, offline=True) as page:
        page.goto(pages[name])
        assert serious_faults(page) == []
        assert overflow(page) == 0
        page.screenshot(path=shots / f"{name}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(open_page: OpenPage, pages: dict[str, str], shots: Path, name: str) -> None:
    with open_page(viewport={"width": 360, "height": 780}) as page:
        page.goto(pages[name])
        assert overflow(page) == 0
        page.screenshot(path=shots / f"{name}-phone.png", full_page=True)


def test_a_report_works_without_any_script(open_page: OpenPage, pages: dict[str, str]) -> None:
    with open_page() as page:
        page.goto(pages["report-two"])
        page.locator("summary", has_text="flipped tasks").first.click()
        expect(page.get_by_role("region", name="Flipped tasks").first).to_be_visible()
        page.get_by_role("link", name="Severity", exact=True).click()
        expect(page.locator("#severity")).to_be_in_viewport()
        assert page.evaluate("document.scripts.length") == 0


def test_a_report_prints(open_page: OpenPage, pages: dict[str, str], shots: Path) -> None:
    with open_page() as page:
        page.goto(pages["report-two"])
        pdf = page.pdf(path=shots / "report-two.pdf", format="A4")
        assert pdf.startswith(b"%PDF-")
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 4
        page.emulate_media(media="print")
        expect(page.get_by_role("navigation")).to_be_hidden()
        wide = (
            "Math.max(...[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth))"
        )
        page.set_viewport_size({"width": 760, "height": 1000})
        assert page.evaluate(wide) <= 0


def test_marks_differ_in_shape_and_not_in_colour_alone(open_page: OpenPage, pages: dict[str, str]) -> None:
    with open_page() as page:
        page.goto(pages["report-two"])
        row = page.locator("tr.run .plot")
        shapes = {"circle": row.locator("circle.p").count(), "rect": row.locator("rect.p").count()}
        assert shapes == {"circle": 2, "rect": 2}
