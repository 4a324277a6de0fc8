"""Duals of paths through any directed graph, from an optimum and the network it leaves open.

Entrance and exit of every node are joined by an arc (`ortools_flow.PathRule`). What an optimal flow
leaves open, arcs without flow as they are and arcs with flow backwards at minus their cost, has no
cycle of negative cost; so distances in it are potentials, and potentials of entrances are λ.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array, Problem
from dglbench.structure import Paths

__all__ = ["PathDuals"]

Indices = npt.NDArray[np.intp]

# Numbers in one working array; larger ones leave the cache.
CHUNK_NUMBERS = 2**19


class PathDuals:
    """The mean of two optimal vertices, for problems that `PathRule` fits.

    With d the distances in the network that the optimum leaves open, s the source, t the sink:

        λ_v = (d(t, v) + d(t, s) − d(v, s)) / 2

    d(t, v) is the largest optimal λ_v, d(t, s) − d(v, s) the least with the source's potential
    as high. Without cycles the mean is (d_s(v) − D − d_t(v)) / 2, the rule of `BatchedPaths`, which
    says why one vertex is not enough. Cycles that pay (costs may be negative) are in the optimum,
    and so in what it leaves open. Distances are found by Bellman's and Ford's rounds over all arcs,
    for all instances at once; nodes that no way reaches count as farther than the longest way.

    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), sections 5.4 and 9.3.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        used = np.flatnonzero(paths.usable)
        tail, head = paths.edges[used].T
        self._options = paths.option_of[used]
        self._idle = paths.group_of[paths.inner] * paths.options + paths.options - 1
        # Exits are the nodes' own numbers; entrances come after them.
        entrance = paths.nodes + np.arange(paths.nodes)
        tails = np.concatenate([tail, entrance[paths.inner]])
        heads = np.concatenate([entrance[head], paths.inner])
        self._from = np.concatenate([tails, heads])
        self._to = np.concatenate([heads, tails])
        self._source, self._sink = paths.source, entrance[paths.sink]
        self._inner = entrance[paths.inner]
        self._onward = _arriving(self._to, 2 * paths.nodes)
        self._back = _arriving(self._from, 2 * paths.nodes)

    def of(self, values: Array, x: Array, at: Problem) -> Array:
        """Return λ (K, M) for coefficients (K, G, S) and their optimal 0/1 decisions."""
        duals = np.empty((len(values), at.rows))
        for rows in self._chunks(len(values)):
            costs = self._open_arcs(values[rows], x[rows], at, rows)
            from_sink = _distances(costs, self._sink, self._from, self._onward)
            to_source = _distances(costs, self._source, self._to, self._back)
            ends = from_sink[self._inner] + to_source[self._sink] - to_source[self._inner]
            duals[rows] = 0.5 * ends.T
        return duals + 0.0

    def _chunks(self, count: int) -> Iterator[slice]:
        step = max(1, CHUNK_NUMBERS // len(self._from))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def _open_arcs(self, values: Array, x: Array, at: Problem, rows: slice) -> Array:
        """(2·arcs + 1, K): what each arc costs there and back, ∞ where closed; the last is none."""
        value, taken = values.reshape(len(values), -1), x.reshape(len(x), -1) > 0.5
        cost = np.concatenate([-value[:, self._options], value[:, self._idle]], axis=1)
        flow = np.concatenate([taken[:, self._options], ~taken[:, self._idle]], axis=1)
        mask = (at.mask if at.mask.ndim == 2 else at.mask[rows]).reshape(-1, at.size)
        closed = flow.copy()
        closed[:, : len(self._options)] |= ~mask[:, self._options]
        there = np.where(closed, np.inf, cost)
        back = np.where(flow, -cost, np.inf)
        return np.concatenate([there.T, back.T, np.full((1, len(values)), np.inf)])


def _arriving(to: Indices, nodes: int) -> Indices:
    """(nodes, D): the arcs that arrive at each node, padded with one past the last."""
    order = np.argsort(to, kind="stable")
    counts = np.bincount(to, minlength=nodes)
    slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((nodes, int(counts.max())), len(to), dtype=np.intp)
    table[to[order], slot] = order
    return table


def _distances(costs: Array, start: int, comes_from: Indices, arriving: Indices) -> Array:
    """Return distances (nodes, K) from ``start`` over arcs of these costs."""
    nodes = len(arriving)
    size = np.where(np.isinf(costs), 0.0, np.abs(costs)).max(axis=0)
    distance = np.empty((nodes, costs.shape[1]))
    distance[:] = np.where(size > 0, 4.0 * nodes * size, 1.0)
    distance[start] = 0.0
    # Equal ways differ by rounding; without a limit the rounds would never end.
    least = 64.0 * nodes * np.finfo(np.float64).eps * size
    behind = np.append(comes_from, 0)[arriving]
    for _round in range(nodes):
        shortest = distance.copy()
        for nodes_behind, arcs in zip(behind.T, arriving.T, strict=True):
            np.minimum(shortest, distance[nodes_behind] + costs[arcs], out=shortest)
        shorter = shortest < distance - least
        if not shorter.any():
            break
        np.copyto(distance, shortest, where=shorter)
    return distance
