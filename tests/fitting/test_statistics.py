"""What a verdict rests on, as laws of pure functions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglbench.fitting.statistics import (
    Instances,
    chosen_shares,
    compare,
    instances_needed,
)
from dglbench.report.statistics.rivals import SMALL
from dglbench.statistics import bootstrap_interval

OPTIMAL = np.full(60, 200.0)


def draws(seed=0):
    return np.random.default_rng(seed)


def test_a_clear_gain_pays_and_its_interval_is_the_paired_one():
    focused = draws().uniform(0, 4, 60)
    accurate = focused + draws(1).uniform(1, 3, 60)  # worse on every instance
    found = compare(accurate, focused, Instances(OPTIMAL))
    assert found.pays is True
    assert found.more is None
    assert 0.005 < found.difference.low < found.difference.value < found.difference.high < 0.015
    # A paired interval is far narrower than that of either regret.
    low, high = bootstrap_interval(accurate / OPTIMAL)
    assert found.difference.high - found.difference.low < (high - low) / 1.5


def test_a_gain_of_at_most_a_tenth_of_a_point_does_not_pay():
    focused = draws().uniform(0, 4, 60)
    assert compare(focused - 0.1, focused, Instances(OPTIMAL)).pays is False
    alike = compare(focused, focused, Instances(OPTIMAL))
    assert alike.pays is False
    assert alike.difference == (0.0, 0.0, 0.0)
    sure = compare(focused + 0.05 * OPTIMAL / 100, focused, Instances(OPTIMAL))
    assert 0 < sure.difference.low <= sure.difference.high < SMALL, "sure, and not worth it"
    assert sure.pays is False


def test_between_the_two_nothing_is_claimed_and_more_instances_are_asked_for():
    error = draws(3).normal(scale=20, size=60)
    found = compare(10 + error - error.mean() + 0.6, np.full(60, 10.0), Instances(OPTIMAL))
    assert found.difference.low < 0 < SMALL < found.difference.high
    assert found.pays is None
    assert found.more is not None
    assert found.more > 1000


@given(st.floats(-0.05, 0.05), st.floats(0.001, 0.5))
def test_the_number_of_instances_has_the_power_that_it_promises(difference, deviation):
    """With n instances, the estimate passes the end it is measured from in 80 % of the cases."""
    from scipy import stats

    number = instances_needed(difference, deviation)
    distance = max(difference, SMALL - difference)
    power = stats.norm.sf(1.959964 - distance / (deviation / math.sqrt(number)))
    assert power >= 0.8 - 1e-4
    fewer = stats.norm.sf(1.959964 - distance / (deviation / math.sqrt(max(number - 1, 1))))
    assert number == 1 or fewer < 0.8 + 1e-4


def test_nothing_says_how_many_instances_where_the_differences_do_not_vary():
    assert instances_needed(0.0, 0.0) is None


def test_how_sure_a_choice_is():
    sure = [np.full(40, 1.0), np.full(40, 2.0)]
    assert chosen_shares(sure, Instances(np.full(40, 10.0))) == [1.0, 0.0]
    noise = draws(5).normal(size=40)
    even = [5 + noise - noise.mean(), np.full(40, 5.0)]
    first, second = chosen_shares(even, Instances(np.full(40, 10.0)))
    assert first + second == pytest.approx(1)
    assert 0.4 < first < 0.6
    twins = [np.full(40, 1.0), np.full(40, 1.0), np.full(40, 3.0)]
    assert chosen_shares(twins, Instances(np.full(40, 10.0))) == [0.5, 0.5, 0.0]


def test_pooled_regret_divides_sums():
    optimal, regret = np.array([1e-9, 10.0, 30.0, 20.0]), np.array([1.0, 2.0, 3.0, 0.0])
    pooled = Instances(optimal, "pooled").estimate(regret)
    assert pooled.value == pytest.approx(6 / 60)
    assert pooled.low <= pooled.value <= pooled.high
    relative = Instances(optimal).estimate(regret)
    assert relative.value == pytest.approx(np.mean([0.2, 0.1, 0.0])), "the one near 0 is left out"
