"""Fenchel–Young, smoothed and cached SPO+, LODL and LAVA against their definitions."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglbench import LAVA, LODL, CachedSPOPlus, FenchelYoung, SmoothedSPOPlus, SPOPlus
from dglbench.errors import DglbenchError, OptionError, ProblemError
from dglbench.losses.adjacent import adjacent_directions
from dglbench.methods import Batch
from dglbench.methods.lava import Lava
from dglbench.methods.spo_cached import SpoCached
from dglbench.problem import Problem
from dglbench.solvers.ortools import OrtoolsSolver

from .helpers import (
    KNAPSACK,
    MATCHING,
    PROBLEMS,
    finite_differences,
    loss_and_gradient,
    prepared,
    values,
)

TRANSPORT = Problem.assignment(4, [2.0, 1.0, 1.0], exactly=True)
PATHS = Problem.paths([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)], 0, 3)
EVERY = {**PROBLEMS, "transport": TRANSPORT, "paths": PATHS}
VARYING = MATCHING.vary(b=np.array([[2.0, 2, 3], [3.0, 3, 3], [2.0, 3, 2]]))


def smooth_optimum(problem, scores, tau):
    """The entropic program of one instance, by a conic solver: its maximum and where it is."""
    exists = np.flatnonzero(problem.mask.ravel())
    x = cp.Variable(len(exists))
    pick = np.kron(np.eye(problem.groups), np.ones(problem.options))[:, exists]
    uses, exact = problem.flat_A[:, exists], problem.equality
    rules = [pick @ x == 1]
    if (~exact).any():
        rules.append(uses[~exact] @ x <= problem.b[~exact])
    if exact.any():
        rules.append(uses[exact] @ x == problem.b[exact])
    worth = scores.ravel()[exists] @ x + tau * cp.sum(cp.entr(x))
    tight = {f"tol_{name}": 1e-11 for name in ("gap_abs", "gap_rel", "feas")}
    best = cp.Problem(cp.Maximize(worth), rules).solve(solver=cp.CLARABEL, **tight)
    found = np.zeros(problem.size)
    found[exists] = x.value
    return best, found.reshape(problem.shape)


@pytest.mark.parametrize("problem", EVERY)
@pytest.mark.parametrize("method", ["fenchel-young", "spo-smoothed"])
def test_smooth_losses_have_the_gradient_of_finite_differences(problem, method):
    instance = EVERY[problem]
    labels, predictions = values(instance, 3, 1), values(instance, 3, 2)
    ready, ledger = prepared(method, instance, labels, predictions, tau=0.4)
    loss, gradient = loss_and_gradient(ready, predictions, labels)
    assert loss > 0
    assert gradient.abs().max() > 1e-3
    assert ledger.total == {"label": 3, "train": 3, "refresh": 0, "evaluate": 0}
    # The layer meets its rows to 1e-12, so the loss is right to λ·1e-12: a step of 1e-6 would
    # measure that.
    expected = finite_differences(ready, predictions, labels, step=1e-4)
    exists = torch.tensor(instance.mask)
    torch.testing.assert_close(gradient[:, exists], expected[:, exists], atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("problem", [*PROBLEMS, "transport"])
@pytest.mark.parametrize("spo", [False, True], ids=["fenchel-young", "spo-smoothed"])
def test_smooth_losses_against_a_conic_solver(problem, spo):
    instance, tau = EVERY[problem], 0.5
    labels, predictions = values(instance, 1, 3), values(instance, 1, 4).requires_grad_()
    loss = (SmoothedSPOPlus if spo else FenchelYoung)(instance, tau=tau)(predictions, labels, [0])
    loss.backward()
    best = OrtoolsSolver(instance).relax(labels)
    scores = (2 * predictions - labels if spo else predictions).detach()
    maximum, soft = smooth_optimum(instance, scores.numpy()[0], tau)
    penalty = tau * torch.special.xlogy(best, best).sum()
    direct = maximum - float((scores * best).sum() - penalty)
    assert float(loss.detach()) == pytest.approx(direct, abs=1e-8)
    expected = (2 if spo else 1) * (soft - best[0].numpy())
    assert predictions.grad[0].numpy() == pytest.approx(expected, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), problem=st.sampled_from(list(PROBLEMS)))
def test_smooth_losses_are_never_negative(seed, problem):
    instance = PROBLEMS[problem]
    labels, predictions = values(instance, 4, seed), values(instance, 4, seed + 1)
    for loss in (FenchelYoung, SmoothedSPOPlus):
        assert float(loss(instance, tau=0.2)(predictions, labels, range(4))) >= -1e-9


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), problem=st.sampled_from(list(PROBLEMS)))
def test_smooth_losses_vanish_where_the_label_is_far_beyond_their_strength(seed, problem):
    """The truth, a thousand times as large as τ: z(y) is then x*(y), but for ties."""
    instance = PROBLEMS[problem]
    labels = 100 * values(instance, 4, seed)
    for loss in (FenchelYoung, SmoothedSPOPlus):
        at_truth = float(loss(instance, tau=0.1)(labels, labels, range(4)))
        # No more than the entropy of what is left undecided.
        assert at_truth <= 0.1 * instance.groups * np.log(instance.options)
        assert at_truth < 1e-3 * float(loss(instance, tau=0.1)(-labels, labels, range(4)))


def test_smoothed_spo_tends_to_spo():
    labels, predictions = values(MATCHING, 8, 5), values(MATCHING, 8, 6)
    exact = float(SPOPlus(MATCHING)(predictions, labels, range(8)))
    smooth = [
        abs(float(SmoothedSPOPlus(MATCHING, tau=tau)(predictions, labels, range(8))) - exact)
        for tau in (0.3, 0.03, 0.003)
    ]
    assert smooth == sorted(smooth, reverse=True)
    assert smooth[-1] < 0.05


@pytest.mark.parametrize("problem", list(PROBLEMS))
def test_a_cache_that_always_solves_is_spo(problem):
    instance = PROBLEMS[problem]
    labels = values(instance, 12, 7)
    spo, _ = prepared("spo", instance, labels, labels)
    cached, ledger = prepared("spo-cached", instance, labels, labels, solve_ratio=1.0)
    for seed in range(3):
        predictions = values(instance, 12, 20 + seed)
        one, two = (loss_and_gradient(m, predictions, labels) for m in (spo, cached))
        assert one[0] == two[0]
        assert torch.equal(one[1], two[1])
    assert ledger.total["train"] == 36


def test_a_cache_that_never_solves_takes_the_best_of_the_labels_decisions():
    labels, predictions = values(MATCHING, 12, 8), values(MATCHING, 12, 9)
    cached, ledger = prepared("spo-cached", MATCHING, labels, labels, solve_ratio=0.0)
    spo, _ = prepared("spo", MATCHING, labels, labels)
    loss, _ = loss_and_gradient(cached, predictions, labels)
    best = OrtoolsSolver(MATCHING).relax(labels)
    spread = 2 * predictions - labels
    reached = torch.einsum("kgs,ngs->kn", spread, best).max(dim=1).values
    by_hand = (reached - (spread * best).sum(dim=(1, 2))).mean()
    assert loss == pytest.approx(float(by_hand))
    assert 0 <= loss <= loss_and_gradient(spo, predictions, labels)[0]
    assert ledger.total["train"] == 0


def test_the_cache_grows_by_what_is_new_and_draws_once_a_batch():
    labels = values(MATCHING, 10, 10)
    loss = CachedSPOPlus(MATCHING, solve_ratio=0.5, draws=3)
    for seed in range(20):
        loss(values(MATCHING, 10, 30 + seed), labels, range(10))
    from dglbench.streams import stream

    solved = int((stream(3, "solution cache").random(20) < 0.5).sum())
    assert loss.solves["train"] == 10 * solved
    assert 0 < solved < 20
    distinct = {tuple(x.flatten().tolist()) for x in loss.cached.round(decimals=9)}
    assert len(distinct) == len(loss.cached) > 10


def test_a_cache_refuses_instances_that_differ():
    assert "differ by instance" in SpoCached.refuses(VARYING)
    assert SpoCached.refuses(MATCHING) is None
    with pytest.raises(ProblemError, match="one feasible set"):
        CachedSPOPlus(VARYING)


def brute_force_vertices(problem):
    """Every vertex of the relaxation, from every choice of a basis."""
    size, slack = problem.size, np.flatnonzero(~problem.equality)
    exists = np.flatnonzero(problem.mask.ravel())
    pick = np.kron(np.eye(problem.groups), np.ones(problem.options))
    add = np.zeros((problem.rows, len(slack)))
    add[slack, range(len(slack))] = 1.0
    whole = np.block([[pick, np.zeros((problem.groups, len(slack)))], [problem.flat_A, add]])
    whole = whole[:, [*exists, *range(size, size + len(slack))]]
    right = np.concatenate([np.ones(problem.groups), problem.b])
    rank = np.linalg.matrix_rank(whole)
    found = {}
    for basis in itertools.combinations(range(whole.shape[1]), rank):
        part = whole[:, basis]
        if np.linalg.matrix_rank(part) < rank:
            continue
        point = np.linalg.lstsq(part, right, rcond=None)[0]
        if (point < -1e-9).any() or np.abs(part @ point - right).max() > 1e-9:
            continue
        full = np.zeros(whole.shape[1])
        full[list(basis)] = point
        found[tuple(full.round(7) + 0.0)] = full
    return whole, exists, found


def brute_force_neighbours(problem, x):
    """Two vertices share an edge if the columns that either uses have one dependence."""
    whole, exists, found = brute_force_vertices(problem)
    points = list(found.values())
    (here,) = (p for p in points if np.abs(p[: len(exists)] - x.ravel()[exists]).max() < 1e-6)
    neighbours = []
    for other in points:
        used = (other > 1e-9) | (here > 1e-9)
        if other is not here and used.sum() - np.linalg.matrix_rank(whole[:, used]) == 1:
            step = np.zeros(problem.size)
            step[exists] = (other - here)[: len(exists)]
            neighbours.append(step)
    return np.array(neighbours)


def in_order(steps):
    return steps[np.lexsort(steps.round(4).T + 0.0)]


SMALL = {
    "knapsack": Problem.knapsack([3.0, 5, 7, 3], [9.0]),
    "two rows": Problem.knapsack([[3.0, 5, 7, 3], [2.0, 1, 4, 6]], [9.0, 7.0]),
    "assignment": Problem.assignment(3, [2.0, 1.0, 1.0]),
    "exact assignment": Problem.assignment(3, [1.0, 1.0, 1.0], exactly=True),
    "top-k": Problem.top_k(5, 2),
    "paths": PATHS,
    "ragged": Problem.build(
        np.array([[[1.0, 2, 0.5], [2, 1, 0], [1, 0, 0]]]),
        [3.5],
        mask=np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool),
    ),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_adjacent_vertices_are_those_of_brute_force(name, seed):
    problem = SMALL[name]
    y = np.random.default_rng(seed).normal(size=(1, *problem.shape))
    x = OrtoolsSolver(problem).relax(y)[0]
    found = adjacent_directions(problem, x, most_bases=10_000)
    expected = brute_force_neighbours(problem, x)
    assert len(found) == len(expected) > 0
    assert in_order(found) == pytest.approx(in_order(expected), abs=1e-7)


@pytest.mark.parametrize("problem", EVERY)
def test_lava_is_zero_exactly_where_the_labels_decision_is_optimal(problem):
    instance = EVERY[problem]
    rng = np.random.default_rng(11)
    labels, others = (torch.tensor(rng.normal(size=(12, *instance.shape))) for _ in range(2))
    loss = LAVA(instance, margin=0.0, bases=10_000)
    loss.find_neighbours(labels, torch.arange(12))
    solver = OrtoolsSolver(instance)
    best = solver.relax(labels)
    for weight in (0.0, 0.2, 0.6, 1.0):
        scores = (1 - weight) * labels + weight * others
        behind = (scores * (solver.relax(scores) - best)).sum(dim=(1, 2))
        for k in range(12):
            row = torch.tensor([k])
            here = float(loss.batch_loss(Batch(row, scores[k : k + 1], labels[k : k + 1])))
            assert (here > 1e-9) == (float(behind[k]) > 1e-9)
    assert (behind > 1e-9).any()


@pytest.mark.parametrize("problem", list(PROBLEMS))
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("lava", {"margin": 0.05}),
        ("lodl", {"samples": 20}),
        ("lodl", {"samples": 20, "shape": "directed", "alpha": 0.0}),
    ],
)
def test_solver_free_losses_have_the_gradient_of_finite_differences(problem, method, options):
    instance = PROBLEMS[problem]
    labels, predictions = values(instance, 3, 12), values(instance, 3, 13)
    ready, ledger = prepared(method, instance, labels, predictions, **options)
    solved = ledger.total["label"]
    assert solved == (3 if method == "lava" else 3 * 21)
    _, gradient = loss_and_gradient(ready, predictions, labels)
    assert gradient.abs().max() > 1e-4
    expected = finite_differences(ready, predictions, labels)
    predicted = torch.tensor(instance.predicted & instance.mask)
    torch.testing.assert_close(gradient[:, predicted], expected[:, predicted], atol=1e-6, rtol=1e-6)
    assert ledger.total == {"label": solved, "train": 0, "refresh": 0, "evaluate": 0}


def test_lava_serves_instances_that_differ_and_refuses_what_is_too_large():
    labels = values(MATCHING, 3, 14)
    loss = LAVA(VARYING, bases=10_000)
    loss.find_neighbours(labels, torch.arange(3))
    for row in range(3):
        alone = MATCHING.vary(b=VARYING.b[row : row + 1])
        x = OrtoolsSolver(VARYING).relax(labels[row : row + 1], rows=[row])[0].numpy()
        expected = adjacent_directions(alone, x, 10_000)
        assert loss.neighbours(row).flatten(1).numpy() == pytest.approx(expected)
    large = Problem.assignment(1000, [600.0, 600.0])
    assert "tableau" in Lava.refuses(large)
    with pytest.raises(ProblemError, match="cannot be enumerated"):
        LAVA(large)


@pytest.mark.parametrize("shape", ["quadratic", "directed"])
@pytest.mark.parametrize("draws", [0, 1, 2])
def test_lodl_learns_which_errors_matter(shape, draws):
    """Top 1 of 6, two of them so far behind that no sample moves them to the front.

    The plain squared error charges all six alike. What cannot matter must cost less than that,
    and what is above it be the items that can.
    """
    problem = Problem.top_k(6, 1)
    labels = torch.tensor([[3.0, 2.9, 2.0, 1.0, -9.0, -9.0]], dtype=torch.float64)
    loss = LODL(problem, shape=shape, samples=2000, sigma=0.3, alpha=0.0, draws=draws)

    def cost(item, error):
        predictions = labels.clone()
        predictions[0, item] += error
        return float(loss(predictions, labels, [0]))

    assert float(loss(labels, labels, [0])) == 0.0
    assert loss.fit_error < 0.95
    costs = [(cost(item, 0.5) + cost(item, -0.5)) / 2 for item in range(6)]
    even = sum(costs) / 6
    assert max(costs[4:]) < even < max(costs[:4])
    assert sum(costs[4:]) < 0.5 * 2 * even
    if shape == "directed":  # a rival misleads when it looks too good
        assert cost(1, 0.5) > cost(1, -0.5)


def test_more_samples_fit_better():
    labels = values(KNAPSACK, 6, 15)
    errors = []
    for samples in (10, 500):
        loss = LODL(KNAPSACK, samples=samples, alpha=0.0)
        loss.fit(labels, labels, torch.arange(6))
        errors.append(loss.fit_error)
        assert loss.solves["label"] == 6 * (samples + 1)
    assert errors[1] < 0.9


def test_lodl_repeats_itself_whatever_the_order_of_rows():
    labels, predictions = values(KNAPSACK, 6, 16), values(KNAPSACK, 6, 17)
    whole = LODL(KNAPSACK, samples=10, draws=4)
    one_by_one = LODL(KNAPSACK, samples=10, draws=4)
    for k in reversed(range(6)):
        one_by_one(predictions[k : k + 1], labels[k : k + 1], [k])
    both = [float(loss(predictions, labels, range(6))) for loss in (whole, one_by_one)]
    assert both[0] == pytest.approx(both[1], rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "given", "said"),
    [
        (FenchelYoung, {"tau": 0}, "tau must be a number > 0"),
        (CachedSPOPlus, {"solve_ratio": 2}, "solve_ratio must be a number from 0 to 1"),
        (LODL, {"shape": "cubic"}, "shape must be one of quadratic, directed"),
        (LODL, {"samples": 1}, "samples must be a whole number ≥ 2"),
        (LODL, {"oracle": "guess"}, "oracle must be relax or decide"),
        (LAVA, {"margin": -1}, "margin must be a number ≥ 0"),
    ],
)
def test_bad_options_are_one_sentence(loss, given, said):
    with pytest.raises(OptionError, match=said) as caught:
        loss(MATCHING, **given)
    assert isinstance(caught.value, DglbenchError)
