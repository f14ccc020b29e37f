"""The leaderboard's page and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import orjson
from markupsafe import Markup

from wardround_tasks.paper import PAPER_TABLE

from . import charts, page, texts
from .engine import environment


def board_json(boards: Sequence[Mapping[str, Any]]) -> bytes:
    """What another site reads: every board with its entries, and the published scores."""
    value = {
        "format_version": 1,
        "note": texts.RESEARCH_USE,
        "boards": boards,
        "published": {
            "note": texts.PUBLISHED,
            "citation": texts.PAPER_CITATION,
            "scores": [asdict(score) for score in PAPER_TABLE],
        },
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def render_board(boards: Sequence[Mapping[str, Any]]) -> str:
    """The static page; like a report it holds no script and loads nothing."""
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            title="Leaderboard",
            program=version("wardround"),
            boards=boards,
            published=PAPER_TABLE,
            groups=page.TABLE_GROUPS,
            texts=texts,
            chart=_chart,
            marks=_marks,
        )
    )


def _chart(entry: Mapping[str, Any]) -> Markup:
    marks = []
    for series, rules in ((1, "medagentbench"), (0, "clinical")):
        score = entry["scores"][rules]["overall"]
        low, high = score["ci95"]
        marks.append(charts.Mark(score["rate"], low, high, series, rules))
    title = "; ".join(f"{mark.label} {page.percent(mark.value or 0)} %" for mark in marks)
    return charts.interval_row(marks, title)


def _marks(entry: Mapping[str, Any]) -> list[str]:
    words = (entry["manifest"].get("prompts") or {}).get("text") or {}
    paper = entry["manifest"].get("protocol") == "text" and words.get("own") is False
    marks = [] if paper else [texts.OWN_PROMPT]
    return [*marks, "synthetic chart"] if entry["chart"].get("synthetic") else marks
