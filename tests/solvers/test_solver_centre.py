"""Central duals lie strictly inside the optimal face, so groups keep a margin."""

import numpy as np
import pytest
from scipy.optimize import linprog
from solver_cases import batched, coefficients, knapsack, margins, matching

from dglbench.problem import Array, Problem
from dglbench.solvers.batched_knapsack import BatchedKnapsack
from dglbench.solvers.ortools import OrtoolsSolver

SHAPES = {
    "slack": matching([6, 8, 7], 20),
    "uneven": matching([9, 2, 3, 7], 20),
    "exact-fit": matching([5, 8, 7], 20),
    "closed": matching([11, 0, 10], 20),
}


@pytest.mark.parametrize("name", SHAPES)
def test_unique_optimum_leaves_a_margin(name: str) -> None:
    problem = SHAPES[name]
    values = coefficients("smooth", (200, problem.groups, problem.options), 0)
    central = margins(problem, values, batched(problem).duals(values))
    duals = OrtoolsSolver(problem).duals(values)
    vertex = margins(problem, values, duals)
    assert (central > 1e-9).all()
    # Not all: the bounds x ≤ 1 give the LP vertices that are not corners in λ alone.
    priced = (duals > 0).any(axis=1)
    assert (vertex[priced] < 1e-9).mean() > 0.9


def test_unit_weights_leave_a_margin() -> None:
    problem = knapsack([2.0] * 15, 14.0)
    values = coefficients("smooth", (100, 15, 2), 1)
    assert (margins(problem, values, BatchedKnapsack(problem).duals(values)) > 1e-9).all()


def test_no_capacity_leaves_a_margin() -> None:
    problem = knapsack([3.0, 5.0, 7.0], 0.0)
    values = coefficients("smooth", (50, 3, 2), 2)
    values[:, :, 1] = 0.0
    assert (margins(problem, values, BatchedKnapsack(problem).duals(values)) > 1e-9).all()


def face_range(problem: Problem, values: Array, direction: Array) -> tuple[float, float]:
    """Return the least and greatest value of direction·λ over all optimal λ, by HiGHS."""
    n, rows = problem.groups, problem.rows
    optimum = (values * OrtoolsSolver(problem).decide(values[None])[0]).sum()
    # Variables λ (rows) and θ (n): θ_i ≥ y_is - (Aᵀλ)_is, and Σθ + b·λ ≤ optimum.
    above = np.concatenate([-problem.flat_A.T, -np.repeat(np.eye(n), rows, axis=0)], axis=1)
    optimal = np.concatenate([problem.b, np.ones(n)])[None]
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            np.concatenate([sign * direction, np.zeros(n)]),
            A_ub=np.concatenate([above, optimal]),
            b_ub=np.concatenate([-values.ravel(), [optimum + 1e-9]]),
            bounds=[(0, None)] * rows + [(None, None)] * n,
        )
        assert found.status == 0
        ends.append(sign * found.fun)
    return ends[0], ends[1]


@pytest.mark.parametrize("name", ["slack", "uneven", "exact-fit"])
def test_centre_is_strictly_between_the_ends_of_the_face(name: str) -> None:
    problem = SHAPES[name]
    values = coefficients("smooth", (4, problem.groups, problem.options), 3)
    duals = batched(problem).duals(values)
    for utilities, prices in zip(values, duals, strict=True):
        for j in range(problem.rows):
            for k in range(-1, j):
                if k < 0 and name == "exact-fit":
                    continue  # only differences are bounded
                direction = np.eye(problem.rows)[j] - (np.eye(problem.rows)[k] if k >= 0 else 0)
                low, high = face_range(problem, utilities, direction)
                assert low - 1e-7 <= direction @ prices <= high + 1e-7
                if high - low > 1e-5:
                    assert low + 1e-7 < direction @ prices < high - 1e-7


def test_exact_fit_is_shifted_to_a_least_price_of_zero() -> None:
    problem = SHAPES["exact-fit"]
    duals = batched(problem).duals(coefficients("smooth", (50, 20, 3), 4))
    assert (duals.min(axis=1) == 0).all()


def test_knapsack_midpoint_when_the_last_item_just_fits() -> None:
    problem = knapsack([2.0, 2.0, 2.0], 4.0)
    values = np.zeros((1, 3, 2))
    values[0, :, 0] = [6.0, 2.0, 4.0]
    assert BatchedKnapsack(problem).duals(values).tolist() == [[1.5]]
    everything = knapsack([2.0, 2.0, 2.0], 6.0)
    assert BatchedKnapsack(everything).duals(values).tolist() == [[0.5]]
    spare = knapsack([2.0, 2.0, 2.0], 7.0)
    assert BatchedKnapsack(spare).duals(values).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("weights", "full"),
    [
        ([0.1, 0.2, 0.3, 0.4], 0.6),  # their sum in floating point is 0.6000000000000001
        ([0.7, 0.1, 0.1, 0.4], 0.9),  # and here 0.8999999999999999
        ([1e-7, 2e-7, 3e-7, 4e-7], 6e-7),
    ],
)
def test_a_knapsack_that_rounding_keeps_from_being_full_still_has_its_centre(weights, full):
    """Three items fill it, so every λ from the fourth ratio to the third is optimal."""
    problem, gain = knapsack(weights, full), np.array([4.0, 3.0, 2.0, 1.0]) * weights
    values = np.stack([gain, np.zeros(4)], axis=-1)[None]
    assert BatchedKnapsack(problem).duals(values)[0, 0] == pytest.approx(1.5)
