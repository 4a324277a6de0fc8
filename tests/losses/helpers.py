"""Small random problems and a hand-fed `Training`, so that a method can be tested alone."""

from __future__ import annotations

import numpy as np
import torch

from dglbench.clock import Clock, Ledger, Meter
from dglbench.layers import MeteredLayer
from dglbench.methods import Batch, Constraints, Training
from dglbench.plugins import find_layer, find_method
from dglbench.problem import Problem
from dglbench.solvers.metered import MeteredSolver
from dglbench.solvers.ortools import OrtoolsSolver

KNAPSACK = Problem.build(
    np.stack([np.array([3.0, 5, 7, 3, 5]), np.zeros(5)], axis=1)[None],
    [11.0],
    predicted=np.tile([True, False], (5, 1)),
)
MATCHING = Problem.build(np.broadcast_to(np.eye(3)[:, None, :], (3, 6, 3)), [2.0, 2.0, 3.0])
_mask = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)
RAGGED = Problem.build(
    np.where(
        _mask,
        np.array(
            [
                [[1.0, 2, 0.5], [2, 1, 0], [1, 0, 0], [0.5, 1, 2]],
                [[0.5, 1, 2], [1, 3, 0], [2, 0, 0], [1, 1, 1]],
            ]
        ),
        0.0,
    ),
    [5.0, 6.0],
    mask=_mask,
)
PROBLEMS = {"knapsack": KNAPSACK, "matching": MATCHING, "ragged": RAGGED}


def values(problem: Problem, count: int, seed: int) -> torch.Tensor:
    """Random coefficients, 0 where nothing is predicted."""
    draws = np.random.default_rng(seed).normal(size=(count, *problem.mask.shape))
    return torch.tensor(np.where(problem.predicted, draws, 0.0))


def prepared(name: str, problem: Problem, labels: torch.Tensor, predictions: torch.Tensor, **given):
    """Return a method that is ready for `loss`, and the ledger of its solver."""
    choice = find_method(name)
    method = choice.cls(choice.cls.Options(**choice.from_name, **given))
    ledger = Ledger()
    meter = Meter(Clock(), ledger)
    method.prepare(
        Training(
            constraints=Constraints(problem),
            labels=labels,
            solver=MeteredSolver(OrtoolsSolver(problem), meter),
            predict=predictions.detach,
            meter=meter,
            layer=lambda name, **own: MeteredLayer(find_layer(name)(problem, **own), meter),
        )
    )
    return method, ledger


def loss_and_gradient(method, predictions: torch.Tensor, labels: torch.Tensor):
    """Loss of one batch that holds every instance, and its gradient in the predictions."""
    inputs = predictions.clone().requires_grad_()
    loss = method.loss(Batch(torch.arange(len(labels)), inputs, labels))
    (gradient,) = torch.autograd.grad(loss, inputs)
    return float(loss.detach()), gradient


def finite_differences(method, predictions: torch.Tensor, labels: torch.Tensor, step: float = 1e-6):
    """The same gradient, by central differences over every existing option."""
    rows = torch.arange(len(labels))
    gradient = torch.zeros_like(predictions)
    for index in torch.cartesian_prod(*(torch.arange(size) for size in predictions.shape)):
        place = tuple(index.tolist())
        sides = []
        for sign in (1, -1):
            moved = predictions.clone()
            moved[place] += sign * step
            sides.append(float(method.loss(Batch(rows, moved, labels))))
        gradient[place] = (sides[0] - sides[1]) / (2 * step)
    return gradient
