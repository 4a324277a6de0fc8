"""Theorem 1 of the paper, instance by instance, on random matchings."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglbench.methods import Constraints
from dglbench.methods.diagnostics import dual_health, error_bound, regret_bound
from dglbench.problem import Problem
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools import OrtoolsSolver


def matching(n, locations, slack):
    room = -(-n // locations) + slack
    heads = np.broadcast_to(np.eye(locations)[:, None, :], (locations, n, locations))
    return Problem.build(heads, [room] * locations)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    n=st.integers(2, 14),
    locations=st.integers(2, 4),
    slack=st.integers(0, 2),
    tau=st.sampled_from([0.02, 0.1, 0.5, 1.0]),
    error=st.sampled_from([0.05, 0.3, 1.0]),
)
def test_regret_is_below_the_bound_for_every_instance(seed, n, locations, slack, tau, error):
    problem = matching(n, locations, slack)
    draws = np.random.default_rng(seed)
    labels = draws.random((6, n, locations))
    predictions = labels + error * draws.normal(size=labels.shape)
    solver = BatchedMatching(problem)
    regret = (labels * (solver.decide(labels) - solver.decide(predictions))).sum(axis=(1, 2))
    y, guess = torch.tensor(labels), torch.tensor(predictions)
    terms = regret_bound(Constraints(problem), y, guess, solver.duals(y), solver.duals(guess), tau)
    assert (regret <= terms["bound"] + 1e-9).all()
    assert (terms["margin_true"] >= 0).all()
    assert (terms["margin_predicted"] >= 0).all()
    second = error_bound(Constraints(problem), y, guess, solver.duals(guess), tau)
    assert (regret <= second["error_bound"] + 1e-9).all()
    assert (second["adjusted_gap"] >= -1e-12).all()


def test_the_margin_terms_vanish_with_the_temperature():
    problem = matching(9, 3, 1)
    labels = torch.tensor(np.random.default_rng(1).random((20, 9, 3)))
    duals = BatchedMatching(problem).duals(labels)
    margins = [
        regret_bound(Constraints(problem), labels, labels, duals, duals, tau)["margin_true"].mean()
        for tau in (1.0, 0.1, 0.01, 0.0001)
    ]
    assert margins == sorted(margins, reverse=True)
    assert margins[-1] < 1e-2 * margins[0]


@pytest.mark.parametrize("make", [BatchedMatching, OrtoolsSolver])
def test_dual_health_is_perfect_at_optimal_duals_and_not_elsewhere(make):
    problem = matching(10, 3, 0)
    draws = np.random.default_rng(2)
    values, others = (torch.tensor(draws.random((15, 10, 3))) for _ in range(2))
    solver = make(problem)
    optimal = (values * solver.relax(values)).sum(dim=(1, 2))
    fresh = dual_health(Constraints(problem), values, solver.duals(values), optimal)
    stale = dual_health(Constraints(problem), values, solver.duals(others), optimal)
    assert fresh["dual_gap"] == pytest.approx(0, abs=1e-7)
    assert stale["dual_gap"] > 1e-3
    assert stale["share_broken"] > 0.5
