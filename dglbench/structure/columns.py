"""Assignments: option j of every group uses one unit of row j."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dglbench.structure.base import Array, Structure

__all__ = ["ColumnSums"]

_FEW_ROWS = 4
"""Up to this many rows, dot products of all pairs are faster than a matrix product."""


class ColumnSums(Structure):
    """Heads at M locations. Options beyond the M-th, such as *absent*, use nothing.

    (A x)_j = Σ_g x_gj,   (Aᵀλ)_gj = λ_j,   A J Aᵀ = diag(Σ_g z_gj) − zᵀz
    """

    kind: ClassVar[str] = "assignment"

    @cached_property
    def matrix(self) -> Any:
        """See `Structure.matrix`."""
        from scipy.sparse import coo_array

        row = np.tile(np.arange(self.rows), self.groups)
        column = (np.arange(self.groups)[:, None] * self.options + np.arange(self.rows)).ravel()
        shape = (self.rows, self.groups * self.options)
        return coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()

    @cached_property
    def _ones(self) -> Array:
        return np.ones(self.groups)

    def usage(self, x: Any) -> Any:
        """See `Structure.usage`."""
        # A product with ones is a sum that does not depend on how x lies in memory.
        heads = self._ones @ x if isinstance(x, np.ndarray) else x.sum(axis=1)
        return heads[:, : self.rows]

    def prices(self, duals: Any) -> Any:
        """See `Structure.prices`; laid out as `options_first` would have it."""
        shape = (len(duals), self.groups, self.options)
        if self.rows < self.options:
            full = (
                np.zeros((len(duals), self.options))
                if isinstance(duals, np.ndarray)
                else duals.new_zeros((len(duals), self.options))
            )
            full[:, : self.rows] = duals
            duals = full
        if isinstance(duals, np.ndarray):
            prices = np.empty((self.options, len(duals), self.groups))
            prices[...] = duals.T[:, :, None]
            return prices.transpose(1, 2, 0)
        return duals[:, None, :].expand(shape).clone()

    def _curvature(self, soft: Array, weight: Array | None) -> Array:
        placed = soft[:, :, : self.rows]
        weighted = placed if weight is None else placed * weight[:, :, None]
        by_row, again = weighted.transpose(0, 2, 1), placed.transpose(0, 2, 1)
        curvature: Array = (
            np.vecdot(by_row[:, :, None], again[:, None], order="C")
            if self.rows <= _FEW_ROWS
            else np.matmul(by_row, placed, order="C")
        )
        np.negative(curvature, out=curvature)
        diagonal = curvature.reshape(len(soft), -1)[:, :: self.rows + 1]
        diagonal += self._ones @ weighted
        return curvature
