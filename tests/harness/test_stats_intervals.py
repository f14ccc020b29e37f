"""Intervals for one run: against published figures, exact enumeration and seeded simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest, t, ttest_1samp

from wardround_harness.stats import (
    cluster_interval,
    effective_size,
    pass_hat_k,
    task_mean_interval,
    upper_bound,
    wilson_interval,
)

# Four standard errors: a right method fails once in 16,000 seeds, and the seed is fixed.
ERRORS = 4


def simulation_error(coverage: float, draws: int) -> float:
    return ERRORS * math.sqrt(coverage * (1 - coverage) / draws)


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_newcombes_published_limits(passed: int, total: int, low: float, high: float) -> None:
    """Newcombe, Stat. Med. 17 (1998) 857-872, table I, method 3."""
    found = wilson_interval(passed, total)
    assert found[0] == pytest.approx(low, abs=5e-5)
    assert found[1] == pytest.approx(high, abs=5e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 400), st.data())
def test_wilson_agrees_with_scipy(total: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, total))
    scipys = binomtest(passed, total).proportion_ci(method="wilson")
    assert wilson_interval(passed, total) == pytest.approx((scipys.low, scipys.high), abs=1e-12)


@pytest.mark.parametrize("rate", [0.03, 0.3, 0.5, 0.697, 0.9])
def test_wilsons_simulated_coverage_is_its_exact_coverage(rate: float) -> None:
    total, draws = 300, 40_000
    covers = np.array(
        [low <= rate <= high for low, high in (wilson_interval(k, total) for k in range(total + 1))]
    )
    exact = float(binom.pmf(np.arange(total + 1), total, rate)[covers].sum())
    seen = covers[np.random.default_rng(11).binomial(total, rate, draws)].mean()
    assert seen == pytest.approx(exact, abs=simulation_error(exact, draws))
    assert exact == pytest.approx(0.95, abs=0.025)


def test_effective_size_lies_between_tasks_and_attempts() -> None:
    identical = [0.0, 1.0, 1.0, 0.0, 1.0] * 20
    assert effective_size(identical, 4) == pytest.approx(100, rel=0.02)
    rng = np.random.default_rng(5)
    independent = (rng.binomial(4, 0.5, 2000) / 4).tolist()
    assert effective_size(independent, 4) == pytest.approx(8000, rel=0.1)
    assert effective_size([0.5] * 10, 2) == 10
    assert effective_size([1.0] * 10, 2) == 10


def test_repeats_that_are_always_alike_are_worth_one_exactly() -> None:
    """Alike repeats leave a binomial over tasks, so the exact coverage can be enumerated."""
    tasks, rate = 60, 0.7
    exact = 0.0
    for passes in range(tasks + 1):
        low, high = task_mean_interval([1.0] * passes + [0.0] * (tasks - passes), 5)
        exact += float(binom.pmf(passes, tasks, rate)) * (low <= rate <= high)
    assert exact == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("spread", [(0.5, 0.3), (4.0, 2.0), (40.0, 2.0)])
def test_intervals_by_task_means_cover_as_they_claim_however_alike_the_repeats(
    spread: tuple[float, float],
) -> None:
    """Tasks' own pass chances from a beta distribution: from nearly all-or-nothing to nearly equal."""
    tasks, repeats, draws = 300, 5, 1500
    rng = np.random.default_rng(23)
    truth = float(beta.mean(*spread))
    chances = rng.beta(*spread, size=(draws, tasks))
    means = rng.binomial(repeats, chances) / repeats
    intervals = [task_mean_interval(row.tolist(), repeats) for row in means]
    seen = sum(low <= truth <= high for low, high in intervals) / draws
    assert seen == pytest.approx(0.95, abs=simulation_error(0.95, draws))


