"""Random problems, coefficients and checks that the solver tests share."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from dglbench.errors import DglbenchError
from dglbench.plugins import SOLVERS, TASKS, find_solver, find_task, plugins
from dglbench.problem import Array, Problem
from dglbench.solvers import Solver
from dglbench.solvers.batched_knapsack import BatchedKnapsack
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools_flow import FlowRule

TOLERANCE = 1e-7
KINDS = ("smooth", "ties", "zeros", "negative", "large", "small", "constant")


def matching(rooms: list[int], n: int) -> Problem:
    rows = len(rooms)
    return Problem.build(np.eye(rows)[:, None, :] * np.ones((1, n, 1)), rooms)


def knapsack(weights: list[float], capacity: float) -> Problem:
    A = np.zeros((1, len(weights), 2))
    A[0, :, 0] = weights
    return Problem.build(A, [capacity])


def coefficients(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    smooth = 1 / (1 + np.exp(-rng.normal(size=shape)))
    return {
        "smooth": smooth,
        "ties": rng.integers(-1, 3, size=shape).astype(float),
        "zeros": np.where(rng.random(shape) < 0.5, 0.0, smooth),
        "negative": -smooth,
        "large": 1e6 * (smooth - 0.3),
        "small": 1e-6 * (smooth - 0.3),
        "constant": np.full(shape, 0.25),
    }[kind]


def batched(problem: Problem) -> Solver:
    return BatchedMatching(problem) if FlowRule.fits(problem) else BatchedKnapsack(problem)


def families(problem: Problem) -> list[Solver]:
    """Every registered family's solver for a problem, for any task that has one."""
    found: dict[type[Solver], Solver] = {}
    for family in plugins(SOLVERS):
        for task in plugins(TASKS):
            try:
                solver = find_solver(family.name).build(find_task(task.name), problem)
            except DglbenchError:  # a family may refuse what it has no structure for
                continue
            found.setdefault(type(solver), solver)
    return list(found.values())


@st.composite
def matchings(draw: st.DrawFn) -> Problem:
    """Capacities that just fit, with room to spare or none at all in places."""
    n = draw(st.integers(1, 6))
    rooms = draw(st.lists(st.integers(0, n + 2), min_size=1, max_size=4))
    lacking = n - sum(rooms)
    if lacking > 0:
        rooms[draw(st.integers(0, len(rooms) - 1))] += lacking
    return matching(rooms, n)


@st.composite
def knapsacks(draw: st.DrawFn) -> Problem:
    """Any weights ≥ 0, integer or not, and capacities from none to more than all."""
    integer = draw(st.booleans())
    one = st.integers(0, 7) if integer else st.sampled_from([0.0, 0.25, 1.3, 2.7, 3.1])
    weights = draw(st.lists(one, min_size=1, max_size=8))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 0.75, 1.0, 1.5]))
    capacity = sum(weights) * share
    return knapsack(weights, np.floor(capacity) if integer else capacity)


@st.composite
def ragged(draw: st.DrawFn) -> Problem:
    """Any A, any mask; b leaves room for at least one choice."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, groups, options = (draw(st.integers(1, top)) for top in (3, 4, 4))
    mask = rng.random((groups, options)) < 0.7
    mask[np.arange(groups), rng.integers(options, size=groups)] = True
    A = rng.normal(1.0, 1.0, size=(rows, groups, options))
    if draw(st.booleans()):
        A = np.rint(2 * A)
    A *= mask
    choice = mask.argmax(axis=1)
    used = A[:, np.arange(groups), choice].sum(axis=1)
    return Problem.build(A, used + draw(st.sampled_from([0.0, 0.3, 2.0])), mask)


def value(values: Array, x: Array) -> Array:
    return (values * x).sum(axis=(1, 2))


def scores(problem: Problem, values: Array, duals: Array) -> Array:
    """y - Aᵀλ, -inf on padding."""
    return np.where(problem.mask, values - problem.prices(duals), -np.inf)


def margins(problem: Problem, values: Array, duals: Array) -> Array:
    """(K,): how far the best option is ahead in the closest group."""
    ranked = np.sort(scores(problem, values, duals), axis=2)
    return (ranked[:, :, -1] - ranked[:, :, -2]).min(axis=1)


def close(left: Array, right: Array, values: Array, tolerance: float = TOLERANCE) -> bool:
    """Equal up to rounding, or what a solver declares, on the scale of the coefficients."""
    scale = np.abs(values).max(initial=1e-12) * values.shape[1]
    return bool((np.abs(left - right) <= tolerance * scale).all())


def tolerance_of(solver: Solver) -> float:
    """What the tests allow the relaxations and duals of a solver."""
    return max(TOLERANCE, solver.tolerance)


def check_feasible(problem: Problem, x: Array, tolerance: float = TOLERANCE) -> None:
    assert (x[np.broadcast_to(~problem.mask, x.shape)] == 0).all()
    assert np.allclose(x.sum(axis=2), 1, atol=1e-8)
    assert (x >= 0).all()
    assert (x <= 1).all()
    over = problem.usage(x) - problem.b
    room = np.broadcast_to(tolerance * np.maximum(1, np.abs(problem.b)), over.shape)
    assert (over <= room).all()
    assert (over >= -room)[:, problem.equality].all()


def brute_force(problem: Problem, values: Array) -> Array:
    """The best value of each instance over all choices of one option a group."""
    best = np.full(len(values), -np.inf)
    groups = np.arange(problem.groups)
    ever = problem.mask if problem.mask.ndim == 2 else problem.mask.any(axis=0)
    room = 1e-9 * np.maximum(1, np.abs(problem.b))
    for choice in itertools.product(*(np.flatnonzero(row) for row in ever)):
        over = problem.A[..., groups, choice].sum(axis=-1) - problem.b
        fits = ((over <= room) & ((over >= -room) | ~problem.equality)).all(axis=-1)
        fits = fits & problem.mask[..., groups, choice].all(axis=-1)
        best = np.where(fits, np.maximum(best, values[:, groups, choice].sum(axis=1)), best)
    return best
