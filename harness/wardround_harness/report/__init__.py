"""`report.html`: one file about one or more runs that opens offline, prints, and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from ..reading import StoredRun

__all__ = ["render_report"]


def render_report(runs: Sequence[StoredRun], *, margin: float = 0.05, title: str | None = None) -> str:
    """The HTML of a report about `runs` (one or more), the first being what others are compared to.

    `margin` is the loss of pass rate that still counts as no worse. Everything from runs is escaped by the
    template engine; the page holds no script and a policy that forbids any.
    """
    import orjson
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from ..compare_text import (
        detectable_sentence,
        interval,
        noninferiority_sentence,
        p_value,
        points,
        test_sentence,
    )
    from . import page, texts

    def money(value: float | None, digits: int = 4) -> str:
        return "unknown" if value is None else f"${value:,.{digits}f}"

    def pretty(value: Any) -> str:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()

    environment = Environment(
        loader=PackageLoader("wardround_harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        money=money,
        pretty=pretty,
        p=p_value,
        points=points,
        span=interval,
        percent=page.percent,
        cell=page.cell,
    )
    parts = [page.run_part(run, index) for index, run in enumerate(runs)]
    return environment.get_template("report.html.j2").render(
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
        texts=texts,
        tested=test_sentence,
        noninferiority=noninferiority_sentence,
        detectable=detectable_sentence,
    )
