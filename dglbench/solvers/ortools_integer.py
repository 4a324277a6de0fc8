"""Exact integer decisions for one instance, by problem structure, with OR-Tools.

Both rules here need integer coefficients: values are scaled by a power of two that leaves at
least 40 significant bits of the largest for up to 1000 groups, so a choice can miss the optimum
by at most G · 2⁻⁴⁰ of the largest difference inside a group (`IntegerRule.error`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem

__all__ = ["FlowRule", "IntegerRule", "KnapsackRule", "integer_knapsack"]

Integers = npt.NDArray[np.int64]

# Beyond this many units of capacity, dynamic programming is slower than branch and bound.
MOST_UNITS = 1_000_000


class IntegerRule(ABC):
    """Chooses one option a group for one instance, exactly but for `error`."""

    error: float
    """How much a choice may miss, as a share of the largest difference inside a group."""

    @abstractmethod
    def choose(self, values: Array, instance: int) -> Array:
        """Return the best 0/1 choice for coefficients of shape (G, S)."""


class FlowRule(IntegerRule):
    """Assignment problems with integer capacities: min-cost flow.

    Individual → location → sink; an arc exists where the mask allows it and costs what the
    individual loses against its best location. OR-Tools offers no change of costs in a
    built graph, so the arcs go in again, in one call, for each instance.
    """

    def __init__(self, problem: Problem) -> None:
        from ortools.graph.python import min_cost_flow

        groups, options = problem.mask.shape
        individual, location = np.nonzero(problem.mask)
        sink = groups + options
        locations = groups + np.arange(options)
        self._network = min_cost_flow.SimpleMinCostFlow
        self._mask = problem.mask
        self._tails = np.concatenate([individual, locations]).astype(np.int32)
        self._heads = np.concatenate([groups + location, np.full(options, sink)]).astype(np.int32)
        rooms = np.minimum(problem.b, groups).astype(np.int64)
        self._capacities = np.concatenate([np.ones(len(individual), dtype=np.int64), rooms])
        self._nodes = np.append(np.arange(groups), sink).astype(np.int32)
        self._supplies = np.append(np.ones(groups, dtype=np.int64), -groups)
        self._arcs = np.arange(len(individual), dtype=np.int32)
        # The solver multiplies costs by the number of nodes, and adds them up along paths.
        self._largest_cost = 2.0 ** (61 - 2 * int(np.ceil(np.log2(sink + 2))))
        self.error = _rounding(groups, self._largest_cost)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the problem is an assignment with integer capacities."""
        return problem.is_assignment and bool((problem.b == np.floor(problem.b)).all())

    def choose(self, values: Array, instance: int) -> Array:
        """Return the best 0/1 choice for coefficients of shape (G, S)."""
        best = np.where(self._mask, values, -np.inf).max(axis=1, keepdims=True)
        loss = (best - values)[self._mask]
        costs = np.zeros(len(self._tails), dtype=np.int64)
        costs[: len(loss)] = _to_integers(loss, self._largest_cost)
        network: Any = self._network()
        network.add_arcs_with_capacity_and_unit_cost(
            self._tails, self._heads, self._capacities, costs
        )
        network.set_nodes_supplies(self._nodes, self._supplies)
        status = network.solve()
        if status != network.OPTIMAL:
            raise SolverError(
                f"instance {instance}: min-cost flow ended {status.name}, not OPTIMAL; "
                "check that the capacities fit all individuals where they may go."
            )
        x = np.zeros(values.shape)
        x[self._mask] = network.flows(self._arcs)
        return x


class KnapsackRule(IntegerRule):
    """Knapsacks with integer weights: OR-Tools' divide-and-conquer dynamic programming.

    What counts is the gain of *take* over *leave*; items without a gain are left, items with a
    gain and no weight are taken.
    """

    def __init__(self, problem: Problem) -> None:
        from ortools.algorithms.python import knapsack_solver

        self._weights, self._capacity = _units(problem)
        # Reductions cost more than they save: the dynamic programme is linear in the items.
        self._solver: Any = knapsack_solver.KnapsackSolver(
            knapsack_solver.SolverType.KNAPSACK_DIVIDE_AND_CONQUER_SOLVER, "knapsack"
        )
        self._solver.set_use_reduction(False)
        self._largest_profit = 2.0 ** (61 - int(np.ceil(np.log2(problem.groups + 1))))
        self.error = _rounding(problem.groups, self._largest_profit)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the problem is a knapsack with integer weights and a moderate capacity."""
        units = integer_knapsack(problem)
        return units is not None and units[1] <= MOST_UNITS

    def choose(self, values: Array, instance: int) -> Array:
        """Return the best 0/1 choice for coefficients of shape (G, 2)."""
        gain = values[:, 0] - values[:, 1]
        take = (gain > 0) & (self._weights == 0)
        open_items = np.flatnonzero((gain > 0) & (self._weights > 0))
        weights = self._weights[open_items]
        if weights.sum() <= self._capacity:
            take[open_items] = True
        elif self._capacity > 0:
            profits = _to_integers(gain[open_items], self._largest_profit)
            self._solver.init(profits.tolist(), [weights.tolist()], [self._capacity])
            self._solver.solve()
            if not self._solver.is_solution_optimal():
                raise SolverError(
                    f"instance {instance}: the knapsack solver did not prove its answer optimal."
                )
            contains = self._solver.best_solution_contains
            take[open_items] = [contains(item) for item in range(len(open_items))]
        return np.stack([take, ~take], axis=1).astype(np.float64)


def integer_knapsack(problem: Problem) -> tuple[Integers, int] | None:
    """Return weights (G,) and capacity in units of their common divisor, or None if not integer.

    The capacity is no larger than the total weight.
    """
    if not problem.is_knapsack:
        return None
    weights = problem.A[0, :, 0]
    if weights.max() > 2**53 or (weights != np.floor(weights)).any():
        return None
    return _units(problem)


def _units(problem: Problem) -> tuple[Integers, int]:
    weights = problem.A[0, :, 0].astype(np.int64)
    unit = max(int(np.gcd.reduce(weights)), 1)
    # The same allowance as the problem's own feasibility check.
    room = float(problem.b[0] + 1e-9 * max(1.0, abs(problem.b[0])))
    total = int(weights.sum())
    return weights // unit, int(min(room, total)) // unit


def _to_integers(values: Array, largest: float) -> Integers:
    """Round values ≥ 0 to integers after scaling by a power of two, none above ``largest``."""
    top = float(values.max(initial=0.0))
    if top == 0:
        return np.zeros(values.shape, dtype=np.int64)
    exponent = int(np.frexp(largest)[1]) - 1 - int(np.frexp(top)[1])
    return np.rint(np.ldexp(values, exponent)).astype(np.int64)


def _rounding(groups: int, largest: float) -> float:
    """Share of the top value that `_to_integers` can cost a choice among ``groups`` options.

    The top becomes at least half of ``largest``; each of two choices is off by half a unit a group.
    """
    return 2.0 * groups / largest
