"""The dual layer: right x, right derivative, over the whole class of problems."""

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dglbench.layers.cvxpylayers import CvxpylayersQuadratic
from dglbench.layers.dual import DualEntropy, DualQuadratic
from dglbench.problem import Problem
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench.structure.matrices import pick_one

from .class_problems import PROBLEMS, SHARED

STRENGTHS = (1e-3, 1e-2, 0.1, 1.0, 10.0)
LAYERS = {"tau": DualEntropy, "mu": DualQuadratic}
KINDS = list(PROBLEMS)
lawful = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def draws(problem: Problem, seed: int, ties: bool = False) -> torch.Tensor:
    count = problem.instances or 4
    values = np.random.default_rng(seed).normal(size=(count, *problem.shape))
    return torch.tensor(np.round(values) if ties else values)


def regularised(symbol, strength, values, x):
    """y·x − Ω(x)."""
    if symbol == "mu":
        penalty = strength / 2 * x**2
    else:
        penalty = strength * x * np.log(np.maximum(x, 1e-300))
    return (values * x - penalty).sum(axis=(1, 2))


def check_optimal(layer, symbol, strength, values, x, at):
    """x keeps every constraint, and its value meets an upper bound on every other's."""
    mask = np.broadcast_to(at.mask, x.shape)
    assert (x[~mask] == 0.0).all()
    assert (x >= 0.0).all()
    np.testing.assert_allclose(x.sum(axis=2), 1.0, atol=1e-12)
    unit = np.maximum(1.0, np.abs(at.b))
    over = (at.usage(x) - at.b) / unit
    assert (over <= 2e-9).all()
    assert (np.abs(over)[:, at.equality] <= 2e-9).all()
    duals = layer.duals
    assert (duals[:, ~at.equality] >= 0.0).all()
    # b·λ + Σ_g max_x (y − Aᵀλ)_g·x − Ω(x) bounds every feasible value; at x's own scores the
    # inner maximum is x, so the gap is λ·(b − A x).
    gap = (duals * (at.b - at.usage(x))).sum(axis=1)
    assert (np.abs(gap) <= 1e-7 * np.maximum(1.0, np.abs(duals).sum(axis=1))).all()


@lawful
@given(
    data=st.data(),
    kind=st.sampled_from(KINDS),
    symbol=st.sampled_from(list(LAYERS)),
    strength=st.sampled_from(STRENGTHS),
    seed=st.integers(0, 10_000),
    ties=st.booleans(),
)
def test_every_instance_is_solved_cold_and_warm(data, kind, symbol, strength, seed, ties):
    problem = data.draw(PROBLEMS[kind])
    layer = LAYERS[symbol](problem, **{symbol: strength})
    values = draws(problem, seed, ties)
    rows = torch.arange(len(values))
    moves = [0.0, 0.05, 3.0]
    for move in moves:
        there = values + move * draws(problem, seed + 1)
        x = layer.solve(there, rows).numpy()
        assert layer.failures == 0
        assert (layer.residuals <= 1e-9).all()
        check_optimal(layer, symbol, strength, there.numpy(), x, problem)
    cold = LAYERS[symbol](problem, **{symbol: strength}).solve(there, rows).numpy()
    # The regularised value is flat at its top: x may differ by the root of what it differs by.
    np.testing.assert_allclose(
        regularised(symbol, strength, there.numpy(), x),
        regularised(symbol, strength, there.numpy(), cold),
        atol=1e-7,
    )
    np.testing.assert_allclose(x, cold, atol=1e-4)


