"""Intervals over data seeds cover as often as they say."""

import numpy as np
import pytest

from dglbench.report.statistics.intervals import t_interval

SIMULATIONS = 2000


def cells(rng, seeds, repeats=4):
    """(simulations, seeds): means over repeats that end in one of two basins, on each data seed."""
    level = rng.normal(0.10, 0.02, (SIMULATIONS, seeds, 1))
    worse = 0.03 * (rng.random((SIMULATIONS, seeds, repeats)) < 0.3)
    return (level + worse + rng.normal(0, 0.004, worse.shape)).mean(axis=2)


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_over_data_seeds_cover(seeds):
    rng = np.random.default_rng(seeds)
    low, high = t_interval(cells(rng, seeds))
    truth = 0.10 + 0.3 * 0.03
    assert 0.93 <= ((low <= truth) & (truth <= high)).mean() <= 0.97


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_intervals_of_differences_paired_by_data_seed_cover_and_are_narrower(seeds):
    rng = np.random.default_rng(100 + seeds)
    hard = rng.normal(0, 0.03, (SIMULATIONS, seeds))  # a data seed is as hard for both methods
    one, other = cells(rng, seeds) + hard, cells(rng, seeds) + hard - 0.005
    low, high = t_interval(one - other)
    assert 0.93 <= ((low <= 0.005) & (high >= 0.005)).mean() <= 0.97
    alone = [t_interval(each) for each in (one, other)]
    unpaired = sum((upper - lower) ** 2 for lower, upper in alone) ** 0.5
    assert (high - low).mean() < 0.9 * unpaired.mean()


def test_many_intervals_hold_together():
    rng = np.random.default_rng(3)
    means = rng.normal(size=(SIMULATIONS, 6, 5))  # six independent methods on five seeds
    low, high = t_interval(means, together=6)
    all_hold = ((low <= 0) & (high >= 0)).all(axis=1).mean()
    assert 0.93 <= all_hold <= 0.97


def test_a_bootstrap_of_three_seeds_would_not_cover():
    """Why it is t: the middle 95 % of resampled means of three numbers misses one time in five."""
    rng = np.random.default_rng(0)
    means = cells(rng, 3)
    drawn = means[np.arange(SIMULATIONS)[:, None, None], rng.integers(0, 3, (SIMULATIONS, 500, 3))]
    low, high = np.quantile(drawn.mean(axis=2), [0.025, 0.975], axis=1)
    assert ((low <= 0.109) & (high >= 0.109)).mean() < 0.85
