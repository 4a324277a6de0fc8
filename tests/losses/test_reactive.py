"""Prices that react: the gradient through λ, when λ is renewed, what is counted."""

import numpy as np
import pytest
import torch

from dglbench.layers.dual import DualEntropy
from dglbench.losses.decisions import soft_decisions
from dglbench.losses.dual_guided import DualGuidedLoss
from dglbench.methods import Batch, Constraints
from dglbench.plugins import find_method
from dglbench.problem import Problem
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools import OrtoolsSolver

from .helpers import KNAPSACK, MATCHING, PROBLEMS, loss_and_gradient, prepared, values

NAMES = ["rdgl-none", "rdgl-1", "rdgl-auto", "rdgl-step", "rdgl-newton"]
TRANSPORT = Problem.assignment(6, [2, 2, 2], exactly=True)
PATHS = Problem.paths([(u, v) for u in range(5) for v in range(u + 1, 5)], 0, 4)
WIDE = {**PROBLEMS, "transport": TRANSPORT, "paths": PATHS}


def worth_at_own_prices(problem, predictions, labels, tau):
    """−y·z(ŷ, λ(ŷ))/G, with λ solved to rounding by the layer."""
    z = DualEntropy(problem, tau=tau).solve(predictions)
    return -(labels * z).sum(dim=(1, 2)) / problem.groups


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("tau", [0.2, 1.0])
def test_the_gradient_is_that_of_the_loss_at_its_own_prices(name, tau):
    problem = WIDE[name]
    draws = np.random.default_rng(5).normal(size=(2, 3, *problem.shape))
    labels, predictions = (torch.tensor(np.where(problem.mask, part, 0.0)) for part in draws)
    criterion = DualGuidedLoss(problem, tau=tau, form="reactive", refresh="step", solver="ortools")
    inputs = predictions.clone().requires_grad_()
    loss = criterion.batch_loss(Batch(torch.arange(3), inputs, labels))
    loss.backward()
    shown = worth_at_own_prices(problem, predictions, labels, tau)
    assert float(loss.detach()) == pytest.approx(float(shown.mean()), abs=1e-9)
    step, measured = 1e-5, torch.zeros_like(predictions)
    for g, s in np.argwhere(problem.mask).tolist():
        move = torch.zeros(problem.shape, dtype=torch.float64)
        move[g, s] = step
        ahead = worth_at_own_prices(problem, predictions + move, labels, tau)
        behind = worth_at_own_prices(problem, predictions - move, labels, tau)
        measured[:, g, s] = (ahead - behind) / (2 * step) / 3
    assert inputs.grad.abs().max() > 1e-3
    torch.testing.assert_close(inputs.grad, measured, atol=2e-7, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_shown_is_what_soft_decisions_are_worth(name):
    labels, predictions = values(MATCHING, 6, 1), values(MATCHING, 6, 2)
    method, _ = prepared(name, MATCHING, labels, predictions, tau=0.3, alpha=0.0)
    loss, _ = loss_and_gradient(method, predictions, labels)
    constraints = Constraints(MATCHING)
    prices = constraints.prices(method.current_duals())
    soft = soft_decisions(predictions, prices, 0.3, constraints)
    assert loss == pytest.approx(-float((labels * soft).sum()) / (6 * MATCHING.groups), abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.4])
@pytest.mark.parametrize("problem", [KNAPSACK, MATCHING])
def test_the_error_term_is_that_of_autograd(problem, alpha):
    labels, predictions = values(problem, 5, 3), values(problem, 5, 4)
    method, _ = prepared("rdgl-none", problem, labels, predictions, tau=0.3, alpha=alpha)
    bare, _ = prepared("rdgl-none", problem, labels, predictions, tau=0.3, alpha=0.0)
    loss, gradient = loss_and_gradient(method, predictions, labels)
    without, pull = loss_and_gradient(bare, predictions, labels)
    inputs = predictions.clone().requires_grad_()
    error = alpha * Constraints(problem).mse(inputs, labels)
    error.backward()
    assert loss == pytest.approx(without + float(error.detach()))
    torch.testing.assert_close(gradient, pull + inputs.grad)


