"""Shortest ways through an acyclic graph, all nodes of one depth and all instances at once.

d(v) = min over edges u → v of d(u) + c_uv

Small batches are asked for at every training step, where each numpy call counts: nodes stand in
the order of the sweep, so that a level is a slice, and costs are gathered once for all levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array

__all__ = ["LevelSweep"]

Indices = npt.NDArray[np.intp]


class _Level(NamedTuple):
    """Nodes that a sweep handles together; D is the most edges that lead into one of them."""

    places: slice
    """The nodes, n of them, in the order of the sweep."""
    behind: Indices
    """(D, n): where the edges into each node come from, as places."""
    table: slice
    """Where the D · n costs of these edges are in the table of all."""


class LevelSweep:
    """Distances from one node, and the way to another.

    ``depths`` rise along the sweep; ``into`` and ``out_of`` are the nodes at the ends of each of
    E edges, swapped for a sweep against them.
    """

    def __init__(self, depths: Indices, into: Indices, out_of: Indices, start: int) -> None:
        nodes, edges = len(depths), len(into)
        levels = [_padded(into, depths[into] == depth) for depth in np.unique(depths[into])]
        reached = np.concatenate([heads for heads, _ in levels])
        order = np.concatenate([np.setdiff1d(np.arange(nodes), reached), reached])
        self.place_of: Indices = np.argsort(order)
        """(N,): where each node stands in the order of the sweep."""
        self._nodes, self._start = nodes, int(self.place_of[start])
        self._table: Indices = np.concatenate([table.ravel() for _, table in levels])
        """(T,): the edges of all levels, each level's D · n together; E where there is none."""
        # From a place and the number of one of its edges to the place of that edge in the table.
        self._first = np.zeros((nodes, 1), dtype=np.intp)
        self._stride = np.zeros((nodes, 1), dtype=np.intp)
        self._levels: list[_Level] = []
        came_from = np.append(self.place_of[out_of], 0)
        self._tail = came_from[self._table]
        place, done = nodes - len(reached), 0
        for heads, table in levels:
            count = len(heads)
            places = slice(place, place + count)
            self._first[places, 0] = done + np.arange(count)
            self._stride[places] = count
            self._levels.append(_Level(places, came_from[table], slice(done, done + table.size)))
            place, done = place + count, done + table.size
        self._none = edges

    def distances(self, costs: Array) -> Array:
        """Return distances by place, (N, K), for costs (E + 1, K) whose last row is infinite.

        A closed edge costs ∞. Nodes that no way reaches get a distance longer than any way.
        """
        return self._sweep(costs, None)

    def way(self, costs: Array, end: int, most: int) -> tuple[Indices, Indices]:
        """Return the edges of the shortest way to ``end`` and the instance of each.

        Of equal ways into a node the first edge is taken; no way has more than ``most`` edges.
        """
        count = costs.shape[1]
        choice = np.zeros((self._nodes, count), dtype=np.intp)
        self._sweep(costs, choice)
        choice *= self._stride
        choice += self._first
        every = np.arange(count)
        before = self._tail.take(choice)
        before *= count
        before += every
        before[self._start] = self._start * count + every
        # Places of one node and all instances lie together: node · K + instance.
        at = np.empty((most, count), dtype=np.intp)
        at[0] = self.place_of[end] * count + every
        for step in range(1, most):
            before.take(at[step - 1], out=at[step], mode="clip")
        edges = self._table.take(choice.take(at))
        on = at // count != self._start
        if on.all():
            return edges.ravel(), np.tile(every, most)
        return edges[on], np.broadcast_to(every, at.shape)[on]

    def _sweep(self, costs: Array, choice: Indices | None) -> Array:
        """Return distances; fill in which of its edges leads to each node."""
        # Longer than any way; the distance of nodes that no way reaches.
        open_ = costs[:-1]
        if np.isinf(open_.max(initial=0.0)):
            open_ = np.where(np.isinf(open_), 0.0, open_)
        sizes = np.abs(open_).max(axis=0)
        far = np.where(sizes > 0, 4.0 * self._nodes * sizes, 1.0)
        costs = costs.take(self._table, axis=0)
        distance = np.empty((self._nodes, costs.shape[1]))
        distance[: self._levels[0].places.start] = far
        distance[self._start] = 0.0
        for level in self._levels:
            way = distance.take(level.behind, axis=0)
            way += costs[level.table].reshape(way.shape)
            shortest = distance[level.places]
            if choice is not None:
                if len(way) == 2:  # as on grids; argmin takes longer
                    np.less(way[1], way[0], out=choice[level.places], casting="unsafe")
                else:
                    way.argmin(axis=0, out=choice[level.places])
            np.minimum.reduce(way, axis=0, out=shortest)
            np.minimum(shortest, far, out=shortest)
        return distance


def _padded(into: Indices, chosen: npt.NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Return the nodes (n,) that the chosen edges lead into, and these edges as (D, n), padded."""
    edges = np.flatnonzero(chosen)
    edges = edges[np.argsort(into[edges], kind="stable")]
    heads, counts = np.unique(into[edges], return_counts=True)
    slot = np.arange(len(edges)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((counts.max(), len(heads)), len(into), dtype=np.intp)
    table[slot, np.repeat(np.arange(len(heads)), counts)] = edges
    return heads, table
