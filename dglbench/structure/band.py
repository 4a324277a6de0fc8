"""Where the entries of a sparse symmetric matrix lie once its rows are in a good order."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Band"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class Band:
    """Entries (N,) of a symmetric M × M pattern, sorted by row; every row has its diagonal.

    Rows come in the order of reverse Cuthill–McKee, which keeps neighbours near each other.
    """

    def __init__(self, row: Indices, column: Indices, rows: int) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        self.row, self.column, self.rows = row, column, rows
        self.starts: Indices = np.searchsorted(row, np.arange(rows))
        """(M,): where each row's entries begin."""
        self.diagonal: Indices = np.flatnonzero(row == column)
        """(M,): the entries on the diagonal."""
        pattern: Any = csr_array((np.ones(len(row)), (row, column)), shape=(rows, rows))
        self.order: Indices = reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.intp)
        """(M,): which row comes first, second, …"""
        self._place = np.empty(rows, dtype=np.intp)
        self._place[self.order] = np.arange(rows)
        self.width = int(np.abs(self._place[row] - self._place[column]).max(initial=0))
        """How far from the diagonal entries lie, at most."""

    @cached_property
    def _below(self) -> tuple[Indices, Indices, Indices]:
        """Which entries lie on or under the diagonal, how far under it, and in which column."""
        row, column = self._place[self.row], self._place[self.column]
        chosen = np.flatnonzero(row >= column)
        return chosen, row[chosen] - column[chosen], column[chosen]

    def lower(self, numbers: Array, shift: Array) -> Array:
        """Return one matrix (N,), plus a diagonal (M,), as LAPACK's lower band (width + 1, M)."""
        chosen, under, column = self._below
        band = np.zeros((self.width + 1, self.rows))
        band[under, column] = numbers[chosen]
        band[0] += shift[self.order]
        return band

    def both(self, numbers: Array, shift: Array) -> Array:
        """Return the same as LAPACK's full band (2 width + 1, M)."""
        row, column = self._place[self.row], self._place[self.column]
        band = np.zeros((2 * self.width + 1, self.rows))
        band[self.width + row - column, column] = numbers
        band[self.width] += shift[self.order]
        return band
