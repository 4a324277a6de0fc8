"""Best of r against brute force over all subsets, with ties and failures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglbench.report.best_of import best_of, chances

LEVELS = st.sampled_from([0.1, 0.2, 0.2, 0.3, math.inf])
"""Few levels, so that ties are common; infinite: failed."""


def by_brute_force(validation, r):
    """Each repeat's share of the subsets of r in which it is the best; ties share a subset."""
    found = np.zeros(len(validation))
    subsets = list(itertools.combinations(range(len(validation)), r))
    for subset in subsets:
        best = min(validation[at] for at in subset)
        tied = [at for at in subset if validation[at] == best]
        found[tied] += 1 / len(tied)
    return found / len(subsets)


@given(st.lists(LEVELS, min_size=1, max_size=8), st.data())
def test_chances_are_those_of_all_subsets(validation, data):
    r = data.draw(st.integers(1, len(validation)))
    found = chances(np.array(validation), r)
    assert found == pytest.approx(by_brute_force(validation, r))
    assert found.sum() == pytest.approx(1)


@given(st.lists(LEVELS, min_size=1, max_size=7), st.data())
def test_the_expectation_is_the_mean_over_subsets_that_leave_a_result(validation, data):
    r = data.draw(st.integers(1, len(validation)))
    test = [data.draw(st.floats(0, 1)) for _ in validation]
    kept = []
    for subset in itertools.combinations(range(len(validation)), r):
        best = min(validation[at] for at in subset)
        if math.isfinite(best):
            kept.append(np.mean([test[at] for at in subset if validation[at] == best]))
    found = best_of(np.array(validation), np.array(test), r)
    assert np.isnan(found) if not kept else found == pytest.approx(np.mean(kept))


def test_one_run_is_the_mean_and_all_runs_the_best_by_validation():
    validation, test = np.array([0.3, 0.1, 0.2]), np.array([0.5, 0.9, 0.4])
    assert best_of(validation, test, 1) == pytest.approx(0.6)
    assert best_of(validation, test, 3) == 0.9, "validation chooses, not test"
    assert chances(validation, 2) == pytest.approx([0, 2 / 3, 1 / 3])


def test_a_failed_repeat_ranks_last_and_stays_in_r():
    validation, test = np.array([0.1, np.nan, np.inf]), np.array([0.5, np.nan, np.nan])
    assert chances(validation, 2) == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert best_of(validation, test, 2) == 0.5


@given(st.lists(LEVELS, min_size=2, max_size=6), st.data())
def test_a_resample_counts_as_the_repeats_it_holds(validation, data):
    """Drawing a repeat twice is the same as having two that tie."""
    size = len(validation)
    counts = np.array([[data.draw(st.integers(0, 2)) for _ in validation] for _ in range(3)])
    counts[:, 0] += 2 * size - counts.sum(axis=1)  # as many in each
    r = data.draw(st.integers(1, size))
    found = chances(np.array(validation), r, counts)
    for row, held in zip(found, counts, strict=True):
        spelt = np.repeat(validation, held)
        each = chances(spelt, r)
        owner = np.repeat(np.arange(size), held)
        assert row == pytest.approx(np.bincount(owner, each, minlength=size))


def test_more_repeats_than_there_are_is_refused():
    with pytest.raises(ValueError, match="best of 4 needs as many repeats; there are 3"):
        chances(np.array([0.1, 0.2, 0.3]), 4)
