"""A limited search: what it finds can be done, and nothing is better than its bound."""

import numpy as np
import pytest

from dglbench.problem import Problem
from dglbench.solvers import ortools_cpsat
from dglbench.solvers.ortools import MipRule, OrtoolsSolver
from dglbench.solvers.ortools_cpsat import CpSatRule

_rng = np.random.default_rng(5)
HARD = Problem.knapsack(_rng.integers(20, 80, size=(5, 30)), np.full(5, 600.0))
VALUES = np.zeros((6, *HARD.shape))
VALUES[:, :, 0] = HARD.structure.weights.mean(axis=0) + _rng.normal(scale=3.0, size=(6, 30))


@pytest.fixture(scope="module")
def best():
    assert CpSatRule.fits(HARD)
    return (VALUES * OrtoolsSolver(HARD).decide(VALUES)).sum(axis=(1, 2))


@pytest.mark.parametrize("limit", [1e-9, 0.01, 0.05, 100.0])
def test_the_optimum_lies_between_the_decision_and_its_bound(limit, best):
    solver = OrtoolsSolver(HARD.limited(limit))
    found = solver.decide_bounded(VALUES)
    worth = (VALUES * found.x).sum(axis=(1, 2))
    assert (found.x.sum(axis=2) == 1).all()
    assert (HARD.usage(found.x) <= HARD.b).all()
    assert (worth <= best + 1e-9).all()
    assert (best <= found.bound + solver.decision_error(VALUES)).all()
    if limit == 100.0:
        assert worth == pytest.approx(best)
        assert found.bound == pytest.approx(worth)
    if limit == 1e-9:
        assert (found.bound > worth + 1e-6).any()


def test_the_answer_is_that_of_decide_and_the_same_every_time():
    solver = OrtoolsSolver(HARD.limited(0.02))
    first, again = solver.decide_bounded(VALUES), OrtoolsSolver(HARD.limited(0.02))
    assert first.x.tobytes() == solver.decide(VALUES).tobytes()
    backwards = again.decide_bounded(VALUES[::-1])
    assert first.x.tobytes() == np.ascontiguousarray(backwards.x[::-1]).tobytes()
    assert first.bound.tolist() == backwards.bound[::-1].tolist()


def test_without_a_limit_the_bound_is_what_the_decision_is_worth():
    for problem in (HARD, Problem.top_k(30, 4)):
        found = OrtoolsSolver(problem).decide_bounded(VALUES[:2])
        assert found.bound == pytest.approx((VALUES[:2] * found.x).sum(axis=(1, 2)))


def test_a_limit_reaches_every_instance():
    limited = HARD.vary(b=np.tile(HARD.b, (6, 1))).limited(0.5)
    assert limited.take([1, 2]).search_limit == 0.5
    assert HARD.limited(0.5).vary(b=np.tile(HARD.b, (6, 1))).search_limit == 0.5


def test_branch_and_bound_takes_over_where_cp_sat_has_had_its_trial(best, monkeypatch):
    monkeypatch.setattr(ortools_cpsat, "TRIAL", 1e-9)
    taken = []
    choose = MipRule.choose
    monkeypatch.setattr(
        MipRule, "choose", lambda self, *asked: taken.append(1) or choose(self, *asked)
    )
    solver = OrtoolsSolver(HARD)
    x = solver.decide(VALUES)
    assert len(taken) == len(VALUES)
    assert (HARD.usage(x) <= HARD.b).all()
    worth = (VALUES * x).sum(axis=(1, 2))
    assert (np.abs(worth - best) <= solver.decision_error(VALUES)).all()
