"""The statistics behind every score: intervals, repeats, paired comparison, multiplicity, power.

Formulas and their sources are in `docs/statistics.md`; each is checked in `tests/harness/test_stats*.py`
against published examples, brute force or simulation.
"""

from wardround_tasks.severity import upper_bound

from .intervals import (
    Interval,
    cluster_interval,
    effective_size,
    pass_hat_k,
    score_interval,
    task_mean_interval,
    wilson_interval,
)
from .paired import (
    McNemar,
    NonInferiority,
    PairedTable,
    clustered_difference,
    holm,
    mcnemar,
    noninferiority_means,
    noninferiority_score,
    paired_table,
    sign_flip_test,
    standard_error,
    stratified_bootstrap,
    tango_interval,
)
from .power import detectable_difference, detectable_mean_difference

__all__ = [
    "Interval",
    "McNemar",
    "NonInferiority",
    "PairedTable",
    "cluster_interval",
    "clustered_difference",
    "detectable_difference",
    "detectable_mean_difference",
    "effective_size",
    "holm",
    "mcnemar",
    "noninferiority_means",
    "noninferiority_score",
    "paired_table",
    "pass_hat_k",
    "score_interval",
    "sign_flip_test",
    "standard_error",
    "stratified_bootstrap",
    "tango_interval",
    "task_mean_interval",
    "upper_bound",
    "wilson_interval",
]
