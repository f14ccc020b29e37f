"""The synthetic cohort: 100 invented patients with five years of records up to the tasks' now.

`generate(scale, seed)` yields every resource as JSON bytes. At scale `paper` there are 785,207 records
beside the 100 Patients, by type as MedAgentBench reports them for its chart; at scale `small` about
10,000 of them, byte for byte the same: whatever a task asks has the same answer at both.

    people, names             who they are
    traits                    their long-term illnesses
    plan                      the table behind the tasks: newest MG, K, A1C and GLU of each patient
    timeline, reasons         stays in hospital and why, visits
    quota                     how many records fall on whom and when
    labs, lab_codes, vitals, conditions, procedures, medications
                              the records
    assemble                  one patient's records, put together
    dice, clock, wire         chance, time, pieces of JSON
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .assemble import PatientFrame, make_frames, patient_records
from .clock import NOW
from .plan import CASES, QUESTIONED
from .quota import PAPER_COUNTS, PATIENTS, Scale

COHORT_VERSION: Final = 2
"""Raised whenever the same seed gives other records."""

DEFAULT_SEED: Final = 20231113
"""The seed of the bundled chart, for which the bundled tasks are made."""


def generate(scale: Scale = "small", seed: int = DEFAULT_SEED) -> Iterator[bytes]:
    """Every resource of the cohort as UTF-8 JSON, patient by patient. Deterministic."""
    for frame in make_frames(seed):
        for record in patient_records(frame, scale):
            yield record.encode()


__all__ = [
    "CASES",
    "COHORT_VERSION",
    "DEFAULT_SEED",
    "NOW",
    "PAPER_COUNTS",
    "PATIENTS",
    "QUESTIONED",
    "PatientFrame",
    "Scale",
    "generate",
    "make_frames",
    "patient_records",
]
