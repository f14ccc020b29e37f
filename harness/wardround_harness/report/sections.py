"""Sections that other packages add to a report, by the entry point group `wardround.report_sections`.

An entry point names a function of the runs that gives a Section, or None for nothing to say. Its HTML
goes into the page as it is where it is Markup, escaped where it is plain text; the page's policy lets
no script run and nothing load whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from wardround_schemas.errors import UserError
from wardround_schemas.plugins import blaming, installed_plugins, load_plugin, named

from ..reading import StoredRun

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGINS: Final = "wardround.report_sections"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: its heading, and what stands below it."""

    title: str
    html: Markup | str


Maker = Callable[[Sequence[StoredRun]], Section | None]


def plugin_sections(runs: Sequence[StoredRun]) -> list[Section]:
    """The sections of every installed plugin, by the plugins' names. UserError for one that fails."""
    found = [_section(plugin, runs) for plugin in installed_plugins(PLUGINS)]
    return [section for section in found if section is not None]


def _section(plugin: EntryPoint, runs: Sequence[StoredRun]) -> Section | None:
    maker = load_plugin(plugin)
    with blaming(plugin):
        section = maker(runs)
    if section is not None and not isinstance(section, Section):
        raise UserError(
            f"{named(plugin)} gave no Section but {type(section).__name__}",
            mend="a section is a `wardround_harness.report.sections.Section`, or None",
        )
    return section
