"""Small knapsacks by a list of all choices: the same optima as branch and bound and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import KINDS, close, coefficients, value

from dglbench.problem import Array, Problem
from dglbench.solvers.ortools import MipRule, OrtoolsSolver
from dglbench.solvers.ortools_listed import MOST_ENTRIES, ListRule, fullest_choices


def drawn(seed: int, items: int, rows: int, share: float = 0.4) -> Problem:
    weights = np.random.default_rng(seed).uniform(0, 4, size=(rows, items)).round(2)
    return Problem.knapsack(weights, share * weights.sum(axis=1))


def all_choices(items: int) -> Array:
    return (np.arange(2**items)[:, None] >> np.arange(items) & 1).astype(float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_listed_choice_is_as_good_as_branch_and_bound(seed: int, kind: str):
    problem = drawn(seed, 12, 2)
    rule, other = ListRule(problem), MipRule(problem)
    values = coefficients(kind, (20, 12, 2), seed)
    asked = [(one, problem.b, problem.mask, 0) for one in values]
    listed = np.stack([rule.choose(*each) for each in asked])
    assert (problem.usage(listed) <= problem.b + 1e-9).all()
    assert (listed.sum(axis=2) == 1).all()
    searched = np.stack([other.choose(*each) for each in asked])
    assert close(value(values, listed), value(values, searched), values)
    assert (value(values, listed) >= value(values, searched) - 1e-9 * np.abs(values).max()).all()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_list_has_every_choice_that_leaves_no_room(rows: int):
    problem = drawn(rows, 9, rows)
    weights = problem.structure.weights  # type: ignore[attr-defined]
    taken = all_choices(9)
    fits = (taken @ weights.T <= problem.b).all(axis=1)
    possible = {tuple(row) for row in taken[fits].astype(int)}
    full = {
        row
        for row in possible
        if not any(
            not used and (*row[:item], 1, *row[item + 1 :]) in possible
            for item, used in enumerate(row)
        )
    }
    found = fullest_choices(problem)
    assert found is not None
    assert {tuple(row) for row in found.astype(int)} == full
    assert len(found) == len(full)


def test_nothing_can_be_taken_where_nothing_fits():
    problem = Problem.knapsack([[2.5, 3.5]], [1.0])
    x = OrtoolsSolver(problem).decide(np.array([[[5.0, 0.0], [4.0, 0.0]]]))
    assert x[0, :, 0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (drawn(0, 60, 2), "too many choices"),
        (Problem.knapsack([[0.5, 1.5]], np.array([[1.0], [2.0]])), "b differs by instance"),
        (Problem.knapsack([[0.5, -1.5]], [1.0]), "a weight below 0"),
        (Problem.assignment(3, [2, 2]), "no knapsack"),
        (Problem.top_k(4, 2), "exactly two"),
    ],
)
def test_other_problems_are_left_to_other_rules(problem: Problem, why: str):
    assert not ListRule.fits(problem), why


def test_the_published_knapsack_is_listed():
    """32 items that weigh 3 to 8 and two capacities of 20 have a few thousand full choices."""
    weights = np.random.default_rng(0).integers(300, 800, size=(2, 32)) / 100
    found = fullest_choices(Problem.knapsack(weights, [20.0, 20.0]))
    assert found is not None
    assert 1000 < len(found) < MOST_ENTRIES / 32
