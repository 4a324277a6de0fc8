"""Best paths through an acyclic graph for a whole batch at once, by dynamic programming.

d(v) = min over edges u → v of d(u) + c_uv,   all nodes of one depth and all instances at once
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.structure import Paths

__all__ = ["BatchedPaths"]

Indices = npt.NDArray[np.intp]

# Numbers in one working array; larger ones leave the cache.
CHUNK_NUMBERS = 2**19


class _Level(NamedTuple):
    """Nodes that a sweep handles together: all have the same number of edges behind them."""

    nodes: Indices
    """(n,)"""
    behind: Indices
    """(n, D): the node each edge comes from, against the direction of the sweep."""
    edges: Indices
    """(n, D): places of these edges among the usable ones."""


class _Sweep(NamedTuple):
    distance: Array
    """(N, K)"""
    by: Indices
    """(N, K): the usable edge over which the shortest way comes; −1 where none does."""


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
        self._forward = _levels(paths.depths, self._head, self._tail)
        self._backward = _levels(-paths.depths, self._tail, self._head)

    def _decide(self, values: Array, at: Problem) -> Array:
        paths = self._paths
        x = np.zeros((len(values), at.size))
        idle = x.reshape(values.shape)[:, :, -1]
        idle[:, paths.group_of[paths.inner]] = 1.0
        for rows in self._chunks(len(values)):
            came_by = self._sweep(self._costs(values, at, rows), paths.source, self._forward).by
            every = np.arange(rows.start, rows.stop)
            node = np.full(len(every), paths.sink)
            while len(every):
                edge = came_by[node, every - rows.start]
                x[every, self._options[edge]] = 1.0
                node = self._tail[edge]
                on = node != paths.source
                every, node = every[on], node[on]
                idle[every, paths.group_of[node]] = 0.0
        return x.reshape(values.shape)

    def _relax(self, values: Array, at: Problem) -> Array:
        return self._decide(values, at)

    def _duals(self, values: Array, at: Problem) -> Array:
        paths = self._paths
        duals = np.empty((len(values), at.rows))
        for rows in self._chunks(len(values)):
            costs = self._costs(values, at, rows)
            from_source = self._sweep(costs, paths.source, self._forward).distance
            to_sink = self._sweep(costs, paths.sink, self._backward).distance
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
        costs = np.full((len(self._options) + 1, len(flat)), np.inf)
        costs[:-1] = (flat[:, self._idle] - flat[:, self._options]).T
        if at.mask.ndim == 3:
            exists = at.mask[rows].reshape(len(flat), -1)[:, self._options]
            costs[:-1][~exists.T] = np.inf
        elif not at.mask.ravel()[self._options].all():
            costs[:-1][~at.mask.ravel()[self._options]] = np.inf
        return costs

    def _sweep(self, costs: Array, start: int, levels: list[_Level]) -> _Sweep:
        """Return distances from ``start`` (N, K) and the edges by which they were attained."""
        nodes, count = self._paths.nodes, costs.shape[1]
        # Longer than any way; the distance of nodes that no way reaches.
        sizes = np.where(np.isinf(costs), 0.0, np.abs(costs)).max(axis=0)
        far = np.where(sizes > 0, 4.0 * nodes * sizes, 1.0)
        distance = np.empty((nodes, count))
        distance[:] = far
        distance[start] = 0.0
        by = np.full((nodes, count), -1, dtype=np.intp)
        for level in levels:
            shortest = distance[level.nodes]
            edge = by[level.nodes]
            for behind, edges in zip(level.behind.T, level.edges.T, strict=True):
                way = distance[behind]
                way += costs[edges]
                shorter = way < shortest
                np.copyto(shortest, way, where=shorter)
                np.copyto(edge, edges[:, None], where=shorter)
            distance[level.nodes] = shortest
            by[level.nodes] = edge
        return _Sweep(distance, by)


def _levels(depths: Indices, into: Indices, out_of: Indices) -> list[_Level]:
    """Group nodes by depth, each with the edges that lead ``into`` it, padded."""
    found = []
    edge_depth = depths[into]
    for depth in np.unique(edge_depth):
        edges = np.flatnonzero(edge_depth == depth)
        edges = edges[np.argsort(into[edges], kind="stable")]
        nodes, counts = np.unique(into[edges], return_counts=True)
        slot = np.arange(len(edges)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(np.arange(len(nodes)), counts)
        table = np.full((len(nodes), counts.max()), len(into), dtype=np.intp)
        table[row, slot] = edges
        # Padding is an edge of infinite cost, from anywhere.
        behind = np.append(out_of, 0)[table]
        found.append(_Level(nodes, behind, table))
    return found
