"""All cases of the suite."""

from __future__ import annotations

from .case import Case
from .observations import OBSERVATION_CASES
from .patients import PATIENT_CASES
from .records import RECORD_CASES
from .results import RESULT_CASES

CASES: list[Case] = [*PATIENT_CASES, *OBSERVATION_CASES, *RECORD_CASES, *RESULT_CASES]
