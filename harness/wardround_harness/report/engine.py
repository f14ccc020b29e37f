"""The template engine of reports: everything is escaped, and a name that is not there is an error."""

from __future__ import annotations

from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..compare_text import interval, p_value, points
from . import charts, page


def _money(value: float | None, digits: int = 4) -> str:
    return "unknown" if value is None else f"${value:,.{digits}f}"


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _breakable(path: str) -> Markup:
    """A JSON path that may be broken over lines before a dot, and in no word."""
    return Markup("<wbr>.").join(str(path).split("."))


def environment() -> Environment:
    """A new environment with the filters that the templates use."""
    made = Environment(
        loader=PackageLoader("wardround_harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["swatch"] = charts.swatch
    made.filters.update(
        breakable=_breakable,
        money=_money,
        pretty=_pretty,
        p=p_value,
        points=points,
        span=interval,
        percent=page.percent,
        cell=page.cell,
    )
    return made
