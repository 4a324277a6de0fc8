"""Every loss against its definition: finite differences, subgradients, known values."""

import diffcp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglbench.layers.cvxpylayers import CvxpylayersQuadratic
from dglbench.losses.decisions import soft_decisions
from dglbench.methods import Batch, Constraints
from dglbench.methods.diagnostics import dual_health
from dglbench.problem import Problem
from dglbench.solvers.ortools import OrtoolsSolver

from .helpers import (
    KNAPSACK,
    MATCHING,
    PROBLEMS,
    RAGGED,
    finite_differences,
    loss_and_gradient,
    prepared,
    values,
)

PROBLEM_NAMES = list(PROBLEMS)


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("two-stage", {}),
        ("dgl-none", {"tau": 0.5}),
        ("dgl-none", {"tau": 0.5, "form": "plain", "alpha": 0.3}),
        ("dgl-3", {"tau": 0.1, "alpha": 0.7}),
    ],
)
def test_gradient_equals_finite_differences(problem, method, options):
    instance = PROBLEMS[problem]
    labels, predictions = values(instance, 3, 1), values(instance, 3, 2)
    ready, _ = prepared(method, instance, labels, predictions, **options)
    _, gradient = loss_and_gradient(ready, predictions, labels)
    expected = finite_differences(ready, predictions, labels)
    assert gradient.abs().max() > 1e-3
    torch.testing.assert_close(gradient, expected, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
@pytest.mark.parametrize("oracle", ["relax", "decide"])
def test_spo_is_zero_at_the_truth_and_never_negative(problem, oracle):
    instance = PROBLEMS[problem]
    labels = values(instance, 20, 3)
    method, ledger = prepared("spo", instance, labels, labels, oracle=oracle)
    at_truth, _ = loss_and_gradient(method, labels, labels)
    assert abs(at_truth) < 1e-9
    for seed in range(20):
        loss, _ = loss_and_gradient(method, values(instance, 20, 10 + seed), labels)
        assert loss >= -1e-9
    assert ledger.total == {"label": 20, "train": 21 * 20, "refresh": 0, "evaluate": 0}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), problem=st.sampled_from(PROBLEM_NAMES))
def test_spo_subgradient_inequality(seed, problem):
    """loss(v) ≥ loss(u) + g(u)·(v − u): the loss is convex and g is a subgradient."""
    instance = PROBLEMS[problem]
    labels, u, v = (values(instance, 4, seed + k) for k in range(3))
    method, _ = prepared("spo", instance, labels, labels)
    at_u, gradient = loss_and_gradient(method, u, labels)
    at_v, _ = loss_and_gradient(method, v, labels)
    assert at_v >= at_u + float((gradient * (v - u)).sum()) - 1e-8


def test_spo_bounds_the_regret_from_above():
    labels, predictions = values(MATCHING, 30, 4), values(MATCHING, 30, 5)
    solver = OrtoolsSolver(MATCHING)
    regret = (labels * (solver.decide(labels) - solver.decide(predictions))).sum(dim=(1, 2))
    method, _ = prepared("spo", MATCHING, labels, labels)
    loss, _ = loss_and_gradient(method, predictions, labels)
    assert loss >= float(regret.mean()) - 1e-9


@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_qptl_hands_the_layers_gradient_on(alpha):
    labels, predictions = values(MATCHING, 4, 30), values(MATCHING, 4, 31)
    method, ledger = prepared("qptl", MATCHING, labels, predictions, alpha=alpha, mu=1.0)
    loss, gradient = loss_and_gradient(method, predictions, labels)
    layer, constraints = CvxpylayersQuadratic(MATCHING, mu=1.0), Constraints(MATCHING)
    x = layer.solve(predictions)
    expected = layer.pull_back(-labels / 4) + alpha * 2 * (predictions - labels) / labels.numel()
    assert loss == pytest.approx(
        float(-(labels * x).sum() / 4 + alpha * constraints.mse(predictions, labels))
    )
    torch.testing.assert_close(gradient, expected)
    assert ledger.total["train"] == 4


