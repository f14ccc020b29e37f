"""A report section: each run's slowest attempt."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from wardround_harness.reading import StoredRun
from wardround_harness.report.sections import Section


def slowest(runs: Sequence[StoredRun]) -> Section | None:
    """What the entry point names. None where no run has an attempt: then the report has no such section."""
    rows = Markup().join(
        Markup("<tr><th scope=row>{}</th><td>{}</td><td>{:.3f} s</td></tr>").format(
            run.name, line["task_id"], line["seconds"]
        )
        for run in runs
        if run.lines
        for line in [max(run.lines, key=lambda line: float(line["seconds"]))]
    )
    return Section("Slowest attempts", Markup("<table>{}</table>").format(rows)) if rows else None
