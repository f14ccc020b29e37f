"""Writing the paper's scale with two processes: a helper makes a part of the chart beside its writer.

Run as a module, this is the helper: it writes the part, and says a line for every patient that is done.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .cohort import PatientFrame, Scale, make_frames, patient_records
from .writer import ChartWriter, train_dictionary

SAMPLED_PATIENTS: Final = 6
SAMPLES: Final = 6_000


def write_patients(writer: ChartWriter, frames: Sequence[PatientFrame], scale: Scale) -> Iterator[None]:
    """Write the records of some patients; yields when each is done."""
    for frame in frames:
        for record in patient_records(frame, scale):
            writer.put(record.encode())
        yield


def sample_dictionary(frames: Sequence[PatientFrame], scale: Scale) -> bytes:
    """A compression dictionary from a few patients' records, for all the parts of the chart."""
    step = len(frames) // SAMPLED_PATIENTS
    records = [record.encode() for frame in frames[::step] for record in patient_records(frame, scale)]
    return train_dictionary(records[:: max(1, len(records) // SAMPLES)])


class Helper:
    """The helper process: how many patients it has done, and where its part is."""

    def __init__(self, process: subprocess.Popen[bytes], part: Path) -> None:
        self.part = part
        self.done = 0
        self._process = process
        self._counter = threading.Thread(target=self._count, daemon=True)
        self._counter.start()

    def _count(self) -> None:
        if self._process.stdout is not None:
            for _ in self._process.stdout:
                self.done += 1

    def finished(self, waiting: Callable[[], None]) -> bool:
        """Wait for the part, calling `waiting` now and then; False where the helper failed."""
        while self._counter.is_alive():
            self._counter.join(timeout=0.2)
            waiting()
        return self._process.wait() == 0

    def stop(self) -> None:
        """End the process, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._counter.join()
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def start_helper(beside: Path, scale: Scale, seed: int, first: int, dictionary: bytes) -> Iterator[Helper]:
    """A helper that writes the patients from number `first` on to a part beside the chart file.

    When the block is left, the helper has ended and its part is gone.
    """
    with tempfile.TemporaryDirectory(dir=beside.parent, prefix=f".{beside.name}.") as folder:
        part, given = Path(folder) / "part.db", Path(folder) / "dictionary"
        given.write_bytes(dictionary)
        process = subprocess.Popen(
            # -P: what lies in the working folder is not imported.
            [sys.executable, "-P", "-m", __name__, str(part), str(given), scale, str(seed), str(first)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        helper = Helper(process, part)
        try:
            yield helper
        finally:
            helper.stop()


def main(arguments: Sequence[str]) -> int:
    """The helper: PART DICTIONARY SCALE SEED FIRST."""
    part, given, scale, seed, first = arguments
    dictionary = Path(given).read_bytes()
    chosen: Scale = "paper" if scale == "paper" else "small"
    frames = make_frames(int(seed))[int(first) :]
    with ChartWriter(part, synthetic=True, dictionary=dictionary) as writer:
        for _ in write_patients(writer, frames, chosen):
            print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
