"""`wardround report`: one file that loads nothing, escapes everything and hides nothing."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from tests.harness.make_run import RunSpec, make_run
from wardround_harness.cli import dispatch
from wardround_harness.reading import StoredRun, read_run
from wardround_harness.report import render_report, sections
from wardround_harness.report.breakdown import (
    disagreement,
    general_path,
    histogram,
    round_edges,
    scored_lines,
    taxonomy,
    whole_edges,
)
from wardround_harness.report.page import score_rows
from wardround_harness.report.sections import Section
from wardround_schemas.errors import UserError
from wardround_tasks.paper import PAPER_TABLE

VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """A strict reader: every element is closed in order; ids are unique; what it would load is kept."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.ids.extend(value for name, value in attrs if name == "id" and value)
        assert len(values) == len(attrs), f"doubled attribute in {tag}"
        self.loads.extend(str(values[name]) for name in ("src", "data", "poster", "srcset") if name in values)
        assert not [name for name in values if name.startswith("on")], f"{tag} has an event handler"
        if tag == "a":
            self.links.append(values.get("href") or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs")
    specs = {
        "native": RunSpec(rate=0.75),
        "text": RunSpec(protocol="text", seed=2, rate=0.6),
        "stopped": RunSpec(seed=3, owed=5, cost=None),
    }
    return render_report([read_run(make_run(folder / name, spec)) for name, spec in specs.items()])


def test_the_page_is_well_formed_and_loads_nothing(html: str) -> None:
    page = Page(html)
    assert page.loads == []
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert len(set(page.ids)) == len(page.ids)
    assert "@import" not in html
    assert "url(" not in html
    assert "default-src 'none'" in html
    assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []


def test_every_section_of_the_report_is_there(html: str) -> None:
    text = " ".join(Page(html).text)
    for words in (
        "not a medical device",
        "the benchmark's protocol, not guidance",
        "not the paper's prompt",
        "Faults of the original rules",
        "Categories by difficulty",
        "What went wrong",
        "Severity",
        "Rounds by call",
        "Rounds by turn",
        "Tokens per attempt",
        "cost per solved task",
        "builtin/always-act",
        "builtin/null",
        "trivial agent",
        "Ledger",
        "provider error",
        "pass@1",
        "2026-01-02",
        "SHA-256 of manifest.json",
        "assigned",
    ):
        assert words in text, words


def test_the_papers_twelve_models_stand_in_the_table_as_published(html: str) -> None:
    text = " ".join(Page(html).text)
    assert len(PAPER_TABLE) == 12
    for score in PAPER_TABLE:
        assert score.model in text
        assert f"{score.overall:.2f}" in text
    assert html.count('<tr class="paper">') == 12
    assert html.count("published</small>") == 12


def test_a_run_that_owes_shows_bounds_and_no_score(html: str) -> None:
    assert "5 attempts are owed: bounds, not scores" in html
    assert "stopped still owes 5 attempts" in html
    row = re.findall(r'<tr class="run"><th[^>]*>stopped.*?</tr>', html, re.S)
    assert len(row) == 2
    assert all(" to " in part for part in row)
    assert all("bounds" in part for part in row)


def test_every_chart_has_a_text_alternative(html: str) -> None:
    charts = re.findall(r'<svg class="chart[^>]*>', html)
    assert len(charts) > 40
    for chart in charts:
        assert 'role="img"' in chart
        assert re.search(r'aria-label="[^"]{5,}"', chart)
    assert html.count("The same as a table") == 3


def test_what_comes_from_a_run_is_text_whatever_it_is(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}"
    folder = make_run(
        tmp_path / "run", RunSpec(per_category=1, model=hostile, manifest={"settings": {hostile: hostile}})
    )
    lines = (folder / "attempts.jsonl").read_text()
    marked = lines.replace("answer_wrong", '<script src=\\"//x\\">').replace("$.answer", "</style><script>")
    (folder / "attempts.jsonl").write_text(marked)
    page = Page(render_report([read_run(folder, name=hostile)], title=hostile))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert hostile in "".join(page.text)


def test_the_report_of_a_comparable_pair_compares_and_lists_the_flips(html: str) -> None:
    assert "text against native" in html
    assert "points" in html
    assert "flipped tasks" in html
    assert "Holm p" in html


def test_the_command_writes_a_private_file_or_says_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=1))
    out = tmp_path / "report.html"
    assert dispatch(["report", str(folder), "-o", str(out), "--title", "Ward 7"]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "<h1>Ward 7</h1>" in out.read_text()
    with pytest.raises(UserError, match="can't be written"):
        dispatch(["report", str(folder), "-o", str(tmp_path / "absent" / "report.html")])
    with pytest.raises(UserError, match="not a run folder"):
        dispatch(["report", str(tmp_path / "run" / ".."), "-o", str(out)])


def test_a_paper_prompt_takes_the_mark_away(tmp_path: Path) -> None:
    words = {"text": {"sha256": "3" * 64, "own": False}, "native": {"sha256": "0" * 64, "own": True}}
    for protocol, marked in (("text", False), ("native", True)):
        spec = RunSpec(per_category=1, protocol=protocol, manifest={"prompts": words})
        text = " ".join(Page(render_report([read_run(make_run(tmp_path / protocol, spec))])).text)
        assert ("not the paper's prompt" in text) is marked


def test_failures_are_counted_by_attempt(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", RunSpec(per_category=3)))
    lines = scored_lines(run)
    for rules in ("medagentbench", "clinical"):
        for code, count in taxonomy(lines, rules):
            assert count == sum(
                any(f["code"] == code for f in line["verdicts"][rules]["failures"]) for line in lines
            )


def test_the_four_cells_of_the_rule_sets_hold_every_attempt(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", RunSpec(strict_loss=0.4)))
    found = disagreement(scored_lines(run))
    assert found.both + found.original_only + found.clinical_only + found.neither == 300
    assert found.clinical_only > 0
    code, path, count = found.reasons_original[0]
    assert (code, path) == ("wrong_field", "$.calls[].resource.dosageInstruction[].route")
    assert count == found.clinical_only
    assert general_path("$.calls[12].resource.a[0].b") == "$.calls[].resource.a[].b"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=60))
def test_a_histogram_counts_every_value_once(values: list[int]) -> None:
    for edges in (round_edges(values), whole_edges(values)):
        found = histogram(values, edges)
        assert sum(found.counts) == len(values)
        assert len(found.labels) == len(found.counts) <= 26


def test_rows_are_sorted_by_overall_success(tmp_path: Path) -> None:
    rows = score_rows([read_run(make_run(tmp_path / "run", RunSpec()))])
    assert [row.order for row in rows] == sorted((row.order for row in rows), reverse=True)
    assert {row.source for row in rows} == {"run", "baseline", "paper"}
    assert len(rows) == 2 + 4 + 12


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(per_category=1, owed=10),
        RunSpec(per_category=1, owed=10, repeats=3),
        RunSpec(per_category=1, cost=None),
    ],
)
def test_a_run_with_nothing_or_little_done_has_a_report(tmp_path: Path, spec: RunSpec) -> None:
    folder = make_run(tmp_path / "run", spec)
    whole = Page(render_report([read_run(folder)]))
    assert "Ledger" in " ".join(whole.text)
    (folder / "attempts.jsonl").unlink()
    (folder / "summary.json").unlink()
    begun = " ".join(Page(render_report([read_run(folder)])).text)
    assert "0.0 to 100.0" in begun
    assert f"{10 * spec.repeats} attempts are owed" in begun


