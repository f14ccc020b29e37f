"""`report.html`: one file about one or more runs that opens offline, prints, and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from ..reading import StoredRun

__all__ = ["render_report"]


def render_report(runs: Sequence[StoredRun], *, margin: float = 0.05, title: str | None = None) -> str:
    """The HTML of a report about `runs` (one or more), the first being what others are compared to.

    `margin` is the loss of pass rate that still counts as no worse. Everything from runs is escaped by the
    template engine; the page holds no script and a policy that forbids any.
    """
    from ..compare_text import detectable_sentence, intervals_phrase, noninferiority_sentence, test_sentence
    from . import page, texts
    from .engine import environment
    from .sections import plugin_sections

    parts = [page.run_part(run, index) for index, run in enumerate(runs)]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            title=title or "Report: " + ", ".join(run.name for run in runs),
            program=version("wardround"),
            runs=runs,
            parts=parts,
            rows=page.score_rows(runs),
            heat=page.heat_map(runs),
            figures=page.histograms(runs),
            comparisons=page.comparisons(runs, margin),
            severity=page.severity_rows(parts),
            groups=page.TABLE_GROUPS,
            sections=plugin_sections(runs),
            texts=texts,
            intervals=intervals_phrase,
            tested=test_sentence,
            noninferiority=noninferiority_sentence,
            detectable=detectable_sentence,
        )
    )
