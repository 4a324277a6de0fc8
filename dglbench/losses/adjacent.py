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

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem

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
    basis, matrix = _first_basis(matrix, point)
    found: dict[bytes, Array] = {}
    seen = {frozenset(basis)}
    waiting = deque([basis])
    while waiting:
        basis = waiting.popleft()
        tableau = np.linalg.solve(matrix[:, basis], matrix)
        tableau[:, basis] = 0.0  # a basic column leads nowhere
        tableau[np.abs(tableau) < _ZERO] = 0.0
        held = point[basis]
        ratios = np.full(tableau.shape, np.inf)
        np.divide(held[:, None], tableau, out=ratios, where=tableau > 0.0)
        step = ratios.min(axis=0)
        for entering in np.flatnonzero((step > _ZERO) & (step < np.inf)):
            change = np.zeros(len(point))
            change[entering] = 1.0
            change[basis] = -tableau[:, entering]
            direction = np.zeros(problem.size)
            direction[columns] = step[entering] * change[: len(columns)]
            found.setdefault((direction.round(7) + 0.0).tobytes(), direction)
        if len(seen) < most_bases:
            empty = np.flatnonzero(held <= _ZERO)
            for place, entering in zip(*np.nonzero(tableau[empty]), strict=True):
                other = basis.copy()
                other[empty[place]] = entering
                if (key := frozenset(other)) not in seen:
                    seen.add(key)
                    waiting.append(other)
                    if len(seen) == most_bases:
                        break
    directions = [d for d in found.values() if (np.abs(d) > _ZERO).any()]
    return np.array(directions).reshape(-1, problem.size)


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
    """Return a basis of the vertex, and the rows that do not follow from others.

    Columns above 0 come first: those of a vertex are independent.
    """
    work = matrix.copy()
    basis: list[int] = []
    rows: list[int] = []
    free = np.ones(len(work), dtype=bool)
    for column in np.argsort(-point, kind="stable"):
        row = int(np.argmax(np.abs(work[:, column]) * free))
        if not free[row] or abs(work[row, column]) <= _ZERO:
            if point[column] > 0.0:
                raise SolverError(
                    "the solver's optimum of a relaxation is no vertex, so it has no neighbours; "
                    "take --solver ortools."
                )
            continue
        factor = work[:, column] / work[row, column]
        factor[row] = 0.0
        work -= factor[:, None] * work[row]
        free[row] = False
        basis.append(int(column))
        rows.append(row)
        if not free.any():
            break
    return np.array(basis), matrix[np.sort(rows)]