@pytest.mark.parametrize("name", NAMES)
def test_both_solver_families_lead_to_the_same_steps(name):
    """Vertex or centre: Newton steps end at the same λ of the smoothed problem."""
    labels = torch.tensor(np.random.default_rng(1).random((8, 6, 3)))
    start = torch.tensor(np.random.default_rng(2).random((8, 6, 3)))
    ends = []
    for solver in (OrtoolsSolver(MATCHING), BatchedMatching(MATCHING)):
        choice = find_method(name)
        options = choice.cls.Options(**choice.from_name, tau=0.1)
        rule = choice.cls(options)._rule()
        criterion = DualGuidedLoss(MATCHING, tau=0.1, form="reactive", solver=solver, **rule)
        predictions = start.clone().requires_grad_()
        for _ in range(12):
            criterion.start_epoch()
            (pull,) = torch.autograd.grad(
                criterion.batch_loss(Batch(torch.arange(8), predictions, labels)), predictions
            )
            predictions = (predictions - 0.5 * pull).detach().requires_grad_()
        ends.append(predictions.detach())
    assert (ends[0] - start).abs().max() > 0.01
    torch.testing.assert_close(*ends, atol=1e-7, rtol=0)


def test_newton_calls_no_solver_after_set_up_and_counts_its_steps_apart():
    labels, predictions = values(MATCHING, 8, 5), values(MATCHING, 8, 6)
    method, ledger = prepared("rdgl-newton", MATCHING, labels, predictions, tau=0.2)
    meter = method._criterion.solver.meter
    assert ledger.lap() == {"label": 0, "train": 0, "refresh": 8, "evaluate": 0}
    meter.lap()
    for step in range(4):
        moved = predictions + 0.05 * values(MATCHING, 8, 7 + step)
        loss_and_gradient(method, moved, labels)
    assert not any(ledger.lap().values())
    counts = {own.name: own.count for own in meter.lap()}
    assert 0 < counts["newton_steps"] <= 4 * 8 * method.options.steps


def test_newton_follows_the_prices_of_the_smoothed_problem():
    labels, predictions = values(MATCHING, 8, 5), values(MATCHING, 8, 6)
    method, _ = prepared("rdgl-newton", MATCHING, labels, predictions, tau=0.3, steps=3)
    moved = predictions + 0.1 * values(MATCHING, 8, 9)
    layer = DualEntropy(MATCHING, tau=0.3)
    layer.solve(moved)
    before = np.abs(method.current_duals().numpy() - layer.duals).max()
    loss_and_gradient(method, moved, labels)
    assert np.abs(method.current_duals().numpy() - layer.duals).max() < 1e-3 * before


def test_auto_asks_soft_decisions_and_renews_only_what_they_mislead():
    labels, predictions = values(MATCHING, 8, 16), values(MATCHING, 8, 17)
    method, ledger = prepared("rdgl-auto", MATCHING, labels, predictions, tau=0.3, delta=0.05)
    ledger.lap()
    loss_and_gradient(method, predictions, labels)  # A z = b where λ > 0: nothing misleads
    assert ledger.lap()["refresh"] == 0
    moved = predictions.clone()
    moved[3, :, 0] += 2.0  # crowds into location 0
    moved[5, :, 0] += 0.001  # by less than δ
    loss_and_gradient(method, moved, labels)
    assert ledger.lap()["refresh"] == 1
    expected = DualEntropy(MATCHING, tau=0.3)
    expected.solve(moved[3:4])
    np.testing.assert_allclose(method.current_duals()[3], expected.duals[0], atol=1e-8)


def test_step_renews_at_every_visit():
    labels, predictions = values(MATCHING, 6, 18), values(MATCHING, 6, 19)
    method, ledger = prepared("rdgl-step", MATCHING, labels, predictions, tau=0.3)
    ledger.lap()
    for _ in range(3):
        loss_and_gradient(method, predictions, labels)
    assert ledger.lap()["refresh"] == 18
