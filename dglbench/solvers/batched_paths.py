"""Best paths through an acyclic graph for a whole batch at once, by dynamic programming."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dglbench.errors import ProblemError
from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.path_levels import LevelSweep
from dglbench.structure import Paths

__all__ = ["BatchedPaths"]

# Numbers in one working array; larger ones leave the cache.
CHUNK_NUMBERS = 2**19


class BatchedPaths(Solver):
    """Paths on acyclic graphs; edge values may have any sign.

    What an edge costs is c = (worth of *not visited* at its tail) − (its own value). `decide`
    and `relax` (the relaxation is integral): distances from the source, depth by depth, then
    back from the sink along the edges that attained them, the first of equal ones. No solver
    calls; minima and sums of two numbers only, so an instance's answer has the same bits
    alone, in any batch and in any order.

    The dual rule is ``centre``, here the mean of two ends. λ is a potential with 0 at the sink:
    optimal are, among others, d_s(v) − D by distances from the source (D the length of the best
    path) and −d_t(v) by distances to the sink. The first makes the best way to every node free
    of loss, the second ties the best way from every node, on the path or not, with *not
    visited*. Their mean,

        λ_v = (d_s(v) − d_t(v) − D) / 2,

    is optimal too. It sets an edge back by half of what the way over it is longer than the best
    one from the source to its head, and half of what it is longer than the best one from its
    tail to the sink: a node off the path has a margin unless an edge of it is best for both.
    Where no way leads to a node or on from it, its distance counts as longer than any way,
    which keeps λ optimal.

    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), sections 4.4 and 9.3.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Solver.refuses`."""
        paths = problem.structure
        if not isinstance(paths, Paths):
            return "batched paths needs a path problem; use the ortools solver."
        if problem.b.any() or not problem.mask[..., paths.group_of[paths.inner], -1].all():
            return (
                "batched paths needs nodes that may all be left out, with in-flow = out-flow; "
                "use the ortools solver."
            )
        if paths.depths is None:
            return (
                "batched paths needs a graph without cycles, and this one has some; "
                "use the ortools solver."
            )
        return None

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        paths = problem.structure
        if not isinstance(paths, Paths) or paths.depths is None:
            raise ProblemError("batched paths needs an acyclic path problem.")
        self._paths = paths
        used = np.flatnonzero(paths.usable)
        self._tail, self._head = paths.edges[used].T
        self._options = paths.option_of[used]
        self._idle = paths.group_of[self._tail] * paths.options + paths.options - 1
        self._forward = LevelSweep(paths.depths, self._head, self._tail, paths.source)
        self._backward = LevelSweep(-paths.depths, self._tail, self._head, paths.sink)
        self._most = int(paths.depths[paths.sink])
        idle = np.zeros(problem.shape)
        idle[paths.group_of[paths.inner], -1] = 1.0
        self._nowhere = idle.ravel()
        mask = problem.mask
        self._all_exist = mask.ndim == 2 and bool(mask.ravel()[self._options].all())

    def _decide(self, values: Array, at: Problem) -> Array:
        x = np.empty((len(values), at.size))
        x[:] = self._nowhere
        for rows in self._chunks(len(values)):
            costs = self._costs(values, at, rows)
            edges, instances = self._forward.way(costs, self._paths.sink, self._most)
            instances *= at.size
            part = x[rows].reshape(-1)
            part[instances + self._idle[edges]] = 0.0
            part[instances + self._options[edges]] = 1.0
        return x.reshape(values.shape)

    def _relax(self, values: Array, at: Problem) -> Array:
        return self._decide(values, at)

    def _duals(self, values: Array, at: Problem) -> Array:
        paths = self._paths
        duals = np.empty((len(values), at.rows))
        for rows in self._chunks(len(values)):
            costs = self._costs(values, at, rows)
            from_source = self._forward.distances(costs)[self._forward.place_of]
            to_sink = self._backward.distances(costs)[self._backward.place_of]
            length = from_source[paths.sink]
            potential = 0.5 * (from_source[paths.inner] - length - to_sink[paths.inner])
            duals[rows] = potential.T
        return duals + 0.0

    def _chunks(self, count: int) -> Iterator[slice]:
        step = max(1, CHUNK_NUMBERS // (len(self._options) + self._paths.nodes))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def _costs(self, values: Array, at: Problem, rows: slice) -> Array:
        """(E + 1, K): what usable edges cost, ∞ where closed; the last row is padding."""
        flat = values[rows].reshape(-1, at.size)
        by_option = np.ascontiguousarray(flat.T)
        costs = np.empty((len(self._options) + 1, len(flat)))
        costs[-1] = np.inf
        usable = costs[:-1]
        np.subtract(by_option[self._idle], by_option[self._options], out=usable)
        if at.mask.ndim == 3:
            exists = at.mask[rows].reshape(len(flat), -1)[:, self._options]
            usable[~exists.T] = np.inf
        elif not self._all_exist:
            usable[~at.mask.ravel()[self._options]] = np.inf
        return costs
