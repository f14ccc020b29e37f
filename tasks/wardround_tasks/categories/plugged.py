"""Categories of other packages, by the entry point group `wardround.categories`.

The entry point's name is the category's id, and its object a `Grader` or a class of one without
arguments. Ours go before: no plugin takes the place of task1 to task10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, get_args

from wardround_schemas.chart import ChartReader
from wardround_schemas.errors import UserError
from wardround_schemas.plugins import CATEGORY_ID, blaming, find_plugin, load_plugin, named

from ..expect import Expected
from ..reference import Reference
from ..task import Difficulty, Kind, Task
from ..verdict import RuleSet
from .base import Grader, Traits

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGINS: Final = "wardround.categories"


@dataclass(frozen=True, slots=True)
class PluginGrader:
    """A plugin's grader; what goes wrong inside it is told with the plugin's name."""

    plugin: EntryPoint
    grader: Grader
    traits: Traits

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """What the plugin's grader reads. UserError where it fails, ChartError where the chart does."""
        with blaming(self.plugin, f"failed to read task {task.id}"):
            reference = await self.grader.read(task, chart)
        if not isinstance(reference, Reference):
            raise UserError(f"{named(self.plugin)} read no Reference but {type(reference).__name__}")
        return reference

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """What the plugin's grader expects. UserError where it fails."""
        with blaming(self.plugin, f"failed on task {task.id}"):
            expected = self.grader.expected(task, reference, rules)
        if not isinstance(expected, Expected):
            raise UserError(f"{named(self.plugin)} expects no Expected but {type(expected).__name__}")
        return expected


@lru_cache(maxsize=256)
def plugin_category(category_id: str) -> PluginGrader | None:
    """The installed category of an id, None where there is none. UserError for a plugin that is broken."""
    plugin = find_plugin(PLUGINS, category_id)
    if plugin is None:
        return None
    if not re.fullmatch(CATEGORY_ID, category_id):
        raise UserError(
            f"{named(plugin)} has a name that no category can have",
            mend="2 to 40 small letters, digits and hyphens, a letter first; no taskN, no other group's name",
        )
    grader = load_plugin(plugin)
    if isinstance(grader, type):
        with blaming(plugin):
            grader = grader()
    return PluginGrader(plugin, grader, _traits(plugin, grader))


def _traits(plugin: EntryPoint, grader: object) -> Traits:
    traits = getattr(grader, "traits", None)
    if not isinstance(traits, Traits) or not all(
        callable(getattr(grader, name, None)) for name in ("read", "expected")
    ):
        raise UserError(
            f"{named(plugin)} is no category",
            mend="one has what `wardround_tasks.categories.base.Grader` lists",
        )
    if traits.id != plugin.name:
        raise UserError(f"{named(plugin)} calls itself {traits.id!r}", mend="its name and its id must agree")
    if traits.kind not in get_args(Kind) or traits.difficulty not in get_args(Difficulty):
        raise UserError(
            f"{named(plugin)} is {traits.kind!r} and {traits.difficulty!r}",
            mend=f"a kind is one of {', '.join(get_args(Kind))}, "
            f"a difficulty one of {', '.join(get_args(Difficulty))}",
        )
    return traits
