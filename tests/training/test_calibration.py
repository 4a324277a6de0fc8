"""What to expect of a plan: a line from promised to realised value, and its interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglbench.training.calibration import FEWEST, calibrate


def test_an_exact_line_is_found_and_its_interval_is_a_point():
    promised = np.linspace(10, 20, 12)
    expected = calibrate(promised, 3 + 0.5 * promised).expect(np.array([12.0, 16.0]))
    assert expected.value == pytest.approx(10)
    assert expected.high - expected.low == pytest.approx(0, abs=1e-9)
    assert expected.within


@given(st.integers(0, 10_000))
def test_it_is_what_ordinary_least_squares_predicts(seed):
    import statsmodels.api as sm

    draws = np.random.default_rng(seed)
    promised = draws.normal(100, 5, 30)
    realised = 20 + 0.7 * promised + draws.normal(0, 3, 30)
    found = calibrate(promised, realised).expect(np.array([103.0]))
    model = sm.OLS(realised, sm.add_constant(promised)).fit()
    wanted = model.get_prediction([[1.0, 103.0]]).conf_int(obs=True)[0]
    assert [found.low, found.high] == pytest.approx(list(wanted))


def test_the_interval_holds_the_mean_of_new_plans_as_often_as_it_says():
    draws = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        promised = draws.normal(100, 5, 25)
        calibration = calibrate(promised, 20 + 0.7 * promised + draws.normal(0, 3, 25))
        new = draws.normal(100, 5, 10)
        realised = 20 + 0.7 * new + draws.normal(0, 3, 10)
        expected = calibration.expect(new)
        inside += expected.low <= realised.mean() <= expected.high
    assert 0.91 < inside / 400 < 0.985


def test_predictions_that_promise_the_same_everywhere_say_the_mean():
    expected = calibrate(np.full(10, 7.0), np.arange(10.0)).expect(np.array([9.0]))
    assert expected.value == pytest.approx(4.5)
    assert not expected.within


def test_too_few_instances_say_nothing():
    assert calibrate(np.arange(FEWEST - 1.0), np.arange(FEWEST - 1.0)) is None