def reference(problem, symbol, strength, values):
    """x of one instance: Clarabel's on the program itself, then polished at its active set."""
    kept = np.flatnonzero(problem.mask.ravel())
    x = cp.Variable(len(kept))
    rows, picked = problem.matrix[:, kept], pick_one(problem.shape)[:, kept]
    penalty = cp.sum_squares(x) / 2 if symbol == "mu" else -cp.sum(cp.entr(x))
    limits = ~problem.equality
    constraints = [picked @ x == 1, x >= 0]
    if limits.any():
        constraints.append(rows[limits] @ x <= problem.b[limits])
    if problem.equality.any():
        constraints.append(rows[problem.equality] @ x == problem.b[problem.equality])
    scores = values.ravel()[kept] / strength
    program = cp.Problem(cp.Maximize(scores @ x - penalty), constraints)
    # With entropy, a cone program, Clarabel does not always come closer than 1e-8.
    tight = dict.fromkeys(
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10 if symbol == "mu" else 1e-8
    )
    program.solve(solver="CLARABEL", **tight)
    full = (problem.b - rows @ x.value <= 1e-5) | problem.equality
    met = np.concatenate([picked.toarray(), rows.toarray()[full]])
    level = np.concatenate([np.ones(problem.groups), problem.b[full]])
    polish = _polished_square if symbol == "mu" else _polished_entropy
    exact = np.zeros(problem.size)
    exact[kept] = polish(scores, met, level, x.value)
    # A wrong active set would break a constraint, or leave a direction in which the value grows:
    # x is the optimum if no feasible point is better by the gradient at x.
    assert exact.min() >= 0.0
    assert (problem.matrix @ exact - problem.b)[limits].max(initial=0.0) <= 1e-10
    whole = np.where(problem.mask.ravel(), values.ravel() / strength, 0.0)
    slope = whole - (exact if symbol == "mu" else np.log(np.maximum(exact, 1e-300)))
    ahead = OrtoolsSolver(problem).relax(slope.reshape(1, *problem.shape)).ravel()
    assert slope @ (ahead - exact) <= 1e-9 * max(1.0, np.abs(slope).max())
    return exact.reshape(problem.shape)


def _polished_square(scores, met, level, near):
    """Solve the linear optimality conditions with the entries at 0 and the full rows given."""
    used = near > 1e-6
    part = met[:, used]
    count, rows = part.shape[1], len(part)
    system = np.block([[np.eye(count), part.T], [part, np.zeros((rows, rows))]])
    found = np.linalg.lstsq(system, np.concatenate([scores[used], level]), rcond=None)[0]
    x = np.zeros(len(scores))
    x[used] = found[:count]
    assert np.abs(part @ x[used] - level).max() <= 1e-10
    return x


def _polished_entropy(scores, met, level, near):
    """Newton's method on met·x = level, x = exp(scores − metᵀ prices), from Clarabel's x."""
    log = np.log(np.maximum(near, 1e-300))
    weight = np.sqrt(np.maximum(near, 0.0))
    prices = np.linalg.lstsq(weight[:, None] * met.T, weight * (scores - log), rcond=None)[0]
    for _ in range(50):
        x = np.exp(scores - met.T @ prices)
        off = met @ x - level
        if np.abs(off).max() <= 1e-14:
            break
        prices = prices + np.linalg.lstsq((met * x) @ met.T, off, rcond=1e-15)[0]
    assert np.abs(off).max() <= 1e-12
    return x


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize(
    ("symbol", "strength"),
    [("mu", 1e-3), ("mu", 0.1), ("mu", 10.0), ("tau", 0.01), ("tau", 0.1), ("tau", 10.0)],
)
@pytest.mark.parametrize("ties", [False, True])
def test_x_is_that_of_the_whole_program(name, symbol, strength, ties):
    problem = SHARED[name]
    values = draws(problem, 7, ties)
    layer = LAYERS[symbol](problem, **{symbol: strength})
    rows = torch.arange(len(values))
    layer.solve(values + 0.1 * draws(problem, 8), rows)
    warm = layer.solve(values, rows).numpy()
    cold = LAYERS[symbol](problem, **{symbol: strength}).solve(values).numpy()
    for one, *found in zip(values.numpy(), cold, warm, strict=True):
        expected = reference(problem, symbol, strength, one)
        for x in found:
            np.testing.assert_allclose(x, expected, atol=1e-8, rtol=0)


