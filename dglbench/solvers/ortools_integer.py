"""Exact integer decisions for one instance, by problem structure, with OR-Tools.

The rules here and in `ortools_flow` need integer coefficients: values are scaled by a power of
two that leaves at least 40 significant bits of the largest for up to 1000 groups, so a choice can
miss the optimum by at most G · 2⁻⁴⁰ of the largest difference inside a group (`IntegerRule.error`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError, SolverError
from dglbench.problem import Array, Mask, Problem
from dglbench.problem_checks import allowance
from dglbench.structure import TakeLeave

__all__ = [
    "MOST_UNITS",
    "SCIP_ERROR",
    "IntegerRule",
    "KnapsackRule",
    "capacity_units",
    "integer_knapsack",
    "rounding_share",
    "take_weights",
    "to_integers",
]

Integers = npt.NDArray[np.int64]

# SCIP proves its bound on LPs whose reduced costs are right to this (its own default).
SCIP_ERROR = 1e-7
# Beyond this many units of capacity, dynamic programming is slower than branch and bound.
MOST_UNITS = 1_000_000


class IntegerRule(ABC):
    """Chooses one option per group for one instance, exactly but for `error`."""

    error: float
    """How much a choice may miss, as a share of the largest difference inside a group."""

    @abstractmethod
    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """Return the best 0/1 choice for coefficients (G, S), b (M,) and mask (G, S).

        Coefficients of options that do not exist are 0; ``instance`` is for error messages.
        """

    def bounded(self, values: Array, b: Array, mask: Mask, instance: int) -> tuple[Array, float]:
        """Return what `choose` does, and a value that no choice exceeds: its own if it is best."""
        choice = self.choose(values, b, mask, instance)
        return choice, float((values * choice).sum())


class KnapsackRule(IntegerRule):
    """Knapsacks with integer weights: OR-Tools' divide-and-conquer dynamic programming.

    What counts is the gain of *take* over *leave*; items without a gain are left, items with a
    gain and no weight are taken.
    """

    def __init__(self, problem: Problem) -> None:
        from ortools.algorithms.python import knapsack_solver

        weights = take_weights(problem).astype(np.int64)
        self._unit, self._total = _unit(weights), int(weights.sum())
        self._weights = weights // self._unit
        self._b: Array | None = None
        self._capacity = 0
        # Reductions cost more than they save: the dynamic programme is linear in the items.
        self._solver: Any = knapsack_solver.KnapsackSolver(
            knapsack_solver.SolverType.KNAPSACK_DIVIDE_AND_CONQUER_SOLVER, "knapsack"
        )
        self._solver.set_use_reduction(False)
        self._largest_profit = 2.0 ** (61 - int(np.ceil(np.log2(problem.groups + 1))))
        self.error = rounding_share(problem.groups, self._largest_profit)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the problem is a knapsack with integer weights and a moderate capacity."""
        units = integer_knapsack(problem)
        return units is not None and units[1].max() <= MOST_UNITS

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        if b is not self._b:
            self._b, self._capacity = b, int(capacity_units(b, self._unit, self._total)[0])
        capacity = self._capacity
        gain = (values[:, 0] - values[:, 1]) * mask[:, 0]
        take = (gain > 0) & (self._weights == 0)
        open_items = np.flatnonzero((gain > 0) & (self._weights > 0))
        weights = self._weights[open_items]
        if weights.sum() <= capacity:
            take[open_items] = True
        elif capacity > 0:
            profits = to_integers(gain[open_items], self._largest_profit)
            self._solver.init(profits.tolist(), [weights.tolist()], [capacity])
            self._solver.solve()
            if not self._solver.is_solution_optimal():
                raise SolverError(
                    f"instance {instance}: the knapsack solver did not prove its answer optimal."
                )
            contains = self._solver.best_solution_contains
            take[open_items] = [contains(item) for item in range(len(open_items))]
        return np.stack([take, ~take], axis=1).astype(np.float64)


def integer_knapsack(problem: Problem) -> tuple[Integers, Integers] | None:
    """Return weights (G,) and capacities (1,) or (K,) in units of the weights' common divisor.

    None if the problem is not a knapsack with integer weights. Capacities are no larger than the
    total weight.
    """
    if not problem.is_knapsack:
        return None
    weights = take_weights(problem)
    if weights.max() > 2**53 or (weights != np.floor(weights)).any():
        return None
    whole = weights.astype(np.int64)
    unit = _unit(whole)
    return whole // unit, capacity_units(problem.b.reshape(-1), unit, int(whole.sum()))


def take_weights(problem: Problem) -> Array:
    """Return the weights (G,) of a problem whose one row is take or leave."""
    structure = problem.structure
    if not isinstance(structure, TakeLeave):
        raise ProblemError(f"weights need items to take or leave, got {structure.kind}.")
    weights: Array = structure.weights[0]
    return weights


def capacity_units(b: Array, unit: int, total: int) -> Integers:
    """Return capacities in whole units, with the allowance of the problem's own check."""
    room = b + allowance(b)
    return np.floor(np.minimum(room, total)).astype(np.int64) // unit


def _unit(weights: Integers) -> int:
    return max(int(np.gcd.reduce(weights)), 1)


def to_integers(values: Array, largest: float) -> Integers:
    """Round values to integers after scaling by a power of two, none beyond ±``largest``."""
    top = float(np.abs(values).max(initial=0.0))
    if top == 0:
        return np.zeros(values.shape, dtype=np.int64)
    exponent = int(np.frexp(largest)[1]) - 1 - int(np.frexp(top)[1])
    return np.rint(np.ldexp(values, exponent)).astype(np.int64)


def rounding_share(groups: int, largest: float) -> float:
    """Share of the top value that `to_integers` can cost a choice among ``groups`` options.

    The top becomes at least half of ``largest``; each of two choices is off by ½ per group.
    """
    return 2.0 * groups / largest
