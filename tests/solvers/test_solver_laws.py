"""What must hold for every solver on every problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import (
    KINDS,
    brute_force,
    check_feasible,
    close,
    coefficients,
    families,
    knapsacks,
    matchings,
    ragged,
    scores,
    tolerance_of,
    value,
)

from dglbench.problem import Problem
from dglbench.solvers.ortools_flow import FlowRule

PROBLEMS = {"matching": matchings(), "knapsack": knapsacks(), "ragged": ragged()}


@pytest.mark.parametrize("structure", PROBLEMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_laws(structure: str, data: st.DataObject, kind: str, seed: int) -> None:
    problem: Problem = data.draw(PROBLEMS[structure])
    values = coefficients(kind, (4, problem.groups, problem.options), seed)
    values = np.where(problem.mask, values, 0.0)
    found = []
    for solver in families(problem):
        off = tolerance_of(solver)
        x, z, duals = solver.decide(values), solver.relax(values), solver.duals(values)
        integer, relaxed = value(values, x), value(values, z)

        check_feasible(problem, x)
        assert ((x == 0) | (x == 1)).all()
        check_feasible(problem, z, off)
        assert (relaxed - integer >= -off * np.abs(values).max() * problem.groups).all()
        if FlowRule.fits(problem):
            assert close(relaxed, integer, values, off)

        assert duals.shape == (4, problem.rows)
        assert np.isfinite(duals).all()
        assert (duals >= 0).all()
        score = scores(problem, values, duals)
        best = score.max(axis=2)
        assert close(best.sum(axis=1) + duals @ problem.b, relaxed, values, off)
        unused = problem.b - problem.usage(z)
        assert close((duals * unused).sum(axis=1), np.zeros(4), values, off)
        behind = np.where(problem.mask, best[:, :, None] - score, 0.0)
        assert close((behind * z).sum(axis=2), np.zeros(best.shape), values, off)
        found.append((integer, relaxed))
    for integer, relaxed in found:
        assert close(integer, brute_force(problem, values), values)
        assert close(relaxed, found[0][1], values)
