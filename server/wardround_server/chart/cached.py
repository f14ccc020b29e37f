"""Charts made from a folder or file of resources that was opened directly, kept by what is in it."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from wardround_schemas.errors import UserError

from .load import load_paths
from .schema import FORMAT
from .sources import find_files
from .store import Chart

LOADER = 1
"""Goes up when the loader keeps other bytes or other resources of the same files."""
_log = logging.getLogger(__name__)


def content_key(path: Path) -> str:
    """SHA-256 over the names and bytes of the files that a load of `path` would read."""
    digest = hashlib.sha256(f"{FORMAT}.{LOADER}".encode())
    for file in find_files([path]):
        name = file.relative_to(path) if path.is_dir() else Path(file.name)
        digest.update(f"\0{name}\0{file.stat().st_size}\0".encode("utf-8", "surrogateescape"))
        with open(file, "rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def cached_chart(path: Path) -> Path:
    """The chart of a folder or file of resources: loaded once, and again only when the content changes.

    Raises UserError where no resource can be read. What could not be read is counted in the log, without
    any of its content, and kept as a note of the chart.
    """
    from .build import cache_folder

    try:
        key = content_key(path)
        folder = cache_folder() / "charts"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UserError(f"can't open {path}: {error}") from error
    out = folder / f"{key[:32]}.db"
    if not _usable(out):
        report = load_paths([path], out, name=path.name, extend=False)
        if report.faulty:
            first = report.faults[0]
            _log.warning("%d of %s not read; first: %s, %s", report.faulty, path, first.file, first.place)
    return out


def _usable(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        Chart(path).close()
    except UserError:
        return False
    return True
