"""Both families, and solvers from elsewhere, give the same values."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linprog, milp
from solver_cases import KINDS, batched, close, coefficients, knapsack, matching, value

from dglbench.problem import Array, Problem
from dglbench.solvers.ortools import OrtoolsSolver


def random_matchings(count: int) -> list[Problem]:
    rng = np.random.default_rng(1)
    problems = []
    for _ in range(count):
        n, locations = int(rng.integers(1, 25)), int(rng.integers(1, 6))
        rooms = rng.multinomial(n, rng.dirichlet(np.ones(locations)))
        problems.append(matching((rooms + rng.integers(0, 3) * rng.integers(0, 2)).tolist(), n))
    return problems


def random_knapsacks(count: int) -> list[Problem]:
    rng = np.random.default_rng(2)
    problems = []
    for _ in range(count):
        weights = rng.integers(0, 10, size=rng.integers(1, 25)) * rng.integers(1, 4)
        capacity = np.floor(weights.sum() * rng.choice([0, 0.1, 0.25, 0.5, 0.75, 1, 1.3]))
        problems.append(knapsack(weights.tolist(), capacity))
    return problems


@pytest.mark.parametrize(
    "problems", [random_matchings(90), random_knapsacks(90)], ids=["matching", "knapsack"]
)
def test_families_agree_on_thousands_of_instances(problems: list[Problem]) -> None:
    for number, problem in enumerate(problems):
        values = coefficients(
            KINDS[number % len(KINDS)], (25, problem.groups, problem.options), number
        )
        exact, fast = OrtoolsSolver(problem), batched(problem)
        for question in ("decide", "relax"):
            mine = value(values, getattr(fast, question)(values))
            theirs = value(values, getattr(exact, question)(values))
            assert close(mine, theirs, values), (number, question)


def highs_values(problem: Problem, values: Array) -> tuple[float, float]:
    """Return HiGHS's optimum of the relaxation and of the integer problem."""
    size = problem.mask.size
    pick_one = np.kron(np.eye(problem.groups), np.ones((1, problem.options)))
    upper = problem.mask.ravel().astype(float)
    relaxed = linprog(
        -values.ravel(),
        A_ub=problem.flat_A,
        b_ub=problem.b,
        A_eq=pick_one,
        b_eq=np.ones(problem.groups),
        bounds=np.stack([np.zeros(size), upper], axis=1),
    )
    integer = milp(
        -values.ravel(),
        integrality=np.ones(size),
        bounds=(np.zeros(size), upper),
        constraints=[
            LinearConstraint(problem.flat_A, ub=problem.b),
            LinearConstraint(pick_one, 1, 1),
        ],
        options={"mip_rel_gap": 0.0},
    )
    return -relaxed.fun, -integer.fun


def ragged_problems(count: int) -> list[Problem]:
    rng = np.random.default_rng(3)
    problems = []
    for _ in range(count):
        rows, groups, options = rng.integers(1, 5), rng.integers(4, 15), rng.integers(2, 6)
        mask = rng.random((groups, options)) < 0.8
        mask[:, 0] = True
        A = rng.gamma(2.0, 1.0, size=(rows, groups, options)) * mask
        least = A[:, :, 0].sum(axis=1)
        problems.append(Problem.build(A, least * rng.uniform(1.0, 1.2, size=rows), mask))
    return problems


def test_ragged_problems_agree_with_highs() -> None:
    for number, problem in enumerate(ragged_problems(25)):
        values = coefficients("smooth", (2, problem.groups, problem.options), number)
        solver = OrtoolsSolver(problem)
        expected = np.array([highs_values(problem, one) for one in values])
        masked = np.where(problem.mask, values, 0.0)
        assert close(value(masked, solver.relax(values)), expected[:, 0], values)
        # HiGHS calls a row met within 1e-6, so it may find a little more.
        assert np.allclose(value(masked, solver.decide(values)), expected[:, 1], atol=1e-5)


def test_ragged_assignment_uses_only_existing_options() -> None:
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=bool)
    A = np.eye(3)[:, None, :] * mask[None]
    problem = Problem.build(A, [2, 1, 2], mask)
    values = coefficients("smooth", (50, 4, 3), 0)
    values[:, ~mask] = np.nan
    solver = OrtoolsSolver(problem)
    x = solver.decide(values)
    assert (x[:, ~mask] == 0).all()
    known = np.where(mask, values, 0.0)
    assert close(value(known, x), value(known, solver.relax(values)), known)


def test_one_item_that_does_not_fit_alone() -> None:
    problem = knapsack([5.0], 3.0)
    values = np.array([[[2.0, 0.0]]])
    for solver in (OrtoolsSolver(problem), batched(problem)):
        assert solver.decide(values).tolist() == [[[0.0, 1.0]]]
        assert solver.relax(values) == pytest.approx(np.array([[[0.6, 0.4]]]))
        assert solver.duals(values) == pytest.approx(0.4)


def test_leave_has_a_value_too() -> None:
    problem = knapsack([1.0, 1.0], 1.0)
    values = np.array([[[5.0, 4.5], [3.0, 0.0]]])
    for solver in (OrtoolsSolver(problem), batched(problem)):
        assert solver.decide(values)[0, :, 0].tolist() == [0.0, 1.0]
        assert solver.relax(values)[0, :, 0].tolist() == [0.0, 1.0]


def test_weights_that_are_not_integers() -> None:
    problem = knapsack([0.5, 1.25, 2.3, 0.7], 2.9)
    values = coefficients("smooth", (20, 4, 2), 4)
    ours, theirs = batched(problem).decide(values), OrtoolsSolver(problem).decide(values)
    assert (ours == theirs).all()
    assert close(
        value(values, ours), np.array([highs_values(problem, y)[1] for y in values]), values
    )
