"""Paths through a directed graph: what flows into a node flows out of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.structure.band import Band
from dglbench.structure.base import Array, Structure, with_zero_column

__all__ = ["Paths"]

Indices = npt.NDArray[np.intp]

_MANY_ROWS, _NARROW = 60, 4
"""A band is used from this many rows on, if it is this many times narrower than the matrix."""


class _Tensors(NamedTuple):
    tail: Any
    head: Any
    arriving: Any
    leaving: Any


class Paths(Structure):
    """Every node but the sink picks one of its outgoing edges, or *not visited* (the last option).

    A row for every node v but source and sink: flow out of v − flow into v = 0. So the price of
    an edge u → v is λ_u − λ_v, with λ = 0 at source and sink, and λ is a potential: it rises
    along the path by what the path costs. Groups and rows are in the order of the nodes'
    numbers. Edges into the source or out of the sink are on no path and have no option.

        (A x)_v = Σ_out x − Σ_in x,   (Aᵀλ)_uv = λ_u − λ_v
    """

    kind: ClassVar[str] = "paths"

    def __init__(self, edges: npt.ArrayLike, source: int, sink: int, nodes: int) -> None:
        self.edges: Indices = np.array(edges, dtype=np.intp)
        """(E, 2): from node, to node."""
        self.source, self.sink, self.nodes = source, sink, nodes
        self._check()
        tail, head = self.edges.T
        self.usable: npt.NDArray[np.bool_] = (tail != sink) & (head != source) & (tail != head)
        """(E,): whether an edge can be on a path."""
        self.group_of: Indices = np.arange(nodes) - (np.arange(nodes) > sink)
        """(N,): the group of each node; meaningless for the sink."""
        inner = np.setdiff1d(np.arange(nodes), [source, sink])
        self.row_of: Indices = np.full(nodes, len(inner), dtype=np.intp)
        """(N,): the row of each node; M, one past the last, for source and sink."""
        self.row_of[inner] = np.arange(len(inner))
        self.inner = inner
        """(M,): the node of each row."""

        used = np.flatnonzero(self.usable)
        order = used[np.argsort(tail[used], kind="stable")]
        degree = np.bincount(tail[order], minlength=nodes)
        slot = np.arange(len(order)) - np.repeat(np.cumsum(degree) - degree, degree)
        self.degree = int(degree.max(initial=0))
        super().__init__(len(inner), nodes - 1, self.degree + 1)
        self.option_of: Indices = np.full(len(self.edges), -1, dtype=np.intp)
        """(E,): the place of each edge among the G·S options, −1 for those on no path."""
        self.option_of[order] = self.group_of[tail[order]] * self.options + slot

    def _check(self) -> None:
        if self.edges.ndim != 2 or self.edges.shape[1] != 2 or not len(self.edges):
            raise ProblemError(
                f"edges must be pairs (from node, to node), got shape {self.edges.shape}."
            )
        if self.edges.min() < 0 or self.edges.max() >= self.nodes:
            raise ProblemError(
                f"edges must join nodes 0 … {self.nodes - 1}, got node "
                f"{self.edges.min() if self.edges.min() < 0 else self.edges.max()}."
            )
        if self.source == self.sink or not (
            0 <= self.source < self.nodes and 0 <= self.sink < self.nodes
        ):
            raise ProblemError(
                f"source and sink must be two different nodes of 0 … {self.nodes - 1}, got "
                f"{self.source} and {self.sink}."
            )
        if self.nodes < 3:
            raise ProblemError("a path problem needs at least one node besides source and sink.")

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(G, S): edges where they are, *not visited* everywhere but at the source."""
        mask = np.zeros((self.groups, self.options), dtype=bool)
        mask.ravel()[self.option_of[self.usable]] = True
        mask[:, -1] = True
        mask[self.group_of[self.source], -1] = False
        return mask

    @cached_property
    def depths(self) -> Indices | None:
        """(N,): the most edges on a way to each node, or None if the graph has cycles."""
        tail, head = self.edges[self.usable].T
        waiting = np.bincount(head, minlength=self.nodes)
        depth = np.zeros(self.nodes, dtype=np.intp)
        ready, settled = waiting == 0, 0
        for level in range(self.nodes):
            depth[ready] = level
            settled += int(ready.sum())
            done = np.bincount(head[ready[tail]], minlength=self.nodes)
            waiting = waiting - done
            ready = (waiting == 0) & (done > 0)
            if not ready.any():
                break
        return depth if settled == self.nodes else None

    @cached_property
    def _tail_row(self) -> Indices:
        """(G·S,): the row of the node each option leaves; M where it has none."""
        return self._row_at(0)

    @cached_property
    def _head_row(self) -> Indices:
        return self._row_at(1)

    def _row_at(self, end: int) -> Indices:
        rows = np.full(self.groups * self.options, self.rows, dtype=np.intp)
        rows[self.option_of[self.usable]] = self.row_of[self.edges[self.usable, end]]
        return rows

    @cached_property
    def _arriving(self) -> Indices:
        """(M, D): the options that enter each row's node, padded with G·S."""
        return self._options_by_row(self._head_row)

    @cached_property
    def _leaving(self) -> Indices:
        """(M, D): the options that leave each row's node, padded with G·S."""
        return self._options_by_row(self._tail_row)

    def _options_by_row(self, row_of: Indices) -> Indices:
        size = self.groups * self.options
        option = np.flatnonzero(row_of < self.rows)
        row = row_of[option]
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=self.rows)
        slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((self.rows, int(counts.max(initial=0))), size, dtype=np.intp)
        table[row[order], slot] = option[order]
        return table

    @cached_property
    def _tensors(self) -> _Tensors:
        import torch

        parts = (self._tail_row, self._head_row, self._arriving, self._leaving)
        return _Tensors(*(torch.from_numpy(part.astype(np.int64)) for part in parts))

    @cached_property
    def matrix(self) -> Any:
        """See `Structure.matrix`."""
        from scipy.sparse import coo_array

        option = np.arange(self.groups * self.options)
        leaves, enters = self._tail_row < self.rows, self._head_row < self.rows
        row = np.concatenate([self._tail_row[leaves], self._head_row[enters]])
        data = np.repeat([1.0, -1.0], [leaves.sum(), enters.sum()])
        column = np.concatenate([option[leaves], option[enters]])
        return coo_array((data, (row, column)), shape=(self.rows, len(option))).tocsr()

    def usage(self, x: Any) -> Any:
        """See `Structure.usage`."""
        plain = isinstance(x, np.ndarray)
        arriving = self._arriving if plain else self._tensors.arriving
        leaving = self._leaving if plain else self._tensors.leaving
        flow = with_zero_column(x.reshape(len(x), -1))
        return flow[:, leaving].sum(axis=2) - flow[:, arriving].sum(axis=2)

    def prices(self, duals: Any) -> Any:
        """See `Structure.prices`."""
        plain = isinstance(duals, np.ndarray)
        tail = self._tail_row if plain else self._tensors.tail
        head = self._head_row if plain else self._tensors.head
        potential = with_zero_column(duals)
        prices = potential[:, tail] - potential[:, head]
        return prices.reshape(len(duals), self.groups, self.options)

    @cached_property
    def _is_edge(self) -> Array:
        """(G, S): 1 where an option is an edge, 0 on *not visited* and padding."""
        is_edge = np.zeros(self.groups * self.options)
        is_edge[self.option_of[self.usable]] = 1.0
        return is_edge.reshape(self.groups, self.options)

    @cached_property
    def band(self) -> Band | None:
        """See `Structure.band`: few nodes share a group, and neighbours are near in good order."""
        row, column, _ = self._pattern
        if self.rows < _MANY_ROWS:
            return None
        band = Band(row, column, self.rows)
        return band if _NARROW * band.width < self.rows else None

    def curvature_numbers(self, soft: Array, weight: Array | float | None = None) -> Array:
        """See `Structure.curvature_numbers`."""
        edges = (soft * self._is_edge)[:, :, : self.degree]
        leaving = edges.sum(axis=2, keepdims=True)
        blocks = np.empty((len(soft), self.groups, self.degree + 1, self.degree + 1))
        diagonal = np.arange(1, self.degree + 1)
        blocks[:, :, 0, 0] = (leaving * (1.0 - leaving))[:, :, 0]
        blocks[:, :, 0, 1:] = blocks[:, :, 1:, 0] = -edges * (1.0 - leaving)
        blocks[:, :, 1:, 1:] = -edges[..., :, None] * edges[..., None, :]
        blocks[:, :, diagonal, diagonal] += edges
        if weight is not None:
            blocks *= weight if isinstance(weight, float) else weight[:, :, None, None]
        gather = self._pattern[2]
        return np.ascontiguousarray((gather @ blocks.reshape(len(soft), -1).T).T)

    def _curvature(self, soft: Array, weight: Array | None) -> Array:
        row, column, _ = self._pattern
        curvature = np.zeros((len(soft), self.rows, self.rows))
        curvature[:, row, column] = self.curvature_numbers(soft, weight)
        return curvature

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices, Any]:
        """Where the blocks of the groups add up: rows, columns, and the sparse sum over blocks."""
        from scipy.sparse import coo_array

        head = self._head_row.reshape(self.groups, self.options)[:, : self.degree]
        node = np.delete(np.arange(self.nodes), self.sink)  # the node of each group
        local = np.concatenate([self.row_of[node][:, None], head], axis=1)
        width = local.shape[1]
        left = np.repeat(local[:, :, None], width, axis=2).ravel()
        right = np.repeat(local[:, None, :], width, axis=1).ravel()
        real = np.flatnonzero((left < self.rows) & (right < self.rows))
        place, index = np.unique(left[real] * self.rows + right[real], return_inverse=True)
        shape = (len(place), len(left))
        gather = coo_array((np.ones(len(real)), (index, real)), shape=shape).tocsr()
        return place // self.rows, place % self.rows, gather