@lawful
@given(
    data=st.data(),
    kind=st.sampled_from(KINDS),
    symbol=st.sampled_from(list(LAYERS)),
    strength=st.sampled_from(STRENGTHS),
    seed=st.integers(0, 10_000),
)
def test_gradients_equal_differences_of_x(data, kind, symbol, strength, seed):
    """Along random directions, wherever x has one derivative and not two."""
    problem = data.draw(PROBLEMS[kind])
    layer = LAYERS[symbol](problem, **{symbol: strength})
    values, pull, direction = (draws(problem, seed + k) for k in range(3))
    rows = torch.arange(len(values))
    step = 1e-4 * strength
    middle = layer.solve(values, rows)
    gradient = layer.pull_back(pull)
    mask = torch.tensor(np.broadcast_to(problem.mask, values.shape).copy())
    assert not gradient[~mask].any()
    ahead = layer.solve(values + step * direction, rows)
    behind = layer.solve(values - step * direction, rows)
    forward, backward = (ahead - middle) / step, (middle - behind) / step
    kink = ((forward - backward) * strength).abs().amax(dim=(1, 2)) > 1e-3
    measured = (pull * (forward + backward) / 2).sum(dim=(1, 2)) * strength
    predicted = (gradient * direction).sum(dim=(1, 2)) * strength
    torch.testing.assert_close(predicted[~kink], measured[~kink], atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("name", ["matching", "knapsack", "two-knapsacks"])
def test_it_agrees_with_cvxpylayers(name):
    problem = SHARED[name]
    values, pull = draws(problem, 1), draws(problem, 2)
    ours, theirs = DualQuadratic(problem, mu=0.5), CvxpylayersQuadratic(problem, mu=0.5)
    torch.testing.assert_close(ours.solve(values), theirs.solve(values), atol=2e-3, rtol=0)
    torch.testing.assert_close(ours.pull_back(pull), theirs.pull_back(pull), atol=2e-2, rtol=0)


def test_an_instance_without_a_solution_is_counted_and_left_out():
    problem = SHARED["knapsack"]
    layer = DualQuadratic(problem, mu=0.5)
    values = draws(problem, 1)
    values[1] = torch.nan
    x = layer.solve(values)
    assert layer.failures == 1
    assert not x[1].any()
    assert x[0].any()
    gradient = layer.pull_back(torch.ones_like(values).cumsum(dim=2))
    assert not gradient[1].any()
    assert gradient.isfinite().all()


def test_a_known_row_starts_where_it_ended():
    problem = SHARED["matching"]
    values = draws(problem, 5)
    layer = DualEntropy(problem, tau=0.1)
    rows = torch.tensor([7, 2, 9, 4])
    first = layer.solve(values, rows)
    start = layer.duals.copy()
    again = layer.solve(values[[2, 0]], rows[[2, 0]])
    torch.testing.assert_close(again, first[[2, 0]], atol=1e-12, rtol=0)
    assert (layer.duals == start[[2, 0]]).all()  # no step was needed


def test_a_large_grid_is_solved_in_a_band_as_it_is_in_full(monkeypatch):
    size = 9
    right = [(v, v + 1) for v in range(size * size) if (v + 1) % size]
    down = [(v, v + size) for v in range(size * (size - 1))]
    problem = Problem.paths([*right, *down], 0, size * size - 1)
    assert problem.structure.band.width <= 2 * size
    values, pull = draws(problem, 3), draws(problem, 4)
    answers = []
    for _ in range(2):
        layer = DualEntropy(problem, tau=0.5)
        answers.append((layer.solve(values), layer.pull_back(pull)))
        assert layer.failures == 0
        monkeypatch.setitem(problem.structure.__dict__, "band", None)  # in full the second time
    torch.testing.assert_close(answers[0][0], answers[1][0], atol=1e-8, rtol=0)
    torch.testing.assert_close(answers[0][1], answers[1][1], atol=1e-6, rtol=0)
