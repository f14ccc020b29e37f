"""Building the synthetic chart, and the small one that the embedded server keeps in the user's cache."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from wardround_schemas.errors import ChartError, UserError

from .cohort import COHORT_VERSION, DEFAULT_SEED, PATIENTS, Scale, make_frames
from .halves import sample_dictionary, start_helper, write_patients
from .schema import FORMAT
from .store import Chart
from .writer import ChartWriter

Progress = Callable[[int, int], None]
"""Called with (patients done, patients in all)."""

CHART_NAME: Final = "wardround synthetic cohort"


def build_chart(
    path: Path | str,
    *,
    scale: Scale = "small",
    seed: int = DEFAULT_SEED,
    progress: Progress | None = None,
    processes: Literal[1, 2] | None = None,
) -> dict[str, int]:
    """Write the synthetic chart to a file: the whole of it, or nothing.

    Returns the number of resources by type. `scale` "paper" gives 785,207 records beside the 100
    patients, "small" about 10,000 resources, which are among those of "paper". The same seed gives the
    same content checksum on any machine, whether made by one process or by two (`processes`; None: two
    for "paper", where there are two cores). Raises UserError where the file can't be written.
    """
    path = Path(path)
    frames = make_frames(seed)
    steps = _Steps(progress)
    if processes is None:
        processes = 2 if scale == "paper" and (os.cpu_count() or 1) > 1 else 1
    dictionary = sample_dictionary(frames, scale) if processes == 2 else None
    name = f"{CHART_NAME} ({scale})"
    with ChartWriter(path, synthetic=True, name=name, seed=seed, dictionary=dictionary) as writer:
        writer.meta(scale=scale, cohort_version=COHORT_VERSION)
        rest = frames
        if dictionary is not None:
            middle = len(frames) // 2
            with start_helper(path, scale, seed, middle, dictionary) as helper:
                for _ in write_patients(writer, frames[:middle], scale):
                    steps.add(helper.done)
                rest = frames[middle:]
                if helper.finished(lambda: steps.show(helper.done)):
                    writer.absorb(helper.part)
                    rest = []
        # All patients where there is no helper; the other half where the helper could not run.
        for _ in write_patients(writer, rest, scale):
            steps.add(0)
    with Chart(path) as chart:
        return chart.counts


class _Steps:
    """Tells the progress of this process and its helper as one, never backwards."""

    def __init__(self, progress: Progress | None) -> None:
        self._own = 0
        self._told = 0
        self._progress = progress

    def add(self, helpers: int) -> None:
        """One more patient is done here; the helper has done so many."""
        self._own += 1
        self.show(helpers)

    def show(self, helpers: int) -> None:
        """Tell what is done where it has become more."""
        if self._progress is not None and self._own + helpers > self._told:
            self._told = self._own + helpers
            self._progress(self._told, PATIENTS)


def cache_folder() -> Path:
    """Where the embedded chart is kept: WARDROUND_CACHE_DIR, else `wardround` in the user's cache."""
    own = os.environ.get("WARDROUND_CACHE_DIR")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    # The XDG base directory specification has relative paths ignored.
    base = Path(shared) if shared and os.path.isabs(shared) else Path("~/.cache").expanduser()
    return base / "wardround"


def embedded_chart_name(seed: int = DEFAULT_SEED) -> str:
    """The file name of the small chart: another layout, cohort version or seed is another file."""
    return f"chart-f{FORMAT}-c{COHORT_VERSION}-s{seed}.db"


def ensure_embedded_chart() -> Path:
    """The small chart of the default seed, built on first use.

    It is kept in the user's cache and made whole beside its place before it takes its name, so several
    processes may start at once: each finds either no chart, or a finished one. A damaged file is built
    anew. Where the cache can't be written, the chart goes to a file of this user's in the folder for
    temporary files.
    """
    name = embedded_chart_name()
    temporary = Path(tempfile.gettempdir()) / f"wardround-{_user()}"
    for folder in (cache_folder(), temporary):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if folder == temporary and not _private(folder):
                continue
            path = folder / name
            if not _is_chart(path):
                build_chart(path)
        except (OSError, UserError, sqlite3.Error):
            continue
        return path
    # A folder that nobody else can have prepared. The last resort, so an error here is the user's to see.
    path = Path(tempfile.mkdtemp(prefix="wardround-")) / name
    build_chart(path)
    return path


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _private(folder: Path) -> bool:
    """Whether a folder in a place that all users share is this user's own, and a real folder."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the folder for temporary files is the user's own
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _is_chart(path: Path) -> bool:
    """Whether there is a finished chart of ours that can be opened, none of it cut off."""
    if not path.is_file():
        return False
    try:
        with Chart(path) as chart:
            (pages,), (page_size,) = (
                chart.fetch(f"PRAGMA {name}")[0] for name in ("page_count", "page_size")
            )
            whole = path.stat().st_size == pages * page_size
            return whole and chart.meta.get("cohort_version") == COHORT_VERSION
    except (ChartError, UserError):
        return False
