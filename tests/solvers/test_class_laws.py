"""What must hold for every solver on random problems of the whole class."""

import numpy as np
import pytest
from class_cases import INSTANCES, PROBLEMS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, milp
from solver_cases import (
    KINDS,
    brute_force,
    check_feasible,
    close,
    coefficients,
    families,
    scores,
    tolerance_of,
    value,
)

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem
from dglbench.structure.matrices import pick_one

BATCHED = ("cohorts", "weekly-seats", "acyclic", "top-k", "weekly-knapsack")


def highs(problem: Problem, values: Array, row: int) -> tuple[float, float]:
    """Return HiGHS's optima of one instance: of the relaxation and of the integer problem."""
    at = problem.take([row])
    b, mask = at.b.reshape(-1), at.mask.reshape(-1).astype(float)
    exact, picks = at.equality, pick_one(at.shape)
    lower = np.where(exact, b, -np.inf)
    relaxed = linprog(
        -values.ravel(),
        A_ub=at.matrix[np.flatnonzero(~exact)] if (~exact).any() else None,
        b_ub=b[~exact] if (~exact).any() else None,
        A_eq=np.concatenate([picks.toarray(), at.matrix.toarray()[exact]]),
        b_eq=np.concatenate([np.ones(at.groups), b[exact]]),
        bounds=np.stack([np.zeros(at.size), mask], axis=1),
    )
    integer = milp(
        -values.ravel(),
        integrality=np.ones(at.size),
        bounds=(np.zeros(at.size), mask),
        constraints=[LinearConstraint(at.matrix, lower, b), LinearConstraint(picks, 1, 1)],
        options={"mip_rel_gap": 0.0},
    )
    return -relaxed.fun, -integer.fun


@pytest.mark.parametrize("structure", PROBLEMS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_laws(structure: str, data: st.DataObject, kind: str, seed: int) -> None:
    problem: Problem = data.draw(PROBLEMS[structure])
    rows = np.arange(INSTANCES)
    values = coefficients(kind, (INSTANCES, *problem.shape), seed)
    values = np.where(problem.mask, values, 0.0)
    expected = brute_force(problem, values)
    solvers = families(problem)
    if structure in BATCHED:
        assert len(solvers) == 3
    found = []
    for solver in solvers:
        off = tolerance_of(solver)
        x, z = solver.decide(values, rows), solver.relax(values, rows)
        duals = solver.duals(values, rows)
        check_feasible(problem, x)
        check_feasible(problem, z, off)
        assert ((x == 0) | (x == 1)).all()
        assert close(value(values, x), expected, values)
        relaxed = value(values, z)
        if problem.is_integral:
            assert close(relaxed, expected, values, off)

        assert np.isfinite(duals).all()
        assert (duals >= 0)[:, ~problem.equality].all()
        score = scores(problem, values, duals)
        best = score.max(axis=2)
        assert close(best.sum(axis=1) + (duals * problem.b).sum(axis=1), relaxed, values, off)
        unused = problem.b - problem.usage(z)
        assert close((duals * unused).sum(axis=1), np.zeros(INSTANCES), values, off)
        behind = np.where(problem.mask, best[:, :, None] - score, 0.0)
        assert close((behind * z).sum(axis=2), np.zeros(best.shape), values, off)
        found.append(relaxed)
        # In another order and company, an instance's answer has the same bits.
        for question, answer in (("decide", x), ("duals", duals)):
            again = getattr(solver, question)(values[::-2], rows[::-2])
            assert again.tobytes() == np.ascontiguousarray(answer[::-2]).tobytes()
    for relaxed in found:
        assert close(relaxed, found[0], values)


@pytest.mark.parametrize("structure", PROBLEMS)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_agreement_with_highs(structure: str, data: st.DataObject, seed: int) -> None:
    problem: Problem = data.draw(PROBLEMS[structure])
    values = coefficients("smooth", (INSTANCES, *problem.shape), seed)
    values = np.where(problem.mask, values - 0.5, 0.0)
    theirs = np.array([highs(problem, y, row) for row, y in enumerate(values)])
    for solver in families(problem):
        for column, question in enumerate(("relax", "decide")):
            answer = getattr(solver, question)(values, np.arange(INSTANCES))
            assert np.allclose(value(values, answer), theirs[:, column], atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(problem=PROBLEMS["cohorts"])
def test_solvers_ask_which_instances_they_solve(problem: Problem) -> None:
    values = np.zeros((INSTANCES, *problem.shape))
    for solver in families(problem):
        with pytest.raises(SolverError, match=r"pass rows=, such as batch\.rows"):
            solver.relax(values)
        with pytest.raises(SolverError, match="one instance for each of the 4"):
            solver.relax(values, [0, 1])
