"""The vertices next to a vertex of the LP relaxation, by simplex pivots.

In the standard form  [groups; A] (x, slack) = (1, b),  (x, slack) ≥ 0,  a vertex is described by
a basis, and moving one column into the basis until another becomes 0 leads along an edge to the
next vertex. A degenerate vertex (basic columns at 0: full rows of an assignment, nodes that a
path leaves out) has many bases, and some edges are seen only from some of them: pivots on those
zeros go from basis to basis at the same place. Their number can be exponential, so the search,
nearest bases first, ends after a given number of them.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem
from dglbench.streams import stream

__all__ = ["adjacent_directions"]

Index = npt.NDArray[np.intp]

_ZERO = 1e-9
"""Entries nearer to 0 than this are 0; rows are scaled to a largest entry of 1."""


def adjacent_directions(problem: Problem, x: Array, most_bases: int) -> Array:
    """Return v − x, (n, G·S), for the vertices v next to x (G, S), each once.

    ``problem`` is that of the one instance. All of them are found if the vertex has no more
    than ``most_bases`` bases.
    """
    columns, matrix, point = _standard_form(problem, x)
    basis, tableau = _first_basis(matrix, point)
    shuffle = stream(0, "bases of a vertex")
    found: list[Array] = []
    seen = {frozenset(basis.tolist())}
    waiting = deque([_Turn(tableau, basis)])
    while waiting:
        tableau, basis = _pivoted(*waiting.popleft())
        found.append(_edges(tableau, basis, point)[:, : len(columns)])
        if len(seen) == most_bases:
            continue
        empty = np.flatnonzero(point[basis] == 0.0)
        turns = np.argwhere(tableau[empty] != 0.0)
        for place, entering in shuffle.permutation(turns).tolist():  # no preference if cut short
            other = basis.copy()
            other[empty[place]] = entering
            if (key := frozenset(other.tolist())) not in seen:
                seen.add(key)
                waiting.append(_Turn(tableau, basis, int(empty[place]), entering))
                if len(seen) == most_bases:
                    break
    steps = np.concatenate(found)
    # The same edge is met from several bases; a sum with random weights distinguishes edges.
    _, first = np.unique((steps @ shuffle.random(len(columns))).round(9), return_index=True)
    directions = np.zeros((len(first), problem.size))
    directions[:, columns] = steps[np.sort(first)]
    moved: Array = directions[np.abs(directions).max(axis=1, initial=0.0) > _ZERO]
    return moved


class _Turn(NamedTuple):
    """A tableau B⁻¹[groups; A], 0 in its basic columns, and a pivot that is still to be made."""

    tableau: Array
    basis: Index
    row: int = -1
    entering: int = -1


def _pivoted(tableau: Array, basis: Index, row: int, entering: int) -> tuple[Array, Index]:
    if row < 0:
        return tableau, basis
    tableau, basis = tableau.copy(), basis.copy()
    leaving, basis[row] = basis[row], entering
    tableau[row, leaving] = 1.0
    tableau[row] /= tableau[row, entering]
    factor = tableau[:, entering].copy()
    factor[row] = 0.0
    tableau -= factor[:, None] * tableau[row]
    tableau[:, entering] = 0.0
    tableau[np.abs(tableau) < _ZERO] = 0.0
    return tableau, basis


def _edges(tableau: Array, basis: Index, point: Array) -> Array:
    """(n, C): the steps to other vertices that enter one column each."""
    ratios = np.full(tableau.shape, np.inf)
    np.divide(point[basis][:, None], tableau, out=ratios, where=tableau > 0.0)
    step = ratios.min(axis=0)
    entering = np.flatnonzero((step > _ZERO) & (step < np.inf))
    change = np.zeros((len(entering), len(point)))
    change[:, basis] = -tableau[:, entering].T
    change[np.arange(len(entering)), entering] = 1.0
    change *= step[entering][:, None]
    return change


def _standard_form(problem: Problem, x: Array) -> tuple[Index, Array, Array]:
    """Return the options that exist, the matrix of the standard form and its point."""
    mask = np.broadcast_to(problem.mask.reshape(-1, *problem.shape)[0], problem.shape).ravel()
    columns = np.flatnonzero(mask)
    b = problem.b.reshape(-1, problem.rows)[0]
    use = problem.matrix[:, columns].toarray()
    unit = np.maximum(np.abs(use).max(axis=1), 1e-300)
    use, b = use / unit[:, None], b / unit
    loose = np.flatnonzero(~problem.equality)
    slack = np.zeros((problem.rows, len(loose)))
    slack[loose, np.arange(len(loose))] = 1.0
    pick = (columns // problem.options == np.arange(problem.groups)[:, None]).astype(np.float64)
    matrix = np.block([[pick, np.zeros((problem.groups, len(loose)))], [use, slack]])
    at = x.ravel()[columns]
    point = np.concatenate([at, (b - use @ at)[loose]])
    point[point < _ZERO * 10] = 0.0
    return columns, matrix, point


def _first_basis(matrix: Array, point: Array) -> tuple[Index, Array]:
    """Return a basis of the vertex and its tableau, without rows that follow from others.

    Columns above 0 come first: those of a vertex are independent.
    """
    work = matrix.copy()
    basis = np.full(len(work), -1)
    for column in np.argsort(-point, kind="stable"):
        row = int(np.argmax(np.abs(work[:, column]) * (basis < 0)))
        if basis[row] >= 0 or abs(work[row, column]) <= _ZERO:
            if point[column] > 0.0:
                raise SolverError(
                    "the solver's optimum of a relaxation is not a vertex, so it has no "
                    "neighbours; use --solver ortools."
                )
            continue
        work[row] /= work[row, column]
        factor = work[:, column].copy()
        factor[row] = 0.0
        work -= factor[:, None] * work[row]
        basis[row] = column
        if (basis >= 0).all():
            break
    kept = basis >= 0
    tableau, basis = work[kept], basis[kept]
    tableau[:, basis] = 0.0  # a basic column leads nowhere
    tableau[np.abs(tableau) < _ZERO] = 0.0
    return basis, tableau
