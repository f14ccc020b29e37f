"""Sections that other packages add to a report, by the entry point group `wardround.report_sections`.

An entry point names a function of the runs that gives a Section, or None for nothing to say. Its HTML
goes into the page as it is where it is Markup, escaped where it is plain text; the page's policy lets
no script run and nothing load whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from markupsafe import Markup

from wardround_schemas.errors import UserError

from ..reading import StoredRun

PLUGINS: Final = "wardround.report_sections"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: its heading, and what stands below it."""

    title: str
    html: Markup | str


Maker = Callable[[Sequence[StoredRun]], Section | None]


def plugin_sections(runs: Sequence[StoredRun]) -> list[Section]:
    """The sections of every installed plugin, by the plugins' names. UserError for one that fails."""
    found = (_section(plugin, runs) for plugin in sorted(entry_points(group=PLUGINS), key=lambda p: p.name))
    return [section for section in found if section is not None]


def _section(plugin: EntryPoint, runs: Sequence[StoredRun]) -> Section | None:
    try:
        section = plugin.load()(runs)
    except Exception as error:
        raise UserError(
            f"the report section {plugin.name} ({plugin.value}) failed: {type(error).__name__}: {error}",
            mend="reinstall or remove the package that brings it",
        ) from error
    if section is not None and not isinstance(section, Section):
        raise UserError(f"the report section {plugin.name} gave no Section but {type(section).__name__}")
    return section