def test_qptl_names_too_many_failures(monkeypatch):
    labels = values(KNAPSACK, 4, 8)
    method, _ = prepared("qptl", KNAPSACK, labels, labels)

    def broken(_):
        raise diffcp.SolverError("no")

    monkeypatch.setattr(method._criterion.layer._layer, "_layer", broken)
    assert method.problems() is None
    loss, gradient = loss_and_gradient(method, labels, labels)
    assert loss == 0.0
    assert not gradient.any()
    assert "4 of 4" in method.problems()
    assert method.notes() == {"qp_failures": 4}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), tau=st.sampled_from([0.01, 0.1, 0.5, 2.0]))
def test_soft_decision_is_near_the_argmax_within_the_first_lemma(seed, tau):
    """‖e − p‖₁ ≤ 2(|g| − 1) exp(−Δ/τ) for every group, ragged ones included."""
    constraints = Constraints(RAGGED)
    scores = values(RAGGED, 5, seed)
    soft = soft_decisions(scores, torch.zeros_like(scores), tau, constraints)
    torch.testing.assert_close(soft.sum(dim=2), torch.ones(5, 4, dtype=soft.dtype))
    assert not soft[:, ~constraints.mask].any()
    for group in range(RAGGED.groups):
        options = np.flatnonzero(RAGGED.mask[group])
        for k in range(5):
            u, p = scores[k, group, options], soft[k, group, options]
            hard = torch.zeros_like(p)
            hard[u.argmax()] = 1.0
            top = torch.sort(u, descending=True).values
            margin = float(top[0] - top[1]) if len(options) > 1 else np.inf
            bound = 2 * (len(options) - 1) * np.exp(-margin / tau)
            assert float((hard - p).abs().sum()) <= bound + 1e-9


