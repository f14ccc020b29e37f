"""Paired comparison: against published examples, every permutation, and seeded simulation."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, ttest_rel

from wardround_harness.stats import (
    PairedTable,
    clustered_difference,
    detectable_difference,
    detectable_mean_difference,
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

# Fagerland, Lydersen and Laake (2013): airway hyper-responsiveness (Bentur et al. 2009), and complete
# response before and after consolidation (Cavo et al. 2012), as (both, a only, b only, neither).
BENTUR = PairedTable(both=1, a_only=1, b_only=7, neither=12)
CAVO = PairedTable(both=59, a_only=16, b_only=6, neither=80)


def test_mcnemar_gives_the_published_p_values() -> None:
    assert mcnemar(BENTUR.a_only, BENTUR.b_only).exact == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(BENTUR.a_only, BENTUR.b_only).mid_p == pytest.approx(0.0391, abs=5e-5)
    assert mcnemar(CAVO.a_only, CAVO.b_only).exact == pytest.approx(0.052479, abs=5e-7)
    assert mcnemar(CAVO.a_only, CAVO.b_only).mid_p == pytest.approx(0.034690, abs=5e-7)
    # Armitage and Berry, Statistical Methods in Medical Research (1994), p. 127: two culture media.
    assert mcnemar(12, 2).exact == pytest.approx(0.0129, abs=5e-5)


@pytest.mark.parametrize(("a_only", "b_only"), [(0, 0), (0, 5), (1, 7), (3, 3), (4, 9), (7, 6)])
def test_mcnemar_is_what_counting_every_sign_gives(a_only: int, b_only: int) -> None:
    size, seen = a_only + b_only, abs(a_only - b_only)
    sums = [abs(sum(signs)) for signs in itertools.product((-1, 1), repeat=size)]
    exact = sum(value >= seen for value in sums) / len(sums)
    mid_p = (sum(value > seen for value in sums) + 0.5 * sum(value == seen for value in sums)) / len(sums)
    found = mcnemar(a_only, b_only)
    assert found.exact == pytest.approx(exact)
    if size:
        assert found.mid_p == pytest.approx(mid_p)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.integers(-5, 5), max_size=11))
def test_sign_flips_are_counted_as_if_one_by_one(differences: list[int]) -> None:
    seen = abs(sum(differences))
    flips = itertools.product((-1, 1), repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips]
    assert sign_flip_test(differences) == pytest.approx(sum(value >= seen for value in sums) / len(sums))


def test_sign_flips_with_one_repeat_are_mcnemars_exact_test() -> None:
    for a_only, b_only in ((0, 9), (16, 6), (80, 43)):
        flips = sign_flip_test([-1] * a_only + [1] * b_only + [0] * 50)
        assert flips == pytest.approx(mcnemar(a_only, b_only).exact, rel=1e-9)


def test_tango_gives_the_published_limits() -> None:
    # Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 8.
    low, high = tango_interval(CAVO)
    assert (low, high) == pytest.approx((-0.1240, -0.0054), abs=5e-5)


def _cells(total: int) -> list[tuple[int, int, int]]:
    return [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]


@pytest.mark.parametrize(("a_only", "b_only"), [(0.1, 0.1), (0.05, 0.25), (0.02, 0.06)])
def test_tangos_simulated_coverage_is_its_exact_coverage(a_only: float, b_only: float) -> None:
    total, draws = 40, 20_000
    chances = [a_only, b_only, 1 - a_only - b_only]
    cells = _cells(total)
    truth = b_only - a_only
    covers = {}
    for a, b, rest in cells:
        low, high = tango_interval(PairedTable(both=rest, a_only=a, b_only=b, neither=0))
        covers[a, b] = low <= truth <= high
    weights = multinomial.pmf(np.array(cells), total, chances)
    exact = float(sum(w for w, (a, b, _) in zip(weights, cells, strict=True) if covers[a, b]))
    drawn = np.random.default_rng(3).multinomial(total, chances, size=draws)
    seen = sum(covers[int(a), int(b)] for a, b, _ in drawn) / draws
    assert seen == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / draws))
    assert exact > 0.92


def test_an_interval_turns_with_its_runs() -> None:
    turned = PairedTable(CAVO.both, CAVO.b_only, CAVO.a_only, CAVO.neither)
    low, high = tango_interval(CAVO)
    assert tango_interval(turned) == pytest.approx((-high, -low))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any), st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_no_worse_is_shown_exactly_when_the_interval_stays_above_the_margin(
    counts: tuple[int, int, int, int], margin: float
) -> None:
    table = PairedTable(*counts)
    found = noninferiority_score(table, margin)
    if abs(found.lower + margin) > 1e-6:
        assert found.shown == (found.lower > -margin)
    assert 0 <= found.p <= 1


def test_the_noninferiority_test_keeps_its_level_at_the_margin() -> None:
    """Enumerated, not simulated: the true difference is exactly the margin."""
    total, margin = 100, 0.1
    for discordance in (0.15, 0.3):
        chances = [(discordance + margin) / 2, (discordance - margin) / 2, 1 - discordance]
        cells = _cells(total)
        weights = multinomial.pmf(np.array(cells), total, chances)
        level = 0.0
        for weight, (a, b, rest) in zip(weights, cells, strict=True):
            if weight > 1e-9:
                level += float(weight) * noninferiority_score(PairedTable(rest, a, b, 0), margin).shown
        assert 0.015 < level < 0.032


def test_noninferiority_of_means_is_the_one_sided_t_test() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random(60), rng.random(60)
    found = noninferiority_means((b - a).tolist(), 0.05)
    expected = ttest_rel(b + 0.05, a, alternative="greater")
    assert found.p == pytest.approx(float(expected.pvalue))
    assert found.shown == (found.lower > -0.05)


def test_the_bootstrap_is_what_every_redraw_gives() -> None:
    """Two strata of 3 and 2: 3^2 x 2 redraws of n - 1 each, all of them counted."""
    strata = {"x": [0.0, 1.0, -1.0], "y": [1.0, 0.0]}
    means = sorted(
        (sum(pair) / 2) * 3 / 5 + last * 2 / 5
        for pair in itertools.product(strata["x"], repeat=2)
        for last in strata["y"]
    )
    differences = [*strata["x"], *strata["y"]]
    found = stratified_bootstrap(differences, ["x"] * 3 + ["y"] * 2, draws=40_000, confidence=0.8)
    assert found == pytest.approx((means[1], means[-2]), abs=1e-9)


def test_the_bootstrap_has_the_stratified_standard_error() -> None:
    rng = random.Random(4)
    strata = [f"task{n % 10}" for n in range(300)]
    differences = [rng.choice([-1.0, 0.0, 0.0, 1.0]) for _ in strata]
    low, high = stratified_bootstrap(differences, strata, seed=1)
    groups = [[d for d, s in zip(differences, strata, strict=True) if s == name] for name in set(strata)]
    error = math.sqrt(sum((len(g) / 300) ** 2 * standard_error(g) ** 2 for g in groups))
    assert (high - low) / (2 * 1.96) == pytest.approx(error, rel=0.04)


def test_the_bootstrap_covers_as_it_claims() -> None:
    draws, tasks = 600, 100
    rng = np.random.default_rng(17)
    strata = [n % 10 for n in range(tasks)]
    chances = np.array([[0.1, 0.7, 0.2]] * 5 + [[0.25, 0.5, 0.25]] * 5)
    truth = float((chances[:, 2] - chances[:, 0]).mean())
    hits = 0
    for seed in range(draws):
        values = [float(rng.choice([-1, 0, 1], p=chances[stratum])) for stratum in strata]
        low, high = stratified_bootstrap(values, strata, seed=seed, draws=800)
        hits += low <= truth <= high
    assert hits / draws == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / draws))


def test_the_bootstrap_is_its_seeds_alone() -> None:
    values, strata = [0.0, 1.0, -1.0, 0.5] * 20, ["a", "b"] * 40
    first = stratified_bootstrap(values, strata, seed=5)
    assert stratified_bootstrap(values, strata, seed=5) == first
    order = list(range(80))
    random.Random(0).shuffle(order)
    assert stratified_bootstrap([values[i] for i in order], [strata[i] for i in order], seed=5) == first


def test_differing_categories_widen_the_interval_over_new_categories() -> None:
    categories = [f"task{n // 30}" for n in range(300)]
    differences = [1.0 if n // 30 < 3 else 0.0 for n in range(300)]
    cluster = clustered_difference(differences, categories)
    low, high = stratified_bootstrap(differences, categories)
    assert cluster is not None
    assert cluster[1] - cluster[0] > 0.5 > high - low


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_is_closed_testing_with_bonferroni(ps: list[float]) -> None:
    names = [f"task{n}" for n in range(len(ps))]
    found = holm(dict(zip(names, ps, strict=True)))
    for index, name in enumerate(names):
        subsets = (
            set(chosen) | {index}
            for size in range(len(ps))
            for chosen in itertools.combinations([i for i in range(len(ps)) if i != index], size)
        )
        closed = max(min(1.0, len(s) * min(ps[i] for i in s)) for s in subsets)
        assert found[name] == pytest.approx(closed)


def _power(total: int, discordance: float, difference: float) -> float:
    """Exact power of the two-sided asymptotic McNemar test, over all tables."""
    chances = [(discordance - difference) / 2, (discordance + difference) / 2, 1 - discordance]
    cells = np.array(_cells(total))
    weights = multinomial.pmf(cells, total, chances)
    a, b = cells[:, 0], cells[:, 1]
    rejected = (a + b > 0) & ((b - a) ** 2 > 1.959964**2 * (a + b))
    return float(weights[rejected].sum())


@pytest.mark.parametrize("discordance", [0.1, 0.2, 0.4])
def test_the_detectable_difference_is_found_four_times_in_five(discordance: float) -> None:
    found = detectable_difference(discordance, 300)
    assert found is not None
    assert _power(300, discordance, found) == pytest.approx(0.8, abs=0.03)


def test_too_few_discordant_tasks_can_show_nothing() -> None:
    assert detectable_difference(0.0, 300) is None
    assert detectable_difference(5 / 300, 300) is None
    assert mcnemar(0, 5).exact > 0.05 > mcnemar(0, 6).exact
    assert detectable_mean_difference(0.0, 300) is None


def test_the_detectable_mean_difference_is_found_four_times_in_five() -> None:
    tasks, draws, deviation = 100, 2000, 0.3
    found = detectable_mean_difference(deviation / math.sqrt(tasks), tasks)
    assert found is not None
    values = np.random.default_rng(9).normal(found, deviation, size=(draws, tasks))
    statistics = values.mean(axis=1) / (values.std(axis=1, ddof=1) / math.sqrt(tasks))
    seen = float((np.abs(statistics) > 1.984).mean())
    assert seen == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / draws) + 0.01)


def test_the_table_counts_every_pair_once() -> None:
    table = paired_table([True, True, False, False], [True, False, True, False])
    assert (table.both, table.a_only, table.b_only, table.neither) == (1, 1, 1, 1)
    with pytest.raises(ValueError):
        paired_table([True], [])


def test_runs_that_never_differ_are_judged_by_their_number_of_tasks() -> None:
    """No variation is no certainty: ten tasks without a difference can't exclude a loss of five points."""
    assert not noninferiority_means([0.0] * 10, 0.05).shown
    assert noninferiority_means([0.0] * 300, 0.05).shown
    assert noninferiority_means([0.0] * 60, 0.05) == noninferiority_score(PairedTable(60, 0, 0, 0), 0.05)
    assert clustered_difference([0.0] * 60, [f"task{n % 10}" for n in range(60)]) is None