def test_a_run_of_one_category_has_a_report_of_that_category(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=3))
    lines = [line for line in (folder / "attempts.jsonl").read_text().splitlines() if '"task9_' in line]
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["tasks"]["ids"] = ["task9_1", "task9_2", "task9_3"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "attempts.jsonl").write_text("\n".join(lines) + "\n")
    text = " ".join(Page(render_report([read_run(folder), read_run(folder, name="again")])).text)
    assert "task9" in text
    assert "record a blood pressure" not in text


def made_section(runs: Sequence[StoredRun]) -> Section:
    return Section("Made <elsewhere>", Markup("<p>about {}</p>").format(runs[0].name))


def silent_section(runs: Sequence[StoredRun]) -> None:
    return None


def failing_section(runs: Sequence[StoredRun]) -> Section:
    raise RuntimeError("no data")


def test_a_plugin_adds_a_section_and_one_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_run(make_run(tmp_path / "run", RunSpec(per_category=1)), name="<i>run</i>")

    def install(*names: str) -> None:
        found = [EntryPoint(name, f"tests.harness.test_report:{name}", sections.PLUGINS) for name in names]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)

    install("silent_section", "made_section")
    page = Page(render_report([run]))
    assert "Made <elsewhere>" in page.text
    assert "about <i>run</i>" in page.text
    install("failing_section")
    with pytest.raises(UserError, match=r"failing_section.*no data"):
        render_report([run])
