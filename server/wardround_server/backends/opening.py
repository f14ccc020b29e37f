"""From what an operator wrote after `--fhir` to an open backend."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wardround_schemas.errors import UserError
from wardround_schemas.plugins import find_plugin

from .base import Backend
from .embedded import BASE_URL, EmbeddedBackend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .auth import RemoteAuth

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_NAME = re.compile(r"[a-z][a-z0-9-]{1,39}")
PLUGINS: Final = "wardround.backends"
"""Entry points of backends from other packages: name and NAME of NAME:REST (see `plugged`)."""
_SQLITE = b"SQLite format 3\0"


async def open_spec(
    spec: str,
    auth: RemoteAuth | None,
    page_size: int,
    *,
    base_url: str | None = None,
    allow_writes: bool = False,
) -> Backend:
    """What `base.open_backend` promises."""
    if _URL.match(spec):
        if not spec.lower().startswith(("http://", "https://")):
            raise UserError(
                f"--fhir {spec[:80]}: not an http or https URL", mend="give the FHIR base URL of a server"
            )
        from .remote import RemoteBackend

        return RemoteBackend(spec, auth=auth, page_size=page_size, allow_writes=allow_writes)
    plugged = find_plugged(spec)
    if plugged is not None:
        from .plugged import BackendContext, open_plugged

        plugin, rest = plugged
        return await open_plugged(
            plugin, BackendContext(spec, rest, page_size, auth, base_url, allow_writes=allow_writes)
        )
    # Credentials may stand in the environment all day: without a server there is nobody to give them to.
    return EmbeddedBackend.open(chart_file(spec), base_url=base_url or BASE_URL, page_size=page_size)


def find_plugged(spec: str) -> tuple[EntryPoint, str] | None:
    """The plugin that NAME:REST names and its REST; None where the spec is something else.

    Whatever else a spec can be goes before: a URL has been told apart already, a file or folder of
    just this name is that file or folder, and a drive letter (`C:`) is too short for a NAME.
    UserError where several packages bring the NAME.
    """
    name, colon, rest = spec.partition(":")
    if not colon or not _NAME.fullmatch(name) or os.path.lexists(spec):
        return None
    plugin = find_plugin(PLUGINS, name)
    return None if plugin is None else (plugin, rest)


def chart_file(spec: str) -> Path:
    """The chart file behind a spec that is not a URL: built, loaded into the cache, or the file itself."""
    if spec == "embedded":
        from ..chart.build import ensure_embedded_chart

        return ensure_embedded_chart()
    path = Path(spec).expanduser()
    if path.is_file():
        try:
            with open(path, "rb") as file:
                head = file.read(len(_SQLITE))
        except OSError as error:
            raise UserError(f"can't read {path}: {error.strerror}") from error
        if head == _SQLITE:
            return path
    elif not path.is_dir():
        raise UserError(
            f"--fhir {spec[:200]}: there is no such file or folder",
            mend="give 'embedded', a chart file, a folder or file of resources, a URL, "
            "or NAME:REST of an installed backend plugin",
        )
    from ..chart.cached import cached_chart

    return cached_chart(path)
