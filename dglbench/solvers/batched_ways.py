"""Best paths through graphs with cycles for a whole batch at once, by label correcting.

d(v) ← min over edges u → v of d(u) + c_uv,   round after round until nothing becomes shorter
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench.solvers.ortools_flow import PathRule
from dglbench.solvers.path_duals import PathDuals
from dglbench.structure import Paths

__all__ = ["BatchedWays"]

Indices = npt.NDArray[np.intp]

# Numbers in one working array; larger ones leave the cache.
CHUNK_NUMBERS = 2**19


class BatchedWays(Solver):
    """Paths on any graph where no edge costs less than nothing.

    What an edge costs is c = (worth of *not visited* at its tail) − (its own value). `decide` and
    `relax` (the relaxation is integral): distances by Bellman's and Ford's rounds over the edges
    into every node, all nodes and instances at once, as many rounds as the longest best path has
    edges; then back from the sink, along the first edge that attains each distance.

    **An instance with an edge of negative cost is not decided here**: going round a cycle may then
    pay, and distances do not exist. It goes to the min-cost flow of `OrtoolsSolver`, one by one;
    SPO+ asks such questions (2ŷ − y). An instance's answer has the same bits alone, in any batch
    and in any order.

    The dual rule is ``centre``: `PathDuals`, from the path found.

    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), section 5.4.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Solver.refuses`."""
        if not isinstance(problem.structure, Paths):
            return "batched ways needs a path problem; use the ortools solver."
        if not PathRule.fits(problem):
            return (
                "batched ways needs nodes that may all be left out, with in-flow = out-flow; "
                "use the ortools solver."
            )
        return None

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        paths = problem.structure
        assert isinstance(paths, Paths)  # `refuses` comes first
        self._paths = paths
        used = np.flatnonzero(paths.usable)
        self._tail, head = paths.edges[used].T
        self._options = paths.option_of[used]
        self._idle = paths.group_of[self._tail] * paths.options + paths.options - 1
        self._into = _arriving(head, paths.nodes)
        self._behind = np.append(self._tail, 0)[self._into]

    @cached_property
    def _by_flow(self) -> OrtoolsSolver:
        return OrtoolsSolver(self.problem)

    @cached_property
    def _path_duals(self) -> PathDuals:
        return PathDuals(self._paths)

    def decision_error(self, values: Array) -> Array:
        """(K,): that of min-cost flow, which some instances may go to."""
        return self._by_flow.decision_error(values)

    def _decide(self, values: Array, at: Problem) -> Array:
        x = np.zeros((len(values), at.size))
        for rows in self._chunks(len(values)):
            costs = self._costs(values, at, rows)
            negative = (costs < 0.0).any(axis=0)
            above, below = np.flatnonzero(~negative), np.flatnonzero(negative) + rows.start
            x[above + rows.start] = self._ways(costs[:, above], at)
            if below.size:
                part = at.take(below) if at.varies else at
                x[below] = self._by_flow._decide(values[below], part).reshape(len(below), -1)
        return x.reshape(values.shape)

    def _relax(self, values: Array, at: Problem) -> Array:
        return self._decide(values, at)

    def _duals(self, values: Array, at: Problem) -> Array:
        return self._path_duals.of(values, self._decide(values, at), at)

    def _chunks(self, count: int) -> Iterator[slice]:
        step = max(1, CHUNK_NUMBERS // (len(self._options) + self._paths.nodes))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def _costs(self, values: Array, at: Problem, rows: slice) -> Array:
        """(E + 1, K): what usable edges cost, ∞ where closed; the last row is padding."""
        flat = values[rows].reshape(-1, at.size)
        costs = np.full((len(self._options) + 1, len(flat)), np.inf)
        costs[:-1] = (flat[:, self._idle] - flat[:, self._options]).T
        mask = (at.mask if at.mask.ndim == 2 else at.mask[rows]).reshape(-1, at.size)
        costs[:-1][np.broadcast_to(~mask[:, self._options].T, costs[:-1].shape)] = np.inf
        return costs

    def _ways(self, costs: Array, at: Problem) -> Array:
        """(K, G·S): the best path of each instance, for costs ≥ 0."""
        paths, count = self._paths, costs.shape[1]
        distance = np.full((paths.nodes, count), np.inf)
        distance[paths.source] = 0.0
        by = np.full((paths.nodes, count), -1, dtype=np.intp)
        for _round in range(paths.nodes):
            shortest, edge = distance.copy(), by.copy()
            for behind, edges in zip(self._behind.T, self._into.T, strict=True):
                way = distance[behind] + costs[edges]
                shorter = way < shortest
                np.copyto(shortest, way, where=shorter)
                np.copyto(edge, edges[:, None], where=shorter)
            if (shortest == distance).all():
                break
            distance, by = shortest, edge
        x = np.zeros((count, at.size))
        idle = x.reshape(count, *at.shape)[:, :, -1]
        idle[:, paths.group_of[paths.inner]] = 1.0
        every, node = np.arange(count), np.full(count, paths.sink)
        while len(every):
            edge = by[node, every]
            x[every, self._options[edge]] = 1.0
            node = self._tail[edge]
            on = node != paths.source
            every, node = every[on], node[on]
            idle[every, paths.group_of[node]] = 0.0
        return x


def _arriving(head: Indices, nodes: int) -> Indices:
    """(nodes, D): the edges that arrive at each node, padded with one past the last."""
    order = np.argsort(head, kind="stable")
    counts = np.bincount(head, minlength=nodes)
    slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((nodes, int(counts.max())), len(head), dtype=np.intp)
    table[head[order], slot] = order
    return table
