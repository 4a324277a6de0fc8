"""Knapsacks of many items: the few in doubt decide, and the answer is that of all."""

from collections.abc import Iterator

import numpy as np
import pytest
from class_cases import INSTANCES, weekly_knapsacks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solver_cases import KINDS, brute_force, check_feasible, coefficients, knapsacks, value

from dglbench.problem import Array, Problem
from dglbench.solvers import batched_knapsack, knapsack_core
from dglbench.solvers.batched_knapsack import BatchedKnapsack
from dglbench.solvers.ortools import OrtoolsSolver

CASES = {"shared": knapsacks(), "weekly": weekly_knapsacks()}


@pytest.fixture
def core_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No table is small enough, and a core begins with two items."""
    monkeypatch.setattr(batched_knapsack, "MOST_BYTES", 0)
    monkeypatch.setattr(knapsack_core, "FIRST_ITEMS", 2)
    return


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("core_alone")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_cores_are_as_good_as_brute_force(
    case: str, data: st.DataObject, kind: str, seed: int
) -> None:
    problem: Problem = data.draw(CASES[case])
    rows = np.arange(INSTANCES)
    values = coefficients(kind, (INSTANCES, *problem.shape), seed)
    values = np.where(problem.mask, values, 0.0)
    solver = BatchedKnapsack(problem)
    x = solver.decide(values, rows)
    check_feasible(problem, x)
    missed = brute_force(problem, values) - value(values, x)
    assert (missed <= solver.decision_error(values) + 1e-12 * np.abs(values).max()).all()
    assert solver.decide(values[::-2], rows[::-2]).tobytes() == x[::-2].copy().tobytes()


def profits(kind: str, weights: Array, instances: int) -> Array:
    rng = np.random.default_rng(3)
    shape = (instances, len(weights))
    return {
        "independent": rng.gamma(4.0, 15.0, size=shape) * weights,
        "nearly the weight": weights + rng.normal(0, 1, size=shape),
        "the weight": np.broadcast_to(0.1 * weights, shape),
        "the weight and more": np.broadcast_to(weights + 10.0, shape),
        "all alike": np.full(shape, 2.5),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["independent", "nearly the weight", "the weight", "the weight and more", "all alike"],
)
def test_many_items_agree_with_dynamic_programming_over_all(kind: str) -> None:
    weights = np.random.default_rng(2).integers(1, 60, 500).astype(float)
    problem = Problem.knapsack(weights, weights.sum() // 2)
    values = problem.values(profits(kind, weights, 5))
    solver = BatchedKnapsack(problem)
    assert not solver._table_fits
    x = solver.decide(values)
    check_feasible(problem, x)
    theirs = value(values, OrtoolsSolver(problem).decide(values))
    assert np.abs(value(values, x) - theirs).max() <= 2 * solver.decision_error(values).max()
    assert (solver.decision_error(values) < 1e-9 * np.abs(values).max()).all()
    assert len(solver.decide(values[:0])) == 0


def test_huge_weights_are_left_to_branch_and_bound() -> None:
    weights = np.random.default_rng(4).integers(10**6, 10**7, 20).astype(float)
    problem = Problem.knapsack(weights, weights.sum() // 2)
    values = problem.values(profits("independent", weights, 3))
    solver = BatchedKnapsack(problem)
    assert (solver.decide(values) == OrtoolsSolver(problem).decide(values)).all()
