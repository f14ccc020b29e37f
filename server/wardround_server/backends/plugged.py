"""Backends of other packages, by the entry point group `wardround.backends`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError
from wardround_schemas.plugins import blaming, load_plugin, named

from .base import Backend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .auth import RemoteAuth


@dataclass(frozen=True, slots=True)
class BackendContext:
    """What a backend may be made from: the spec as written, its REST, and what the operator asked for.

    `auth` is how to sign in to a server, None where nothing was said; `base_url` what links of a chart
    without an address of its own are to start with; `allow_writes` whether `create` may ever be called.
    """

    spec: str
    rest: str
    page_size: int = 20
    auth: RemoteAuth | None = None
    base_url: str | None = None
    allow_writes: bool = False


BackendOpener = Callable[[BackendContext], Awaitable[Backend]]
"""What an entry point of the group names: an async function that opens a chart, or raises UserError."""


async def open_plugged(plugin: EntryPoint, context: BackendContext) -> Backend:
    """The backend that a plugin opens. UserError, one line with its name, where it fails or gives none."""
    opener = load_plugin(plugin)
    with blaming(plugin, "failed to open the chart"):
        backend = await opener(context)
    if not isinstance(backend, Backend):
        raise UserError(
            f"{named(plugin)} gave no backend but {type(backend).__name__}",
            mend="a backend has what `wardround_server.backends.Backend` lists",
        )
    return backend
