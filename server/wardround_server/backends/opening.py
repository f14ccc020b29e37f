"""From what an operator wrote after `--fhir` to an open backend."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError

from .base import Backend
from .embedded import BASE_URL, EmbeddedBackend

if TYPE_CHECKING:
    from .auth import RemoteAuth

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
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
    # Credentials may stand in the environment all day: without a server there is nobody to give them to.
    return EmbeddedBackend.open(chart_file(spec), base_url=base_url or BASE_URL, page_size=page_size)


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
            mend="give 'embedded', a chart file, a folder or file of resources, or a URL",
        )
    from ..chart.cached import cached_chart

    return cached_chart(path)
