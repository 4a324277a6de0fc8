"""Knapsacks for a whole batch at once: a sort for relaxations, dynamic programming for decisions.

maximise Σ_i v_i x_i   subject to   Σ_i w_i x_i ≤ b,   v_i = value of take - value of leave
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.knapsack_core import Core
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench.solvers.ortools_integer import integer_knapsack, take_weights

__all__ = ["BatchedKnapsack"]

# Bytes of the table of choices in one chunk; beyond the smaller number for a single instance,
# choosing among the few items in doubt is faster.
CHUNK_BYTES = 2**23
MOST_BYTES = 30_000

_ROUNDING = 1e-9
"""How far the use of a full knapsack may be off its capacity, as a share of it."""


class Ranking(NamedTuple):
    """Items of each instance in falling order of value per unit of weight."""

    ratio: Array
    """(K, n): v/w at each rank; infinite for items without weight, 0 for those without gain."""
    used: Array
    """(K, n): weight of all items up to and including each rank."""


class BatchedKnapsack(Solver):
    """One-row problems of *take* or *leave*, any weights ≥ 0, any signs of values.

    `relax`: items in falling order of v/w until the capacity is full, the last one in part
    (Dantzig). `decide`: dynamic programming over integer capacity,

        best[i, c] = max(best[i-1, c], best[i-1, c - w_i] + v_i),

    in units of the weights' common divisor. Where that table has more than 30,000 entries, each
    instance alone chooses among the few items in doubt (`dglbench.solvers.knapsack_core`);
    problems with fractional or huge weights go to `OrtoolsSolver` (one solve per instance).
    Items without a gain are left. All steps are elementwise over instances or along one
    instance's items, so an answer has the same bits alone, in any batch and in any order.

    The dual rule is ``centre``: λ is the ratio of the item taken in part. If none is, every λ
    from the best ratio left out (at least 0) to the worst ratio taken is optimal, and the
    midpoint is taken; 0 if capacity is left over. Without capacity there is no upper end: λ is
    twice the best ratio, so that every item keeps a margin.

    Reference: Kellerer, Pferschy and Pisinger, Knapsack Problems (2004), sections 2.2 and 2.3.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Solver.refuses`."""
        if problem.is_knapsack:
            return None
        return (
            "batched knapsack needs one ≤ row and two options per group, take (weight ≥ 0) and "
            "leave (weight 0); use the ortools solver."
        )

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._weights = take_weights(problem)
        self._weightless = self._weights == 0
        self._some_weightless = bool(self._weightless.any())
        # Used in place of the weights as a divisor, to avoid 0/0.
        self._divisor = np.where(self._weightless, 1.0, self._weights)
        self._minus_divisor = -self._divisor
        self._units = integer_knapsack(problem)
        if self._units is not None and not (self._table_fits or Core.fits(self._units[0])):
            self._units = None  # too fine for dynamic programming

    @cached_property
    def _fallback(self) -> OrtoolsSolver:
        return OrtoolsSolver(self.problem)

    @staticmethod
    def _gain(values: Array, at: Problem) -> Array:
        """(K, n): value of take less that of leave; 0 where there is nothing to take."""
        gain: Array = values[:, :, 0] - values[:, :, 1]
        return np.where(at.mask[..., 0], gain, 0.0) if at.ragged else gain

    def _relax(self, values: Array, at: Problem) -> Array:
        # SPO+ calls this on small batches at every step, where each numpy call counts.
        gain = self._gain(values, at)
        useful = gain > 0
        falling = np.minimum(gain / self._minus_divisor, 0.0)  # −v/w, 0 without gain
        if self._some_weightless:
            falling[useful & self._weightless] = -np.inf
        order = falling.argsort(axis=1, kind="stable")  # the first one wins a tie
        order += np.arange(0, gain.size, gain.shape[1])[:, None]  # positions in the flat arrays
        weight = np.where(useful, self._weights, 0.0).take(order)
        left = np.empty(gain.size)
        left[order] = np.maximum(at.b, 0.0) - (weight.cumsum(axis=1) - weight)
        share = left.reshape(gain.shape) / self._divisor
        np.minimum(np.maximum(share, 0.0, out=share), 1.0, out=share)
        if self._some_weightless:
            share[:, self._weightless] = 1.0  # taken whole, whatever is left
        x = np.empty((*gain.shape, 2))
        take = np.multiply(share, useful, out=x[:, :, 0])
        np.subtract(1.0, take, out=x[:, :, 1])
        return x

    def _duals(self, values: Array, at: Problem) -> Array:
        ranking = self._rank(self._gain(values, at))
        capacity = np.maximum(at.b, 0.0).reshape(-1)  # (1,) or (K,)
        room = _ROUNDING * capacity  # sums of fractional weights miss the capacity they fill
        whole = ranking.used <= (capacity + room)[:, None]
        below = np.where(whole, 0.0, ranking.ratio).max(axis=1)
        above = np.where(whole & (ranking.ratio > 0), ranking.ratio, np.inf).min(axis=1)
        full = np.where(whole, ranking.used, 0.0).max(axis=1) >= capacity - room
        duals: Array = np.where(full, 0.5 * (below + above), below)
        if (capacity == 0).any():
            top = np.where(np.isinf(ranking.ratio), 0.0, ranking.ratio).max(axis=1)
            duals = np.where(capacity == 0, 2.0 * top, duals)
        return duals[:, None]

    def decision_error(self, values: Array) -> Array:
        """(K,): 0 for dynamic programming, OR-Tools' where that decides."""
        if self._units is None:
            return self._fallback.decision_error(values)
        if self._table_fits:
            return np.zeros(len(values))
        largest: Array = np.abs(values[:, :, 0] - values[:, :, 1]).max(axis=1)
        return self._core.error * largest

    @cached_property
    def _core(self) -> Core:
        if self._units is None:
            raise ProblemError("the weights of this knapsack are not integer.")
        return Core(self._units[0])

    @cached_property
    def _table_fits(self) -> bool:
        """Whether the weights are whole and one instance's table of choices is small enough."""
        if self._units is None:
            return False
        return self.problem.groups * (int(self._units[1].max()) + 1) <= MOST_BYTES

    def _decide(self, values: Array, at: Problem) -> Array:
        if self._units is None:
            return self._fallback._decide(values, at)
        weights, most = self._units[0], int(self._units[1].max())
        gain = self._gain(values, at)
        capacities = self._capacities(at, len(gain))
        if not self._table_fits:
            return _both_options(self._core.choose(gain, capacities).astype(np.float64))
        step = max(1, CHUNK_BYTES // (at.groups * (most + 1)))
        take = np.empty(gain.shape, dtype=bool)
        for start in range(0, len(gain), step):
            rows = slice(start, start + step)
            take[rows] = _best_subsets(gain[rows], weights, capacities[rows])
        return _both_options(take.astype(np.float64))

    def _capacities(self, at: Problem, count: int) -> npt.NDArray[np.int64]:
        """(K,): capacities in units of the weights' common divisor."""
        units = integer_knapsack(at) if at.varies else self._units
        if units is None:
            raise ProblemError("the weights of this knapsack are not integer.")
        return np.broadcast_to(units[1], (count,))

    def _rank(self, gain: Array) -> Ranking:
        ratio = self._ratio(gain, gain > 0)
        order = self._order(ratio)
        ratio = np.take_along_axis(ratio, order, axis=1)
        weight = np.where(ratio > 0, self._weights[order], 0.0)
        return Ranking(ratio, np.cumsum(weight, axis=1))

    def _ratio(self, gain: Array, useful: Mask) -> Array:
        """Value per unit of weight (K, n): infinite without weight, 0 without gain."""
        ratio: Array = np.where(useful, gain / self._divisor, 0.0)
        if self._some_weightless:
            ratio[useful & self._weightless] = np.inf
        return ratio

    @staticmethod
    def _order(ratio: Array) -> npt.NDArray[np.intp]:
        """Return the item at each rank (K, n); the first one wins a tie."""
        return (-ratio).argsort(axis=1, kind="stable")


def _best_subsets(
    gain: Array, weights: npt.NDArray[np.int64], capacities: npt.NDArray[np.int64]
) -> Mask:
    """Return which items to take (K, n), by dynamic programming over 0…the largest capacity."""
    instances, items = gain.shape
    capacity = int(capacities.max(initial=0))
    best = np.zeros((instances, capacity + 1))
    better = np.zeros((items, instances, capacity + 1), dtype=bool)
    for item, weight in enumerate(weights.tolist()):
        if weight > capacity:
            continue
        with_item = best[:, : capacity + 1 - weight] + gain[:, item, None]
        np.greater(with_item, best[:, weight:], out=better[item, :, weight:])
        np.maximum(best[:, weight:], with_item, out=best[:, weight:])
    take = np.empty(gain.shape, dtype=bool)
    left = capacities.copy()
    every = np.arange(instances)
    for item in range(items - 1, -1, -1):
        take[:, item] = better[item, every, left]
        left -= weights[item] * take[:, item]
    return take


def _both_options(take: Array) -> Array:
    x = np.empty((*take.shape, 2))
    x[:, :, 0] = take
    np.subtract(1.0, take, out=x[:, :, 1])
    return x
