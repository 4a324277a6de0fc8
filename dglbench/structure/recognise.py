"""Recognise the structure of rows that were given as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.structure.base import Structure
from dglbench.structure.columns import ColumnSums
from dglbench.structure.sparse import SparseRows
from dglbench.structure.take_leave import TakeLeave

__all__ = ["recognise"]

# A table of weights with fewer entries than this share is kept as a sparse matrix.
_LEAST_DENSITY = 0.25


def recognise(matrix: Any, groups: int, options: int, mask: npt.NDArray[np.bool_]) -> Structure:
    """Return the structure of a CSR array (M, G·S) whose options exist where ``mask`` (G, S) says.

    Items to take or leave come before assignments: one row of unit weights is both.
    """
    entries = matrix.tocoo()
    group, option = np.divmod(entries.col, options)
    rows = matrix.shape[0]
    if (
        options == 2
        and not (option == 1).any()
        and (rows == 1 or len(entries.data) >= _LEAST_DENSITY * rows * groups)
    ):
        weights = np.zeros((rows, groups))
        weights[entries.row, group] = entries.data
        return TakeLeave(weights)
    if (
        rows <= options
        and len(entries.data) == int(mask[:, :rows].sum())
        and (entries.row == option).all()
        and (entries.data == 1.0).all()
        and rows in (options, options - 1)
    ):
        return ColumnSums(rows, groups, options)
    return SparseRows(matrix, groups, options)
