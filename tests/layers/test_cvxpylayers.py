"""The quadratic layer of cvxpylayers: its optima, its gradients, and what it cannot solve."""

import diffcp
import pytest
import torch
from losses.helpers import KNAPSACK, PROBLEMS, values

from dglbench.layers.cvxpylayers import CvxpylayersQuadratic
from dglbench.losses.batch import Constraints
from dglbench.solvers.ortools import OrtoolsSolver

PROBLEM_NAMES = list(PROBLEMS)


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_quadratic_layer_solves_the_regularised_program(problem):
    """Compare with projected-gradient optimality: no feasible vertex improves on x(y)."""
    instance = PROBLEMS[problem]
    y = values(instance, 8, 6)
    x = CvxpylayersQuadratic(instance, mu=0.7).solve(y)
    constraints = Constraints(instance)
    assert (constraints.usage(x) <= constraints.b + 1e-6).all()
    torch.testing.assert_close(x.sum(dim=2), torch.ones(x.shape[:2], dtype=x.dtype))
    assert not x[:, ~constraints.mask].any()
    slope = y - 0.7 * x
    best = OrtoolsSolver(instance).relax(slope)
    improvement = (slope * (best - x)).sum(dim=(1, 2))
    assert (improvement < 1e-4).all()  # diffcp sees a cone program, solved to about 1e-5


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_quadratic_layer_pulls_back_the_derivative_of_its_solution(problem):
    """d·x(y) against central differences along random directions, away from kinks."""
    instance = PROBLEMS[problem]
    layer = CvxpylayersQuadratic(instance, mu=1.0)
    y, pull = values(instance, 12, 20), values(instance, 12, 21)
    directions = [values(instance, 12, 22 + k) for k in range(3)]
    step = 1e-3
    middle = layer.solve(y)
    gradient = layer.pull_back(pull)
    for direction in directions:
        ahead, behind = layer.solve(y + step * direction), layer.solve(y - step * direction)
        slopes = [(ahead - middle) / step, (middle - behind) / step]
        measured = (pull * (slopes[0] + slopes[1]) / 2).sum(dim=(1, 2))
        smooth = (slopes[0] - slopes[1]).abs().amax(dim=(1, 2)) < 0.02  # the same active set
        assert smooth.sum() >= 6
        predicted = (gradient * direction).sum(dim=(1, 2))
        torch.testing.assert_close(predicted[smooth], measured[smooth], atol=2e-2, rtol=2e-2)


def test_quadratic_layer_leaves_out_what_it_cannot_solve(monkeypatch):
    layer = CvxpylayersQuadratic(KNAPSACK, mu=1.0)
    y = values(KNAPSACK, 4, 7)
    whole = layer.solve(y).clone()
    grad_whole = layer.pull_back(torch.ones_like(y))
    real = layer._layer

    def stubborn(inputs):
        if (inputs[:, 0] == y[2, 0, 0]).any():
            raise diffcp.SolverError("no")
        return real(inputs)

    monkeypatch.setattr(layer, "_layer", stubborn)
    x = layer.solve(y)
    gradient = layer.pull_back(torch.ones_like(y))
    kept = [0, 1, 3]
    assert layer.failures == 1
    assert not x[2].any()
    assert not gradient[2].any()
    torch.testing.assert_close(x[kept], whole[kept])
    torch.testing.assert_close(gradient[kept], grad_whole[kept], atol=1e-5, rtol=1e-4)
