"""Two runs over the same tasks: is one better, by how much, and how sure.

A difference is always second minus first (b - a). With one repeat a task's score is 0 or 1; with
more it is the task's mean, and tasks stay the units: rows are never pooled. Randomness is seeded.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from .intervals import Interval, cluster_interval, t_quantile


@dataclass(frozen=True, slots=True)
class PairedTable:
    """How many tasks both passed, only the first (a), only the second (b), and neither."""

    both: int
    a_only: int
    b_only: int
    neither: int

    @property
    def total(self) -> int:
        """All pairs."""
        return self.both + self.a_only + self.b_only + self.neither


def paired_table(a: Sequence[bool], b: Sequence[bool]) -> PairedTable:
    """The fourfold table of two equally long sequences of outcomes."""
    pairs = list(zip(a, b, strict=True))
    return PairedTable(
        both=pairs.count((True, True)),
        a_only=pairs.count((True, False)),
        b_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
    )


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two-sided p-values of McNemar's test: exact (conditional binomial) and mid-p."""

    exact: float
    mid_p: float


def mcnemar(a_only: int, b_only: int) -> McNemar:
    """McNemar's test from the two discordant counts; both p-values are 1 when there are none.

    Exact: McNemar, Psychometrika 12 (1947) 153-157, in its binomial form. Mid-p: Fagerland, Lydersen
    and Laake, BMC Med. Res. Methodol. 13 (2013) 91, which keeps the level and is less conservative.
    """
    if a_only < 0 or b_only < 0:
        raise ValueError("a count is negative")
    discordant = a_only + b_only
    if discordant == 0:
        return McNemar(1.0, 1.0)
    from scipy.stats import binom, binomtest

    point = float(binom.pmf(a_only, discordant, 0.5))
    if a_only == b_only:
        return McNemar(1.0, 1 - point / 2)
    exact = float(binomtest(a_only, discordant, 0.5).pvalue)
    return McNemar(exact, exact - point)


def sign_flip_test(differences: Sequence[int]) -> float:
    """Exact two-sided p-value that the differences are symmetric around zero.

    `differences` are whole numbers, one per task (passes of b minus passes of a, on a common number of
    repeats). Under the null every difference could as well have had the other sign: the distribution of
    their sum over all 2^n choices is built by convolution, so nothing is sampled. With one repeat this is the
    exact McNemar test. Source: Fisher, The Design of Experiments (1935), section 21.
    """
    sizes = [abs(difference) for difference in differences if difference]
    if not sizes:
        return 1.0
    import numpy as np

    # Float64 holds a probability down to 1e-308; the sum over a tail is accurate to about 1e-13.
    span = sum(sizes)
    chances = np.zeros(2 * span + 1)
    chances[span] = 1.0
    for size in sizes:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2
    seen = abs(sum(differences))
    tail = float(chances[span + seen :].sum())
    return 1.0 if seen == 0 else min(1.0, 2 * tail)


