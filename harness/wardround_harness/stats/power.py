"""The smallest difference that a comparison of this size could have shown."""

from __future__ import annotations

import math
from statistics import NormalDist


def detectable_difference(
    discordance: float, tasks: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest difference of two paired pass rates that McNemar's test finds with the given power.

    `discordance` is the share of tasks on which exactly one run passes, `tasks` the number of pairs.
    Solves n = (z(1-alpha/2) sqrt(q) + z(power) sqrt(q - d^2))^2 / d^2 for d (Connor, Biometrics 43 (1987)
    207-211). A difference can't exceed the discordance, and the exact test needs a least number of
    discordant tasks, all on one side (six at 0.05): where the discordance allows neither, None.
    """
    if not 0 <= discordance <= 1 or tasks < 1:
        raise ValueError("discordance is a share, tasks a count")
    fewest = _fewest_discordant(alpha) / tasks
    if discordance < fewest:
        return None
    z_alpha = NormalDist().inv_cdf(1 - alpha / 2)
    z_power = NormalDist().inv_cdf(power)

    def needed(difference: float) -> float:
        spread = math.sqrt(max(0.0, discordance - difference**2))
        return ((z_alpha * math.sqrt(discordance) + z_power * spread) / difference) ** 2

    if needed(discordance) > tasks:
        return None
    low, high = 0.0, discordance
    for _ in range(100):
        middle = (low + high) / 2
        if middle == 0 or needed(middle) > tasks:
            low = middle
        else:
            high = middle
    return max(high, fewest)


def detectable_mean_difference(
    standard_error: float, tasks: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest mean difference that a t test over tasks finds: (t + z) x standard error.

    None when the differences do not vary: their error is then unknown, not zero.
    """
    if tasks < 2 or standard_error <= 0:
        return None
    from .intervals import t_quantile

    return (t_quantile(1 - alpha, tasks - 1) + NormalDist().inv_cdf(power)) * standard_error


def _fewest_discordant(alpha: float) -> int:
    """Least n with 2 x 0.5^n <= alpha: fewer discordant pairs can never reach significance."""
    return max(1, math.ceil(math.log2(2 / alpha)))
