"""The best k of n items, for a whole batch at once: a sort.

maximise Σ_i v_i x_i   subject to   Σ_i x_i = k (or ≤ k),   v_i = value of take - value of leave
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver

__all__ = ["BatchedTopK"]


class BatchedTopK(Solver):
    """One row that counts what is taken, exactly or at most a whole number k.

    `decide` and `relax` (the relaxation is integral): the k largest gains v, the first of equal
    ones; with ≤ only those above 0. No solver calls; an instance's answer has the same bits
    alone, in any batch and in any order.

    The dual rule is ``centre``: every λ from the (k + 1)-th to the k-th largest gain is optimal
    (with ≤, from 0 on), and the midpoint is taken. Where an end is missing (k = 0, or no item
    left over), λ is the other end moved outwards by the spread of the gains. With ≤ and fewer
    than k gains above 0, λ = 0.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Solver.refuses`."""
        if problem.is_top_k:
            return None
        return (
            "batched top-k needs one row that counts what is taken (weight 1) and a whole "
            "number k; use the ortools solver."
        )

    def _decide(self, values: Array, at: Problem) -> Array:
        gain = _gains(values, at)
        order = (-gain).argsort(axis=1, kind="stable")
        ranked = np.take_along_axis(gain, order, axis=1)
        take = np.arange(gain.shape[1]) < at.b.reshape(-1, 1)
        take = np.broadcast_to(take, gain.shape)
        if not at.equality[0]:
            take = take & (ranked > 0)
        x = np.empty((*gain.shape, 2))
        np.put_along_axis(x[:, :, 0], order, take.astype(np.float64), axis=1)
        np.subtract(1.0, x[:, :, 0], out=x[:, :, 1])
        return x

    def _relax(self, values: Array, at: Problem) -> Array:
        return self._decide(values, at)

    def _duals(self, values: Array, at: Problem) -> Array:
        gain = _gains(values, at)
        if not len(gain):
            return np.zeros((0, 1))
        # Ends are known by rank; infinite gains (nothing to choose) stand for a missing end.
        ranked = np.sort(gain, axis=1)[:, ::-1]
        edge = np.full((len(gain), 1), np.inf)
        ranked = np.concatenate([edge, ranked, -edge], axis=1)
        k = np.broadcast_to(at.b.reshape(-1), (len(gain),)).astype(np.intp)
        every = np.arange(len(gain))
        finite = np.isfinite(gain)
        top = np.where(finite, gain, -np.inf).max(axis=1)
        low = np.where(finite, gain, np.inf).min(axis=1)
        spread = np.where(finite.any(axis=1), top - low, 0.0)
        if at.equality[0]:
            above, below = ranked[every, k], ranked[every, k + 1]
        else:
            k = np.minimum(k, gain.shape[1])
            above = np.maximum(ranked[every, k], 0.0)
            below = np.maximum(ranked[every, k + 1], 0.0)
            spread = np.where(k == 0, np.maximum(top, 0.0), spread)
        duals: Array = np.where(
            np.isinf(above),
            np.where(np.isinf(below), 0.0, below + spread),
            np.where(np.isinf(below), above - spread, 0.0),
        )
        both = np.isfinite(above) & np.isfinite(below)
        duals[both] = 0.5 * (above[both] + below[both])
        if not at.equality[0]:
            spare = (gain > 0).sum(axis=1) < at.b.reshape(-1)
            duals = np.where(spare, 0.0, duals)
        return duals[:, None] + 0.0


def _gains(values: Array, at: Problem) -> Array:
    """(K, n): value of take less that of leave; infinite where only one of them exists."""
    gain: Array = values[:, :, 0] - values[:, :, 1]
    if at.mask.all():
        return gain
    gain = np.where(at.mask[..., 0], gain, -np.inf)
    return np.where(at.mask[..., 1], gain, np.inf)