def test_pooling_rows_would_have_covered_too_little() -> None:
    """What the method guards against: rows counted as independent."""
    tasks, repeats, draws = 300, 5, 1000
    rng = np.random.default_rng(29)
    passes = rng.binomial(repeats, rng.beta(0.5, 0.3, size=(draws, tasks))).sum(axis=1)
    truth = float(beta.mean(0.5, 0.3))
    pooled = [wilson_interval(int(count), tasks * repeats) for count in passes]
    assert sum(low <= truth <= high for low, high in pooled) / draws < 0.75


def test_clusters_of_one_size_give_the_t_interval_of_their_means() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(10, 30))
    expected = ttest_1samp(values.mean(axis=1), 0).confidence_interval(0.95)
    assert cluster_interval(values.tolist()) == pytest.approx((expected.low, expected.high))


def test_clusters_of_other_sizes_weigh_by_their_units() -> None:
    clusters = [[1.0, 0.0, 1.0], [0.0], [1.0, 1.0]]
    mean = 4 / 6
    squares = (2 - 3 * mean) ** 2 + (0 - mean) ** 2 + (2 - 2 * mean) ** 2
    half = float(t.ppf(0.975, 2)) * math.sqrt(1.5 * squares) / 6
    assert cluster_interval(clusters) == pytest.approx((mean - half, mean + half))
    assert cluster_interval([[1.0], []]) is None


def test_cluster_interval_covers_exactly_where_categories_differ_normally() -> None:
    """With normal effects of ten equal categories the t interval's coverage is 0.95 exactly."""
    draws = 4000
    rng = np.random.default_rng(7)
    effects = rng.normal(scale=0.1, size=(draws, 10, 1)) + rng.normal(scale=0.4, size=(draws, 10, 6))
    intervals = [cluster_interval(row.tolist()) for row in effects]
    seen = sum(found is not None and found[0] <= 0 <= found[1] for found in intervals) / draws
    assert seen == pytest.approx(0.95, abs=simulation_error(0.95, draws))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_hat_k_is_the_share_of_k_subsets_that_all_pass(k: int) -> None:
    for passed in range(6):
        outcomes = [True] * passed + [False] * (5 - passed)
        subsets = list(itertools.combinations(outcomes, k))
        assert pass_hat_k(passed, 5, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize("chance", [0.1, 0.55, 0.9])
def test_pass_hat_k_is_unbiased(chance: float) -> None:
    for k in range(1, 7):
        mean = sum(float(binom.pmf(x, 6, chance)) * pass_hat_k(x, 6, k) for x in range(7))
        assert mean == pytest.approx(chance**k)


@pytest.mark.parametrize(("total", "bound"), [(10, 0.26), (20, 0.14), (30, 0.10), (50, 0.06), (100, 0.03)])
def test_a_count_of_zero_has_the_published_upper_bound(total: int, bound: float) -> None:
    """Hanley and Lippman-Hand, JAMA 249 (1983) 1743-1745: the exact column of their table."""
    assert upper_bound(0, total) == pytest.approx(bound, abs=0.005)


@pytest.mark.parametrize(("events", "total"), [(0, 30), (1, 30), (7, 300), (29, 30)])
def test_the_upper_bound_is_the_rate_at_which_so_few_events_are_a_one_in_twenty_chance(
    events: int, total: int
) -> None:
    assert float(binom.cdf(events, total, upper_bound(events, total))) == pytest.approx(0.05)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=40), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_every_interval_holds_its_rate_and_stays_between_zero_and_one(
    counts: list[int], confidence: float
) -> None:
    means = [count / 4 for count in counts]
    low, high = task_mean_interval(means, 4, confidence)
    rate = sum(means) / len(means)
    assert 0 <= low <= rate + 1e-12
    assert rate - 1e-12 <= high <= 1
    assert low < high


@pytest.mark.parametrize("call", [lambda: wilson_interval(1, 0), lambda: wilson_interval(3, 2)])
def test_what_is_no_proportion_is_refused(call: object) -> None:
    with pytest.raises(ValueError):
        call()  # type: ignore[operator]