def _tango_z(b_only: int, a_only: int, total: int, difference: float) -> float:
    """Tango's score statistic for a true difference p(b only) - p(a only) = `difference`."""
    quadratic = 2 * total
    linear = -b_only - a_only + (2 * total - b_only + a_only) * difference
    constant = -a_only * difference * (1 - difference)
    root = math.sqrt(max(0.0, linear * linear - 4 * quadratic * constant))
    rare = (root - linear) / (2 * quadratic)
    variance = total * (2 * rare + difference * (1 - difference))
    distance = b_only - a_only - total * difference
    if variance <= 1e-12:
        return 0.0 if abs(distance) < 1e-9 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def tango_interval(table: PairedTable, confidence: float = 0.95) -> Interval:
    """Score interval for the difference of two paired proportions, b minus a.

    Source: Tango, Stat. Med. 17 (1998) 891-908. The limits are the differences at which the score
    statistic meets the normal quantile; it falls as the difference grows, so bisection finds them.
    """
    total = table.total
    if total == 0:
        raise ValueError("an interval needs at least one pair")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)

    def limit(target: float) -> float:
        low, high = -1.0, 1.0
        for _ in range(200):
            middle = (low + high) / 2
            if _tango_z(table.b_only, table.a_only, total, middle) > target:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    return limit(z), limit(-z)


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Whether b may be called no worse than a by more than `margin`.

    `p` is one-sided; `lower` the lower limit of the two-sided 95 % interval, which is above -margin
    exactly when p < 0.025.
    """

    margin: float
    p: float
    lower: float
    method: str

    @property
    def shown(self) -> bool:
        """True when the data exclude a loss of `margin` or more (one-sided level 0.025)."""
        return self.p < 0.025


def noninferiority_score(table: PairedTable, margin: float) -> NonInferiority:
    """Non-inferiority of paired proportions by Tango's score test (one repeat).

    The hypothesis refuted is b - a <= -margin, 0 < margin < 1. Sources: Tango (1998); Nam, Biometrics 53
    (1997) 1422-1430; the one-sided level 0.025 is that of ICH E9, section 3.3.2.
    """
    _check_margin(margin)
    z = _tango_z(table.b_only, table.a_only, table.total, -margin)
    return NonInferiority(margin, NormalDist().cdf(-z), tango_interval(table)[0], "Tango score test")


def noninferiority_means(differences: Sequence[float], margin: float) -> NonInferiority:
    """Non-inferiority of per-task means by a one-sided t test over tasks (more repeats).

    Differences that are all alike have no error to test by: they are then taken as that many whole tasks won
    or lost, rounded against b, and judged by Tango's score.
    """
    _check_margin(margin)
    from scipy.special import stdtr

    count = len(differences)
    if count < 2:
        raise ValueError("a t test needs at least two tasks")
    mean = math.fsum(differences) / count
    error = standard_error(differences)
    if error < 1e-12:
        lost, won = math.ceil(max(0.0, -mean) * count - 1e-9), math.floor(max(0.0, mean) * count + 1e-9)
        return noninferiority_score(PairedTable(count - lost - won, lost, won, 0), margin)
    p = float(stdtr(count - 1, -(mean + margin) / error))
    return NonInferiority(margin, p, mean - t_quantile(0.95, count - 1) * error, "t test over tasks")


def _check_margin(margin: float) -> None:
    if not 0 < margin < 1:
        raise ValueError(f"margin is {margin}, not between 0 and 1")


def standard_error(values: Sequence[float]) -> float:
    """Standard error of a mean of independent values (two or more)."""
    count = len(values)
    mean = math.fsum(values) / count
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)


def stratified_bootstrap(
    differences: Sequence[float],
    strata: Sequence[Hashable],
    *,
    seed: int = 0,
    draws: int = 10_000,
    confidence: float = 0.95,
) -> Interval:
    """Percentile interval of the mean difference; tasks are redrawn within their stratum.

    Differences are paired already, so a task carries both runs with it. A stratum of n tasks is redrawn
    n - 1 at a time: with n the variance would come out (n - 1)/n too small. A stratum of one task stays
    as it is. Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13;
    Rao and Wu, JASA 83 (1988) 231-241, for the n - 1.
    """
    if len(differences) != len(strata) or not differences:
        raise ValueError("one stratum per difference, and at least one")
    import numpy as np

    groups: dict[Hashable, list[float]] = {}
    for difference, stratum in zip(differences, strata, strict=True):
        groups.setdefault(stratum, []).append(difference)
    rng = np.random.default_rng(seed)
    means = np.zeros(draws)
    for _, values in sorted(groups.items(), key=lambda item: str(item[0])):
        # Few values are distinct: how often each is redrawn is multinomial, the same law drawn faster.
        distinct, counts = np.unique(values, return_counts=True)
        size = max(1, len(values) - 1)
        redrawn = rng.multinomial(size, counts / len(values), size=draws)
        means += redrawn @ distinct / size * (len(values) / len(differences))
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def clustered_difference(
    differences: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> Interval | None:
    """Interval of the mean difference that lets whole categories differ: t with categories - 1 degrees.

    It answers for tasks of new categories, where the bootstrap answers for new tasks of these ones.
    """
    groups: dict[Hashable, list[float]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        groups.setdefault(cluster, []).append(difference)
    return cluster_interval(list(groups.values()), confidence)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment: family-wise p-values under the same names.

    Source: Holm, Scand. J. Stat. 6 (1979) 65-70.
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}
