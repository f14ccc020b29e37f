"""What other packages add by entry points: found by name, imported only when it is asked for.

Finding a plugin reads the metadata of the installed packages and imports nothing. Whatever a plugin
does wrong becomes one line that names it (docs/plugins.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from .errors import ChartError, UserError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["wardround.agents", "wardround.backends", "wardround.categories", "wardround.report_sections"]
WORDS: Final[Mapping[str, str]] = {
    "wardround.agents": "agent",
    "wardround.backends": "FHIR backend",
    "wardround.categories": "task category",
    "wardround.report_sections": "report section",
}
CATEGORY_ID: Final = r"(?!(?:task[0-9]+|overall|query|action|easy|medium|hard)$)[a-z][a-z0-9-]{1,39}"
"""What a plugin's category may be called: neither like one of ours nor like another group of scores."""


def installed_plugins(group: Group) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name; none of them is imported."""
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group), key=lambda plugin: (plugin.name, plugin.value)))


def find_plugin(group: Group, name: str) -> EntryPoint | None:
    """The plugin of a name, None where no installed package brings it.

    UserError where several bring it: which one is meant must not hang on the order of a path.
    """
    found = [plugin for plugin in installed_plugins(group) if plugin.name == name]
    if len(found) > 1:
        raise UserError(
            f"the {WORDS[group]} plugin {name} comes from {len(found)} packages "
            f"({', '.join(plugin.value for plugin in found)})",
            mend="remove all but one of them",
        )
    return found[0] if found else None


def plugin_categories() -> tuple[str, ...]:
    """The ids of the installed task categories of other packages; none of them is imported."""
    names = (plugin.name for plugin in installed_plugins("wardround.categories"))
    return tuple(dict.fromkeys(name for name in names if re.fullmatch(CATEGORY_ID, name)))


def load_plugin(plugin: EntryPoint) -> Any:
    """The object that an entry point names. UserError, one line, where it can't be imported."""
    with blaming(plugin, "can't be loaded"):
        return plugin.load()


@contextmanager
def blaming(plugin: EntryPoint, what: str = "failed") -> Iterator[None]:
    """Within it, an error that a plugin did not mean for people becomes a UserError that names the plugin.

    Its own UserErrors pass through, and so do ChartErrors, which say that a chart can't be read.
    """
    try:
        yield
    except (UserError, ChartError):
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{named(plugin)} {what}: {type(error).__name__}: {error}",
            mend="reinstall or remove the package that brings it",
        ) from error


def named(plugin: EntryPoint) -> str:
    """A plugin as complaints name it: `the agent plugin acme (acme_wardround:open_agent)`."""
    return f"the {WORDS.get(plugin.group, plugin.group)} plugin {plugin.name} ({plugin.value})"
