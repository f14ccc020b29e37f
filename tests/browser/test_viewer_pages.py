"""The viewer as a person uses it: by mouse, by keyboard, in the dark, on a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import OpenPage, overflow, serious_faults

pytestmark = pytest.mark.browser

VIEWS = {
    "runs": "#/",
    "run": "#/runs/large-native",
    "attempt": "#/runs/large-native/task5_9/0",
    "comparison": "#/compare/large-native/large-text",
    "pair": "#/compare/large-native/large-text/task5_9",
    "search": "#/search?q=hacked",
}


def names(page: Page) -> list[str]:
    return page.locator("tbody .row-link").all_inner_texts()


def show(page: Page, viewer: str, place: str) -> None:
    page.goto(viewer + place)
    expect(page.locator("h1")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_accessibility_fault(
    open_page: OpenPage, viewer: str, shots: Path, view: str, scheme: str
) -> None:
    with open_page(color_scheme=scheme) as page:
        show(page, viewer, VIEWS[view])
        assert serious_faults(page) == []
        page.screenshot(path=shots / f"viewer-{view}-{scheme}.png")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_a_phone(open_page: OpenPage, viewer: str, shots: Path, view: str) -> None:
    with open_page(viewport={"width": 360, "height": 780}, has_touch=True) as page:
        show(page, viewer, VIEWS[view])
        assert overflow(page) == 0
        assert serious_faults(page) == []
        page.screenshot(path=shots / f"viewer-{view}-phone.png")


def test_runs_are_sorted_both_ways_and_the_address_keeps_it(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        assert names(page) == ["large-native", "stopped", "large-text", "small-x3"]
        page.get_by_role("button", name="run", exact=True).click()
        assert names(page) == ["large-native", "large-text", "small-x3", "stopped"]
        page.get_by_role("button", name="run", exact=True).click()
        assert names(page) == ["stopped", "small-x3", "large-text", "large-native"]
        expect(page.get_by_role("columnheader", name="run")).to_have_attribute("aria-sort", "descending")
        page.reload()
        expect(page.locator("tbody .row-link").first).to_have_text("stopped")
        page.get_by_role("button", name="cost").click()
        # An unknown cost is last, whichever way.
        assert names(page)[-1] == "stopped"


def test_runs_are_filtered_by_what_is_typed(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        page.get_by_role("searchbox", name="Filter").fill("small-7b")
        expect(page.get_by_text("1 of 4 runs")).to_be_visible()
        assert names(page) == ["small-x3"]


def test_attempts_are_filtered_by_category_verdict_and_failure(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/runs/large-native")
        expect(page.get_by_text("300 of 300 attempts")).to_be_visible()
        page.get_by_label("Category").select_option("task5")
        expect(page.get_by_text("30 of 300 attempts")).to_be_visible()
        page.get_by_label("Verdict").select_option("disagree")
        rows = page.locator("tbody tr:has(.row-link)")
        assert rows.count() > 0
        for text in rows.all_inner_texts():
            assert {"pass", "fail"} <= set(re.findall("pass|fail", text))
        page.get_by_label("Verdict").select_option("")
        page.get_by_label("Failure").select_option("wrong_dose")
        for text in rows.all_inner_texts():
            assert "wrong_dose" in text
        assert "category=task5" in page.url
        page.get_by_label("Category").select_option("task1")
        expect(page.get_by_text("No attempt fits the filters.")).to_be_visible()


def test_a_run_and_its_attempts_can_be_walked_by_keyboard_alone(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        page.keyboard.press("j")
        expect(page.locator("a:focus")).to_have_text("large-native")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("large-native")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("task1_2")
        page.keyboard.press("n")
        expect(page.locator("h1")).to_have_text("task1_3")
        page.keyboard.press("p")
        expect(page.locator("h1")).to_have_text("task1_2")
        page.keyboard.press("u")
        expect(page.locator("h1")).to_have_text("large-native")
        page.keyboard.press("g")
        expect(page.locator("h1")).to_have_text("Runs")


def test_rounds_are_stepped_through_and_unfolded_by_keyboard(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/runs/large-native/task5_9/0")
        for title in ("Round 1", "Round 2", "Round 3", "Answer"):
            page.keyboard.press("j")
            expect(page.locator(".round:focus h3")).to_contain_text(title)
        page.keyboard.press("k")
        page.keyboard.press("k")
        page.keyboard.press("k")
        expect(page.locator(".round:focus h3")).to_contain_text("Round 1")
        result = page.locator(".round:focus details.result")
        expect(result.locator("pre")).to_be_hidden()
        page.keyboard.press("o")
        expect(result.locator("pre")).to_contain_text('"resourceType": "Bundle"')


def test_a_captured_write_stands_beside_what_was_expected(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/runs/large-native/task5_9/0")
        row = page.locator(".captured tr.wrong")
        assert row.count() == 1
        expect(row.locator("td").first).to_contain_text('"value": 4')
        expect(row.locator("td").last).to_contain_text('"value": 2')
        expect(row.locator("td").last).to_contain_text("wrong_dose (medagentbench, clinical)")
        same = page.locator(".captured tr.same").first.locator("td")
        assert same.first.inner_text() == same.last.inner_text()


def test_text_of_a_chart_is_shown_as_text(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/runs/large-native/task8_1/0")
        for summary in page.locator("summary").all():
            summary.click()
        expect(page.locator("pre", has_text="<img src=x onerror").first).to_be_visible()
        expect(page.locator(".captured", has_text="<script>window.hacked = 1</script>")).to_be_visible()
        assert page.locator("main img, main script").count() == 0


def test_a_result_of_a_megabyte_is_folded_and_opens_in_parts(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/runs/large-native/task1_1/0")
        result = page.locator("details.result").first
        expect(result.locator("summary")).to_contain_text("1.2 MB")
        result.locator("summary").click()
        expect(result.locator("pre")).to_contain_text("<b>row 100</b>")
        assert "row 6000<" not in result.locator("pre").inner_text()
        result.get_by_role("button", name="Show more").click()
        expect(result.locator("pre")).to_contain_text("<b>row 6000</b>")


def test_two_runs_are_chosen_and_compared(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        expect(page.get_by_role("button", name="Compare 0 of 2")).to_be_disabled()
        page.get_by_label("Choose large-native for comparison").check()
        page.get_by_label("Choose large-text for comparison").check()
        page.get_by_role("button", name="Compare 2 of 2").click()
        expect(page.locator("h1")).to_have_text("large-text against large-native")
        expect(page.get_by_text("McNemar, exact").first).to_be_visible()
        page.get_by_label("Show").select_option("lost")
        for text in page.locator("tbody tr:has(.row-link)").all_inner_texts():
            assert re.search(r"pass\s*→\s*fail", text)
        page.locator(".row-link").first.click()
        expect(page.locator(".side")).to_have_count(2)
        expect(page.locator(".side .timeline")).to_have_count(2)


def test_runs_are_compared_by_keyboard(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/?sort=name")
        for key in "jxjxc":
            page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text("large-text against large-native")


def test_runs_that_owe_are_not_compared_unless_told(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/compare/large-native/stopped")
        expect(page.get_by_role("alert")).to_contain_text("stopped still owes 17 attempts")
        assert page.get_by_text("McNemar").count() == 0
        page.get_by_role("link", name="Compare the tasks that both have done").click()
        expect(page.get_by_text("283 tasks").first).to_be_visible()


def test_search_is_a_key_away_and_leads_to_the_attempt(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        page.keyboard.press("/")
        page.keyboard.type("acute knee")
        page.keyboard.press("Enter")
        expect(page.locator("mark").first).to_have_text("acute knee")
        page.locator(".hits .row-link").first.click()
        expect(page.locator("h1")).to_have_text(re.compile("^task(8|10)_"))


def test_the_keys_are_listed_and_the_list_closes(open_page: OpenPage, viewer: str) -> None:
    with open_page() as page:
        show(page, viewer, "#/")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_theme_follows_the_system_and_can_be_chosen(open_page: OpenPage, viewer: str) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    with open_page(color_scheme="dark") as page:
        show(page, viewer, "#/")
        dark = page.evaluate(colour)
        page.get_by_role("button", name="Theme").click()
        light = page.evaluate(colour)
        assert dark != light
        page.reload()
        expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
        assert page.evaluate(colour) == light


def test_a_wrong_address_says_so(browser: Browser, viewer: str) -> None:
    page = browser.new_page()
    page.goto(viewer + "#/runs/none")
    expect(page.get_by_role("alert")).to_have_text("there is no such run")
    page.close()
