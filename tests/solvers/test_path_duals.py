"""Paths: a signal for DGL on the nodes of the path, and cycles that pay on a general graph."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from dglbench import DualGuidedLoss, SPOPlus
from dglbench.problem import Problem
from dglbench.solvers.batched_paths import BatchedPaths
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench_tasks.shortest_path import grid_edges

GRID = Problem.paths(grid_edges(4, 4), source=0, sink=15)


@pytest.mark.parametrize("family", [BatchedPaths, OrtoolsSolver])
@pytest.mark.parametrize("form", ["adjusted", "plain"])
def test_dgl_has_a_signal_at_every_choice_on_the_path(form, family):
    """Wherever the true path could turn, the predicted costs there get a gradient."""
    draws = np.random.default_rng(3)
    costs = draws.uniform(0.5, 2.0, (20, len(grid_edges(4, 4))))
    guess = torch.tensor(draws.uniform(0.5, 2.0, costs.shape), requires_grad=True)
    solver = family(GRID)
    loss = DualGuidedLoss(GRID, tau=0.5, form=form, solver=solver)
    loss(guess, torch.tensor(costs), rows=torch.arange(20)).sum().backward()
    taken = solver.decide(GRID.values(costs)).reshape(20, -1)[:, GRID.structure.option_of] > 0.5
    tails = grid_edges(4, 4)[:, 0]
    turns = np.flatnonzero(np.bincount(tails) == 2)
    on_path = np.array([[taken[k, tails == node].any() for node in turns] for k in range(20)])
    gradient = np.abs(guess.grad.numpy())
    pull = np.array([[gradient[k, tails == node].max() for node in turns] for k in range(20)])
    assert on_path.sum() > 40
    # As small as the detour over the other edge, and never nothing but rounding.
    assert pull[on_path].min() > 1e-9
    assert np.median(pull[on_path]) > 1e-4


def test_batched_duals_of_a_path_leave_nodes_beside_it_a_margin():
    """Distances to the sink alone would tie the best way from every node with *not visited*."""
    costs = np.random.default_rng(4).uniform(0.5, 2.0, (20, len(grid_edges(4, 4))))
    solver, values = BatchedPaths(GRID), GRID.values(costs)
    reduced = np.where(GRID.mask, values - GRID.prices(solver.duals(values)), -np.inf)
    beside = solver.decide(values)[:, 1:, -1] > 0.5  # the source is always on the path
    margin = reduced[:, 1:, -1] - reduced[:, 1:, :-1].max(axis=2)
    # None is left where a node's best edge lies on best ways both from the source and to the sink.
    assert (margin > -1e-9)[beside].all()
    assert (margin > 1e-9)[beside].mean() > 0.7


def test_ortools_takes_the_same_duals_as_batched_where_there_are_no_cycles():
    """Costs of either sign; every node of a grid has a way to it and on from it."""
    costs = np.random.default_rng(6).normal(size=(30, len(grid_edges(4, 4))))
    values = GRID.values(costs)
    found = OrtoolsSolver(GRID).duals(values)
    assert found == pytest.approx(BatchedPaths(GRID).duals(values), abs=1e-12)
    assert (OrtoolsSolver(GRID).duals(values[7:8]) == found[7:8]).all()


def test_duals_of_a_graph_with_cycles_lie_half_way_between_largest_and_least():
    """By linear programs: λ that reach the optimal bound, the source's potential at its highest."""
    draws = np.random.default_rng(7)
    edges = [(u, v) for u, v in itertools.permutations(range(6), 2) if v != 0 and u != 5]
    problem = Problem.paths(edges, source=0, sink=5)
    solver = OrtoolsSolver(problem)
    values = problem.values(draws.normal(0.4, 1.0, size=(8, len(edges))))
    taken = solver.decide(values)
    duals = solver.duals(values)
    # Of the variables (λ, dual of each group), an option's price and its group's dual cover its
    # value, and no more than that where it is taken.
    group = np.repeat(np.eye(problem.groups), problem.shape[1], axis=0)
    covers = np.hstack([problem.matrix.toarray().T, group])[problem.mask.ravel()]
    on_lambda = np.append(np.ones(problem.rows), np.zeros(problem.groups))
    source = np.zeros(len(on_lambda))
    source[problem.rows + problem.structure.group_of[0]] = 1.0
    for value, x, found in zip(values, taken, duals, strict=True):
        worth, used = value[problem.mask], x[problem.mask] > 0.5
        tight = {"A_ub": -covers, "b_ub": -worth, "bounds": (None, None)}
        most = linprog(-on_lambda, A_eq=covers[used], b_eq=worth[used], **tight).x
        held = np.vstack([covers[used], source]), np.append(worth[used], source @ most)
        least = linprog(on_lambda, A_eq=held[0], b_eq=held[1], **tight).x
        assert found == pytest.approx((most + least)[: problem.rows] / 2, abs=1e-7)


def test_a_cycle_that_pays_is_taken_beside_the_path():
    """SPO+ asks for the optimum at 2ŷ − y, whose costs may be negative."""
    edges = [(0, 1), (1, 4), (0, 4), (2, 3), (3, 2)]
    problem = Problem.paths(edges, source=0, sink=4)
    costs = np.array([[1.0, 1.0, 3.0, 1.0, 1.0]])
    guess = np.array([[1.0, 1.0, 3.0, -2.0, 0.5]])
    assert BatchedPaths.refuses(problem) is not None, "only graphs without cycles are batched"
    values = problem.values(2 * guess - costs)
    taken = OrtoolsSolver(problem).decide(values).reshape(-1)[problem.structure.option_of]
    assert taken.tolist() == [1, 1, 0, 1, 1]
    prediction = torch.tensor(guess, requires_grad=True)
    SPOPlus(problem)(prediction, torch.tensor(costs), rows=[0]).backward()
    assert prediction.grad[0, 3:].tolist() == [-2.0, -2.0], "the cycle's costs are raised"
    assert prediction.grad[0, :3].tolist() == [0.0, 0.0, 0.0]


def test_general_graphs_agree_with_every_set_of_edges_tried():
    draws = np.random.default_rng(5)
    edges = [(u, v) for u, v in itertools.permutations(range(4), 2) if v != 0 and u != 3]
    problem = Problem.paths(edges, source=0, sink=3)
    costs = draws.normal(size=(30, len(edges)))
    best = np.full(30, np.inf)
    for chosen in itertools.product([0, 1], repeat=len(edges)):
        out, into = np.zeros(4), np.zeros(4)
        for used, (u, v) in zip(chosen, edges, strict=True):
            out[u] += used
            into[v] += used
        if out[0] == into[3] == 1 and (out[1:3] == into[1:3]).all() and (out <= 1).all():
            best = np.minimum(best, costs @ np.array(chosen))
    values = problem.values(costs)
    found = problem.objective(values, OrtoolsSolver(problem).decide(values))
    assert found == pytest.approx(best)
