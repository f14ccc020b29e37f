"""The statistics behind every score: intervals, repeats, paired comparison, multiplicity, power.

Formulas and their sources are in `docs/statistics.md`; each is checked in `tests/harness/test_stats*.py`
against published examples, brute force or simulation.
"""

from .intervals import (
    Interval,
    cluster_interval,
    effective_size,
    pass_hat_k,
    score_interval,
    task_mean_interval,
    upper_bound,
    wilson_interval,
)

__all__ = [
    "Interval",
    "cluster_interval",
    "effective_size",
    "pass_hat_k",
    "score_interval",
    "task_mean_interval",
    "upper_bound",
    "wilson_interval",
]
