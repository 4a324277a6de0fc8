"""The curvature of a batch: held rows, singular systems, few rows and many."""

from __future__ import annotations

import numpy as np
import pytest

from dglbench.layers.dual_newton import _Search
from dglbench.layers.price_sensitivity import reacting_prices
from dglbench.layers.regularisers import Entropy, Response, apply_response
from dglbench.problem import Array, Problem


def soft_decisions(problem: Problem, count: int) -> Array:
    scores = np.exp(np.random.default_rng(3).normal(size=(count, *problem.shape)))
    return np.asarray(scores / scores.sum(axis=2, keepdims=True))


def problem_of(kind: str) -> Problem:
    if kind == "matching":  # singular: a price that all pay alike buys nothing
        return Problem.assignment(7, [3, 3, 1])
    if kind == "path":  # 62 nodes between the ends of a chain: a band
        ahead = [(node, node + step) for node in range(63) for step in (1, 2) if node + step < 64]
        return Problem.paths(ahead, 0, 63)
    weights = np.random.default_rng(4).uniform(1.0, 3.0, size=(3, 9))
    return Problem.knapsack(weights, [6.0, 6.0, 6.0])


@pytest.mark.parametrize("kind", ["matching", "knapsack", "path"])
def test_held_rows_are_as_if_they_were_not_there(kind: str) -> None:
    problem = problem_of(kind)
    draws = np.random.default_rng(5)
    response = Response(soft_decisions(problem, 6), 2.0)
    towards = draws.normal(size=(6, *problem.shape))
    reacting = draws.random((6, problem.rows)) < 0.6
    reacting[0], reacting[1] = True, False
    found = reacting_prices(problem.structure, response, towards, reacting)
    assert (found[~reacting] == 0.0).all()
    whole = problem.structure.curvature(response.z, response.weight)
    pull = problem.usage(apply_response(response, towards))
    for k, rows in enumerate(reacting):
        least = np.linalg.lstsq(whole[k][np.ix_(rows, rows)], pull[k, rows], rcond=1e-9)[0]
        assert np.allclose(found[k, rows], least, rtol=1e-6, atol=1e-4 * np.abs(towards).max())
        left = pull[k, rows] - whole[k][np.ix_(rows, rows)] @ found[k, rows]
        assert np.abs(left).max(initial=0.0) < 1e-9


def test_a_row_that_reaches_its_bound_does_not_spoil_the_others() -> None:
    # Rows of very different weights: off the diagonal the curvature is larger than on it, and a
    # factorisation that swaps rows puts a held one first.
    draws = np.random.default_rng(6)
    weights = draws.uniform(0.5, 1.5, size=(3, 8)) * [[0.1], [8.0], [1.0]]
    problem = Problem.knapsack(weights, 0.4 * weights.sum(axis=1))
    values = draws.normal(size=(50, *problem.shape))
    start = draws.uniform(0.0, 0.3, size=(50, 3)) * draws.integers(0, 2, size=(50, 3))
    search = _Search(problem, values, Entropy(), 0.5, start)
    step = search._direction(search.x, np.arange(50), search.duals, search.slope)
    curvature = problem.structure.curvature(search.x, 1.0 / 0.5)
    steepest = curvature.diagonal(axis1=1, axis2=2).max(axis=1)
    shift = 1e-2 * np.minimum(search.residual, 1.0) * steepest
    pull = search.slope + (curvature @ step[:, :, None])[:, :, 0] + shift[:, None] * step
    room = search.duals + step
    assert (start[room <= 0.0] > 0.0).any()
    assert (room >= 0.0).all()
    assert np.abs(np.minimum(room, pull)).max() < 1e-9