def test_soft_decision_tends_to_the_argmax():
    scores = values(MATCHING, 50, 9)
    hard = torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
    gaps = [
        float(
            (soft_decisions(scores, torch.zeros_like(scores), tau, Constraints(MATCHING)) - hard)
            .abs()
            .sum()
        )
        for tau in (1.0, 0.1, 0.01, 0.0001)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.01 * gaps[0]


def test_plain_and_adjusted_forms_differ_by_the_price_of_the_soft_decision():
    labels, predictions = values(MATCHING, 6, 10), values(MATCHING, 6, 11)
    plain, _ = prepared("dgl-none", MATCHING, labels, predictions, form="plain", tau=0.3)
    adjusted, _ = prepared("dgl-none", MATCHING, labels, predictions, tau=0.3)
    prices = Constraints(MATCHING).prices(adjusted.current_duals())
    soft = soft_decisions(predictions, prices, 0.3, Constraints(MATCHING))
    difference = float((prices * soft).sum()) / (6 * MATCHING.groups)
    batch = Batch(torch.arange(6), predictions, labels)
    assert float(adjusted.loss(batch)) - float(plain.loss(batch)) == pytest.approx(difference)


def test_duals_carry_no_gradient():
    labels, predictions = values(MATCHING, 6, 12), values(MATCHING, 6, 13).requires_grad_()
    method, _ = prepared("dgl-1", MATCHING, labels, predictions)
    assert not method.current_duals().requires_grad


def test_none_takes_duals_of_labels_and_every_of_predictions():
    labels, predictions = values(MATCHING, 6, 14), values(MATCHING, 6, 15)
    solver = OrtoolsSolver(MATCHING)
    none, none_ledger = prepared("dgl-none", MATCHING, labels, predictions)
    every, every_ledger = prepared("dgl-2", MATCHING, labels, predictions)
    assert torch.equal(none.current_duals(), solver.duals(labels))
    assert torch.equal(every.current_duals(), solver.duals(predictions))
    assert none_ledger.total["label"] == 6
    assert every_ledger.total["refresh"] == 6
    for epoch in range(5):
        every.start_epoch(epoch)
    assert every_ledger.total["refresh"] == 3 * 6  # at set-up, epoch 2 and epoch 4


def test_auto_refreshes_only_what_is_misled():
    labels = values(MATCHING, 8, 16)
    predictions = values(MATCHING, 8, 17)
    method, ledger = prepared("dgl-auto", MATCHING, labels, predictions, delta=0.0)
    before = method.current_duals().clone()
    moved = predictions.clone()
    moved[3, :, 0] += 100.0  # instance 3 now crowds into location 0, against its old prices
    method.loss(Batch(torch.arange(8), moved, labels))
    changed = (method.current_duals() != before).any(dim=1)
    assert changed[3]
    assert torch.equal(method.current_duals()[3], OrtoolsSolver(MATCHING).duals(moved[3:4])[0])
    assert ledger.total["refresh"] < 8 + 8


def test_auto_tolerates_slack_up_to_delta_and_free_rows_for_ever():
    """One location with room to spare and no price must never trigger a refresh."""
    labels = values(MATCHING, 5, 18)
    scores = torch.zeros(5, 6, 3, dtype=torch.float64)
    scores[:, :2, 0] = scores[:, 2:4, 1] = scores[:, 4:, 2] = 1.0  # 2, 2 and 2 of 2, 2 and 3
    method, ledger = prepared("dgl-auto", MATCHING, labels, scores, delta=0.0)
    ledger.lap()
    method.loss(Batch(torch.arange(5), scores, labels))
    assert ledger.lap()["refresh"] == 0


def test_auto_does_not_refresh_for_ever_where_weights_are_fractions():
    """0.1 + 0.2 + 0.3 is more than 0.6, and 0.7 + 0.1 less than 0.8, by rounding alone."""
    for weights, b, taken in (([0.1, 0.2, 0.3, 0.4], 0.6, 3), ([0.7, 0.1, 0.4], 0.8, 2)):
        A = np.stack([weights, np.zeros(len(weights))], axis=1)[None]
        problem = Problem.build(A, [b])
        scores = torch.zeros(2, len(weights), 2, dtype=torch.float64)
        scores[:, :taken, 0], scores[:, taken:, 0] = 5.0, 0.1  # the first fill the row exactly
        method, ledger = prepared("dgl-auto", problem, scores, scores, delta=0.0)
        used = Constraints(problem).usage(OrtoolsSolver(problem).decide(scores))
        assert (used != b).all()
        assert used.numpy() == pytest.approx(b)
        duals = torch.full((2, 1), 2.0, dtype=torch.float64)  # between 0.1 / 0.4 and 5 / 0.7
        method._criterion._keep(torch.arange(2), duals)
        ledger.lap()
        for _ in range(3):
            method.loss(Batch(torch.arange(2), scores, scores))
        assert ledger.lap()["refresh"] == 0
        health = dual_health(Constraints(problem), scores, duals, scores[:, :taken, 0].sum(dim=1))
        assert health["share_broken"] == 0.0


@pytest.mark.parametrize("name", ["two-stage", "spo", "qptl", "dgl-none", "dgl-2", "dgl-auto"])
def test_a_row_with_room_for_everything_changes_no_loss(name):
    """b of 1e30 counts as any other capacity that nothing can use up."""
    A = np.stack([np.full((6, 2), [1.0, 0.0]), np.full((6, 2), [2.0, 1.0])])
    labels, predictions = (torch.tensor(np.random.default_rng(k).random((4, 6, 2))) for k in (1, 2))
    found = []
    for room in (13.0, 1e30):
        method, _ = prepared(name, Problem.build(A, [3.0, room]), labels, predictions)
        found.append(loss_and_gradient(method, predictions, labels))
    (modest, gradient), (huge, huge_gradient) = found
    tolerance = 1e-3 if name == "qptl" else 1e-12
    assert huge == pytest.approx(modest, abs=tolerance)
    torch.testing.assert_close(huge_gradient, gradient, atol=tolerance, rtol=tolerance)
