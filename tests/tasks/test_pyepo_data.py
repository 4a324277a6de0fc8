"""Shortest path and multi-knapsack have PyEPO's data, to the last bit."""

import numpy as np
import pytest

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.solvers.batched_paths import BatchedPaths
from dglbench.task import SPLITS
from dglbench_tasks.shortest_path import grid_edges

# Printed by PyEPO 2.2.7 for 35 instances, seed 135, degree 6 and noise 0.5.
FEATURES = [0.1897801280251363, 0.2813123936208833, 0.8040745720690332]
COSTS = [1.507056474685669, 1.1506723165512085, 0.5673003196716309]
LAST_COST = 0.6983195543289185
WEIGHTS = [6.09, 6.4, 4.5, 6.31]
VALUES = [2.0, 2.0, 2.0, 1.0, 1.0, 2.0]


def dataset(name, seed=135, **settings):
    task = find_task(name)
    small = {"train": 20, "val": 5, "test": 10, **settings}
    return task.generate(task.parse_settings(small), seed)


def pyepo_data(module):
    """PyEPO's own generators, or a skip where it is not installed."""
    pytest.importorskip("pyepo", reason="the pyepo extra is not installed")
    from pyepo import data

    return getattr(data, module)


@pytest.mark.filterwarnings("default")  # PyEPO's own imports warn, which is not ours to fix
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_shortest_path_equals_pyepo_to_the_last_bit(degree, noise):
    theirs = pyepo_data("shortestpath")
    ours = dataset("shortest-path", n=4, width=6, features=3, degree=degree, noise=noise)
    features, costs = theirs.genData(35, 3, (4, 6), degree, noise, seed=135)
    assert ours.features.tobytes() == features.tobytes()
    assert ours.labels.tobytes() == costs.astype(np.float64).tobytes()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("degree", [1, 4, 6])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_multi_knapsack_equals_pyepo_to_the_last_bit(degree, noise):
    theirs = pyepo_data("knapsack")
    ours = dataset("multi-knapsack", n=9, dimensions=3, features=4, degree=degree, noise=noise)
    weights, features, values = theirs.genData(35, 4, 9, 3, degree, noise, seed=135)
    assert np.array_equal(ours.constants["weights"], weights)
    assert ours.features.tobytes() == features.tobytes()
    assert ours.labels.tobytes() == values.astype(np.float64).tobytes()


def test_shortest_path_has_the_numbers_that_pyepo_2_2_7_gave():
    ours = dataset("shortest-path")
    assert ours.features[0, :3].tolist() == FEATURES
    assert ours.labels[0, :3].tolist() == COSTS
    assert ours.labels[-1, -1] == LAST_COST


def test_multi_knapsack_has_the_numbers_that_pyepo_2_2_7_gave():
    ours = dataset("multi-knapsack")
    assert ours.constants["weights"][1][:4] == WEIGHTS
    assert ours.labels[0, :6].tolist() == VALUES


def test_the_split_follows_the_order_of_the_draws():
    split = dataset("shortest-path").split
    assert split.tolist() == [0] * 20 + [1] * 5 + [2] * 10
    assert [SPLITS[i] for i in (0, 1, 2)] == ["train", "val", "test"]


def test_edges_go_row_by_row_east_before_south():
    assert grid_edges(2, 3).tolist() == [[0, 1], [1, 2], [0, 3], [1, 4], [2, 5], [3, 4], [4, 5]]


@pytest.mark.parametrize(("height", "width"), [(2, 2), (5, 5), (3, 7), (50, 50)])
def test_grids_have_all_their_edges(height, width):
    edges = grid_edges(height, width)
    assert len(edges) == (height - 1) * width + (width - 1) * height
    assert len(np.unique(edges, axis=0)) == len(edges)


def test_shortest_paths_are_those_of_a_plain_recursion():
    data = dataset("shortest-path", n=4, width=5)
    solver = BatchedPaths(data.problem)
    values = data.problem.values(data.labels)
    found = data.problem.objective(values, solver.decide(values))
    edges = grid_edges(4, 5)
    for costs, length in zip(data.labels, found, strict=True):
        distance = np.full(20, np.inf)
        distance[0] = 0.0
        for (tail, head), cost in sorted(zip(edges.tolist(), costs, strict=True)):
            distance[head] = min(distance[head], distance[tail] + cost)
        assert length == pytest.approx(distance[-1])


def test_a_large_grid_is_solved_without_a_dense_array():
    data = dataset("shortest-path", n=50, degree=1)
    solver = BatchedPaths(data.problem)
    values = data.problem.values(data.labels)
    x = solver.decide(values)
    assert np.array_equal(data.problem.usage(x), np.zeros((35, data.problem.rows)))
    assert (x[:, :, :-1].sum(axis=(1, 2)) == 98).all()


def test_a_seed_that_pyepo_cannot_take_is_refused():
    with pytest.raises(OptionError, match=r"whose seeds end at 4294967295, got 4294967296"):
        dataset("shortest-path", seed=2**32)


def test_a_capacity_that_holds_nothing_is_refused():
    with pytest.raises(OptionError, match="capacity must hold at least the lightest item"):
        dataset("multi-knapsack", capacity=1.0)
