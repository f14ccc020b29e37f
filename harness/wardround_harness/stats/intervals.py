"""Confidence intervals for one run: a pass rate, a rate over repeated tasks, pass^k, a count of zero.

SciPy is imported where it is needed only: a run with one repeat never waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

Interval = tuple[float, float]
"""Lower and upper limit of a two-sided interval."""


def _normal_quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_quantile(confidence: float, degrees: int) -> float:
    """Two-sided quantile of Student's t with `degrees` degrees of freedom (at least 1)."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def _check(confidence: float, total: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, not between 0 and 1")
    if total <= 0:
        raise ValueError("an interval needs at least one attempt")


def wilson_interval(passed: float, total: float, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion.

    `passed` of `total` independent attempts, 0 <= passed <= total; both may be fractional, as an
    effective sample size is. Source: Wilson, JASA 22 (1927) 209-212, equation for the limits.
    """
    _check(confidence, total)
    if not 0 <= passed <= total * (1 + 1e-12):
        raise ValueError(f"{passed} of {total} is not a proportion")
    z2 = _normal_quantile(confidence) ** 2
    rate = min(1.0, passed / total)
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = math.sqrt(z2 * (rate * (1 - rate) / total + z2 / (4 * total**2))) / (1 + z2 / total)
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high


def effective_size(means: Sequence[float], repeats: int) -> float:
    """How many independent attempts the repeated tasks are worth.

    `means` holds one value per task, each the mean of `repeats` scores between 0 and 1. The size is
    r(1 - r) / Var(r), Var the variance of the mean of the task means: repeats of one task are alike, so
    it lies between the number of tasks and tasks x repeats, and is held there (a variance of zero
    says nothing about how alike they are: the number of tasks is used).
    Source: Korn and Graubard, Survey Methodology 24 (1998) 193-201.
    """
    tasks = len(means)
    if tasks == 0 or repeats < 1:
        raise ValueError("an effective size needs tasks and repeats")
    rate = math.fsum(means) / tasks
    if tasks == 1:
        return 1.0
    variance = math.fsum((mean - rate) ** 2 for mean in means) / (tasks - 1) / tasks
    spread = rate * (1 - rate)
    if variance <= 0:
        return float(tasks)
    return min(max(spread / variance, float(tasks)), float(tasks * repeats))


def task_mean_interval(means: Sequence[float], repeats: int, confidence: float = 0.95) -> Interval:
    """Interval for the mean of per-task means, each a mean over `repeats` scores between 0 and 1.

    Wilson's interval at the effective sample size, which is shrunk by (z / t)^2 with tasks - 1
    degrees of freedom because the variance is estimated. Tasks are the sampled units: rows of one
    task are never counted as independent. One repeat is Wilson's interval itself. Sources: Korn and
    Graubard (1998); Dean and Pagano, J. Surv. Stat. Methodol. 3 (2015) 484-503, who recommend the
    Wilson form for clustered samples.
    """
    tasks = len(means)
    _check(confidence, tasks)
    rate = min(1.0, max(0.0, math.fsum(means) / tasks))
    if repeats == 1:
        return wilson_interval(rate * tasks, tasks, confidence)
    size = effective_size(means, repeats)
    if tasks > 1:
        size *= (_normal_quantile(confidence) / t_quantile(confidence, tasks - 1)) ** 2
    return wilson_interval(rate * size, size, confidence)


def score_interval(means: Mapping[str, float] | Sequence[float], repeats: int) -> Interval:
    """The 95 % interval that a summary shows: Wilson for one repeat, by task means for more."""
    values = list(means.values()) if isinstance(means, Mapping) else list(means)
    return task_mean_interval(values, repeats)


def cluster_interval(clusters: Sequence[Sequence[float]], confidence: float = 0.95) -> Interval | None:
    """Interval for a mean whose units come in clusters that differ from one another.

    `clusters` holds one list of unit values per cluster; None with fewer than two clusters, and where
    they do not differ at all: how far a new one could lie is then unknown, not zero. Variance
    by linearisation, G/(G-1) x sum over clusters of (sum of deviations)^2 / n^2, and Student's t with
    G - 1 degrees of freedom (9 for ten categories). With clusters of one size this is the t interval
    of their means. Source: Cameron and Miller, J. Human Resources 50 (2015) 317-372, section II and VI.
    """
    filled = [list(values) for values in clusters if values]
    count = len(filled)
    if count < 2:
        return None
    units = sum(len(values) for values in filled)
    mean = math.fsum(value for values in filled for value in values) / units
    squares = math.fsum(math.fsum(value - mean for value in values) ** 2 for values in filled)
    error = math.sqrt(count / (count - 1) * squares) / units
    if error < 1e-12:
        return None
    half = t_quantile(confidence, count - 1) * error
    return mean - half, mean + half


def pass_hat_k(passed: int, repeats: int, k: int) -> float:
    """Unbiased estimate, for one task, of the chance that k fresh attempts all pass.

    C(passed, k) / C(repeats, k), 1 <= k <= repeats. Source: Yao et al., tau-bench (2024), section 3.
    """
    if not 1 <= k <= repeats or not 0 <= passed <= repeats:
        raise ValueError(f"pass^{k} of {passed} passes in {repeats} repeats is not defined")
    return math.comb(passed, k) / math.comb(repeats, k)
