"""The statistics behind ``generate``'s table, on problems whose answer is known."""

import numpy as np
import pytest

from dglbench.data.summary import duals_are_unique, summarise, work
from dglbench.plugins import find_task
from dglbench.problem import Problem
from dglbench.solvers.ortools import OrtoolsSolver


def knapsack(weights, capacity):
    use = np.stack([np.asarray(weights, float), np.zeros(len(weights))], axis=-1)
    return Problem.build(use[None], [capacity])


def unique(problem, values):
    values = np.asarray(values, float)
    return duals_are_unique(problem, values, OrtoolsSolver(problem).relax(values[None])[0])


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        (4, True),  # the second item is taken in part: λ is its ratio
        (3, False),  # an exact fill: λ anywhere between two ratios
        (20, True),  # room is left: λ = 0
        (0, False),  # nothing fits: any λ that is high enough
    ],
)
def test_knapsack_duals(capacity, expected):
    assert unique(knapsack([3, 5, 7], capacity), [[9, 0], [10, 0], [7, 0]]) is expected


def test_units_do_not_matter():
    values = np.array([[9, 0], [10, 0], [7, 0]])
    for scale in (1e-6, 1e6):
        assert unique(knapsack([3, 5, 7], 4), values * scale) is True
        assert unique(knapsack([3, 5, 7], 3), values * scale) is False


def test_a_tie_at_the_exact_fill_leaves_no_choice():
    assert unique(knapsack([3, 3], 3), [[6, 0], [6, 0]]) is True


def matching(capacities, individuals):
    heads = np.broadcast_to(
        np.eye(len(capacities))[:, None, :], (len(capacities), individuals, len(capacities))
    )
    return Problem.build(heads, capacities)


def test_matching_duals_up_to_a_shift():
    # One seat each: an exact fit, so prices may rise together, which counts as no choice.
    # Both gain 1 at the first location, so its price difference is exactly 1.
    assert unique(matching([1, 1], 2), [[1, 0], [1, 0]]) is True
    assert unique(matching([1, 1], 2), [[1, 0], [0.5, 0]]) is False  # between 0.5 and 1
    assert unique(matching([3, 3], 2), [[1, 0], [0.5, 0]]) is True  # room everywhere
    assert unique(matching([3], 3), [[1], [2], [3]]) is True  # one location: nothing to compare


def test_summary_of_a_known_knapsack(small_data):
    task = find_task("knapsack")
    dataset = small_data("knapsack", n=12, train=30)
    ticks = []
    summary = summarise(task, dataset, ticks.append)
    assert sum(ticks) == work(task, dataset) == summary.solved == 35
    solver = OrtoolsSolver(dataset.problem)
    exact = (dataset.labels * solver.decide(dataset.labels)).sum(axis=(1, 2))
    relaxed = (dataset.labels * solver.relax(dataset.labels)).sum(axis=(1, 2))
    gap = relaxed / exact - 1
    assert summary.optimal_value_mean == pytest.approx(exact.mean())
    assert summary.gap_mean == pytest.approx(gap.mean(), abs=1e-9)
    assert summary.gap_max == pytest.approx(gap.max(), abs=1e-9)
    assert summary.fractional_share == pytest.approx((gap > 1e-9).mean(), abs=0.1)
    packed = dataset.problem.pack(dataset.labels)
    assert summary.labels["all"].median == pytest.approx(np.median(packed))
    assert summary.labels["all"].mean == pytest.approx(packed.mean())


def test_summary_leaves_the_data_as_it_is(small_data):
    dataset = small_data()
    before = dataset.labels.copy()
    summarise(find_task("matching"), dataset)
    assert np.array_equal(dataset.labels, before)


def test_matching_has_no_gap(small_data):
    summary = summarise(find_task("matching"), small_data(n=7))
    assert (summary.fractional_share, summary.gap_mean, summary.gap_max) == (0, 0, 0)
    assert 0 < summary.rows_binding < 3  # 9 seats for 7


def test_large_data_is_sampled_evenly(small_data, monkeypatch):
    from dglbench.data import summary as data_summary

    dataset = small_data(train=50)
    monkeypatch.setattr(data_summary, "_SOLVED_NUMBERS", 18 * 11)
    rows = data_summary._solved_rows(dataset, OrtoolsSolver(dataset.problem))
    assert len(rows) == 11
    assert (rows[0], rows[-1]) == (0, len(dataset.labels) - 1)
    assert set(np.diff(rows)) <= {5, 6}
