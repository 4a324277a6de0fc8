"""Many-to-one matching for a whole batch at once: exact assignments and central duals.

maximise Σ_i u_{i,a(i)}   subject to   #{i : a(i) = j} ≤ b_j   for every location j
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dglbench.errors import ProblemError
from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.matching_centre import central_prices
from dglbench.solvers.matching_relocation import Indices, head_count, match

__all__ = ["BatchedMatching"]

# Numbers in one working array: 4 MB. Larger chunks are no faster, as they leave the cache.
CHUNK_NUMBERS = 2**19


class BatchedMatching(Solver):
    """Assignment problems in which all may go everywhere, with integer capacities.

    `decide` and `relax` (the relaxation is integral): individuals start at their best location
    at prices that a few rising sweeps find. Locations still overfull then send one individual
    at a time along the shortest path of moves j → k, of length

        c[j, k] = min over i at j of (u_ij - u_ik),

    to a location with room (successive shortest paths, all instances in step). `duals` follow
    from c alone. No solver calls. All steps are elementwise over instances or pick minima, so
    an instance's answer has the same bits alone, in any batch and in any order.

    The dual rule is ``centre``: optimal λ are those with λ_j - λ_k ≤ c[j, k], λ ≥ 0, and
    λ_j = 0 where there is room; `central_prices` takes a point in the relative interior of
    that set, so individuals keep a margin wherever some optimal λ gives them one. Two cases
    have no upper end. If capacities sum to n, λ is known only up to a shift, which changes no
    softmax: the centre of the differences is taken, with min λ = 0. A location without
    capacity gets the lowest price at which nobody wants it plus the spread of the instance's
    values.

    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), section 9.7.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if not (problem.is_assignment and problem.mask.all()):
            raise ProblemError(
                "batched matching needs an assignment problem in which every individual may go "
                "to every location; use the ortools solver."
            )
        if (problem.b != np.floor(problem.b)).any():
            raise ProblemError(
                f"batched matching needs integer capacities, got {problem.b}; round them down "
                "or use the ortools solver."
            )
        self._open: Indices = np.flatnonzero(problem.b > 0)
        self._closed: Indices = np.flatnonzero(problem.b <= 0)
        # A location for n + 1 never fills, so more room than that changes nothing.
        self._rooms: Indices = np.minimum(problem.b[self._open], problem.groups + 1).astype(np.intp)
        self._exact_fit = int(self._rooms.sum()) == problem.groups

    def _decide(self, values: Array) -> Array:
        x = np.zeros(values.shape)
        for rows, utilities in self._chunks(values):
            place = self._open[match(utilities, self._rooms).place]
            np.put_along_axis(x[rows], place[:, :, None], 1.0, axis=2)
        return x

    def _relax(self, values: Array) -> Array:
        return self._decide(values)

    def _duals(self, values: Array) -> Array:
        duals = np.zeros((len(values), self.problem.rows))
        for rows, utilities in self._chunks(values):
            found = match(utilities, self._rooms)
            room = head_count(found.place, len(self._rooms)) < self._rooms
            prices = central_prices(found.prices, found.gaps, room, self._exact_fit)
            duals[rows, self._open] = prices
            if self._closed.size:
                score = utilities - prices[:, :, None]
                attained = np.take_along_axis(score, found.place[:, None, :], axis=1)[:, 0]
                duals[rows, self._closed] = self._deterring(values[rows], attained)
        return duals

    def _deterring(self, values: Array, attained: Array) -> Array:
        """Price locations without capacity so that nobody prefers one to what they attain."""
        envy = (values[:, :, self._closed] - attained[:, :, None]).max(axis=1)
        spread = values.max(axis=(1, 2)) - values.min(axis=(1, 2))
        deterring: Array = np.maximum(envy, 0.0) + spread[:, None]
        return deterring

    def _chunks(self, values: Array) -> Iterator[tuple[slice, Array]]:
        """Cut the batch into slices, each with its utilities as (K, L, n)."""
        step = max(1, CHUNK_NUMBERS // (values.shape[1] * values.shape[2]))
        for start in range(0, len(values), step):
            rows = slice(start, start + step)
            utilities = values[rows][:, :, self._open].transpose(0, 2, 1)
            yield rows, np.ascontiguousarray(utilities)
