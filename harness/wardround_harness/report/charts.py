"""Charts as inline SVG that reflow: positions are percentages, sizes pixels, colours classes.

No chart is the only bearer of its numbers: each stands beside a table, and has a title and a
description that a screen reader reads. Text is escaped by Markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_NOTHING = Markup("")


@dataclass(frozen=True, slots=True)
class Mark:
    """A value between 0 and 1 with its interval, drawn as one of the series of `style.css`."""

    value: float | None
    low: float
    high: float
    series: int
    label: str


def _percent(value: float) -> str:
    return f"{100 * min(1.0, max(0.0, value)):.3f}%"


def _svg(body: Markup, height: int, title: str, css: str = "") -> Markup:
    return Markup(
        '<svg class="chart {}" width="100%" height="{}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(css, height, title, title, body)


_SHAPES = (
    Markup('<circle class="p s{}" r="5"/>'),
    Markup('<rect class="p s{}" x="-4.5" y="-4.5" width="9" height="9" transform="rotate(45)"/>'),
    Markup('<rect class="p s{}" x="-4.5" y="-4.5" width="9" height="9"/>'),
    Markup('<path class="p s{}" d="M-5.5 4.5 0 -5.5 5.5 4.5Z"/>'),
)


def shape(series: int) -> Markup:
    """A series' own shape around the origin, so that colour is never the only difference."""
    return _SHAPES[series % len(_SHAPES)].format(series)


def swatch(series: int) -> Markup:
    """A series' shape for a legend or a heading."""
    return Markup(
        '<svg width="14" height="14" aria-hidden="true"><g transform="translate(7 7)">{}</g></svg>'
    ).format(shape(series))


def _point(x: str, y: int, series: int) -> Markup:
    return Markup('<svg x="{}" y="{}" overflow="visible">{}</svg>').format(x, y, shape(series))


def interval_row(
    marks: Sequence[Mark], title: str, ticks: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
) -> Markup:
    """One row of a dot plot: a point and a whisker per mark, on a scale from 0 to 1."""
    height = 8 + 16 * max(1, len(marks))
    body = _NOTHING
    for tick in ticks:
        body += Markup('<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/>').format(
            _percent(tick), height
        )
    for index, mark in enumerate(marks):
        y = 12 + 16 * index
        body += Markup('<line class="w s{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            mark.series, _percent(mark.low), _percent(mark.high), y, y
        )
        if mark.value is not None:
            body += _point(_percent(mark.value), y, mark.series)
    return _svg(body, height, title)


def difference_row(
    value: float, low: float, high: float, reach: float, title: str, margin: float | None
) -> Markup:
    """One row of a forest plot: a difference with its interval on a scale from -reach to reach."""

    def at(difference: float) -> str:
        return _percent(0.5 + difference / (2 * reach))

    body = Markup('<line class="zero" x1="50%" x2="50%" y1="0" y2="24"/>')
    if margin is not None and margin < reach:
        body += Markup('<line class="margin" x1="{0}" x2="{0}" y1="0" y2="24"/>').format(at(-margin))
    body += Markup('<line class="w s0" x1="{}" x2="{}" y1="12" y2="12"/>').format(at(low), at(high))
    body += _point(at(value), 12, 0)
    return _svg(body, 24, title)


def bar(share: float, series: int, title: str) -> Markup:
    """A horizontal bar whose length is a share of the row, 0 to 1."""
    return _svg(
        Markup('<rect class="f s{}" x="0" y="3" width="{}" height="12" rx="2"/>').format(
            series, _percent(share)
        ),
        18,
        title,
        "bar",
    )


def columns(series: Sequence[Sequence[int]], labels: Sequence[str], title: str) -> Markup:
    """A histogram: per bin one column for each series, heights as shares of the tallest.

    `labels` name the bins; only some are written where there are many.
    """
    tallest = max((value for values in series for value in values), default=0) or 1
    bins, height, floor = len(labels), 150, 126
    step = max(1, -(-bins // 8))
    body = Markup('<line class="axis" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(floor + 0.5)
    for index, label in enumerate(labels):
        left = index / bins
        width = 0.84 / bins / max(1, len(series))
        for number, values in enumerate(series):
            tall = (floor - 14) * values[index] / tallest
            body += Markup(
                '<rect class="f s{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"><title>{}</title></rect>'
            ).format(
                number,
                _percent(left + 0.08 / bins + number * width),
                floor - tall,
                _percent(width * 0.94),
                tall,
                f"{label}: {values[index]}",
            )
        if index % step == 0:
            body += Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                _percent(left + 0.5 / bins), height - 6, label.split(" to ")[0]
            )
    return _svg(body, height, title)


def heat_class(rate: float | None) -> str:
    """The class of a heat-map cell: eleven steps of one hue, light to dark."""
    return "h-none" if rate is None else f"h{round(10 * rate)}"
