"""Exact knapsacks of many items: only a few of them, the core, are in doubt.

At the price λ of the relaxation, whose value is U, item i loses r_i = |v_i − λ w_i| if it does
not do what the relaxation does with it. No choice that differs in i is worth more than U − r_i.
So the few items of least loss are chosen exactly, the others as in the relaxation; what that is
worth, z, says which items can matter at all, r_i ≤ U − z, and if these are more, they are chosen
again.

Reference: Balas and Zemel, An Algorithm for Large Zero-One Knapsack Problems (1980).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Mask
from dglbench.solvers.ortools_integer import MOST_UNITS, rounding_share, to_integers

__all__ = ["Core"]

Integers = npt.NDArray[np.int64]

# Items chosen exactly at first. Fewer leave a gap that takes a second, larger choice.
FIRST_ITEMS = 40
# Share of U by which sums of many numbers may be off: losses this close to the gap count, and a
# gap no larger than this is none.
ROUNDING = 1e-14


class Core:
    """Chooses items of whole weights ≥ 0; the core by OR-Tools' dynamic programming."""

    def __init__(self, weights: Integers) -> None:
        self._weights = weights
        self._largest_profit = 2.0 ** (61 - int(np.ceil(np.log2(len(weights) + 1))))
        self.error = rounding_share(len(weights), self._largest_profit) + ROUNDING * len(weights)
        """How much a choice may miss, as a share of the largest gain."""

    @cached_property
    def _solver(self) -> Any:
        from ortools.algorithms.python import knapsack_solver

        solver: Any = knapsack_solver.KnapsackSolver(
            knapsack_solver.SolverType.KNAPSACK_DIVIDE_AND_CONQUER_SOLVER, "knapsack"
        )
        solver.set_use_reduction(False)
        return solver

    def choose(self, gains: Array, capacities: Integers) -> Mask:
        """Return which items to take, (K, n), for gains (K, n) and capacities (K,)."""
        take = np.empty(gains.shape, dtype=bool)
        for instance, capacity in enumerate(capacities.tolist()):
            take[instance] = self._one(gains[instance], capacity)
        return take

    @staticmethod
    def fits(weights: Integers) -> bool:
        """Whether the capacity that a core can fill is moderate for dynamic programming."""
        return FIRST_ITEMS * int(weights.max(initial=0)) <= MOST_UNITS

    def _one(self, gain: Array, capacity: int) -> Mask:
        take: Mask = (gain > 0) & (self._weights == 0)
        items = np.flatnonzero((gain > 0) & (self._weights > 0) & (self._weights <= capacity))
        weight, worth = self._weights[items], gain[items]
        used = int(weight.sum())
        if used <= capacity:
            take[items] = True
            return take
        order = np.argsort(-worth / weight, kind="stable")
        # The relaxation takes items up to the one that no longer fits.
        filled = weight[order].cumsum()
        last = int(np.searchsorted(filled, capacity, side="right"))
        broken = order[last]
        price = worth[broken] / weight[broken]
        chosen = np.zeros(len(items), dtype=bool)
        chosen[order[:last]] = True
        room = capacity - (int(filled[last - 1]) if last else 0)
        loss = np.abs(worth - price * weight)
        # What a choice falls short of U: `room` unused units at the price λ, and its losses.
        gap = price * room
        slack = ROUNDING * (worth[chosen].sum() + gap)
        core = np.flatnonzero(loss <= gap + slack)
        if len(core) > FIRST_ITEMS:
            few = np.argpartition(loss, FIRST_ITEMS)[:FIRST_ITEMS]
            picked = self._best(worth, weight, room, chosen, few)
            moved = picked != chosen
            left = room - int(weight[picked & moved].sum()) + int(weight[~picked & moved].sum())
            gap = price * left + float(loss[moved].sum())
            core = np.flatnonzero(loss <= gap + slack)
            if gap <= slack or np.isin(core, few).all():  # all that matters was among the few
                take[items] = picked
                return take
        take[items] = self._best(worth, weight, room, chosen, core)
        return take

    def _best(
        self, worth: Array, weight: Integers, room: int, chosen: Mask, core: npt.NDArray[np.intp]
    ) -> Mask:
        """Choose the core's items anew, within what the others leave."""
        picked = chosen.copy()
        inside = chosen[core]
        room += int(weight[core][inside].sum())
        profits = to_integers(worth[core], self._largest_profit)
        self._solver.init(profits.tolist(), [weight[core].tolist()], [room])
        self._solver.solve()
        if not self._solver.is_solution_optimal():
            raise SolverError("the knapsack solver did not prove its answer optimal.")
        contains = self._solver.best_solution_contains
        picked[core] = [contains(item) for item in range(len(core))]
        return picked
