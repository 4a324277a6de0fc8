"""Items to take or leave: one weight for each row and item."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dglbench.structure.base import Array, Structure

__all__ = ["TakeLeave"]

_TAKE = np.array([1.0, 0.0])
"""The share of an item's price that *take* and *leave* pay."""


class TakeLeave(Structure):
    """Groups of *take* (option 0, uses w_mi) and *leave* (option 1, uses nothing).

    A x = W t,   (Aᵀλ)_i = (Wᵀλ)_i for take,   A J Aᵀ = W diag(t (1 − t)) Wᵀ,   t = x_·0
    """

    kind: ClassVar[str] = "take or leave"

    def __init__(self, weights: Array) -> None:
        super().__init__(weights.shape[0], weights.shape[1], 2)
        self.weights = weights
        """(M, G)"""
        weights.setflags(write=False)

    @cached_property
    def matrix(self) -> Any:
        """See `Structure.matrix`."""
        from scipy.sparse import coo_array

        row, item = np.nonzero(self.weights)
        shape = (self.rows, 2 * self.groups)
        return coo_array((self.weights[row, item], (row, 2 * item)), shape=shape).tocsr()

    @cached_property
    def _tensor(self) -> Any:
        import torch

        return torch.tensor(self.weights)

    @cached_property
    def _take(self) -> Any:
        import torch

        return torch.tensor(_TAKE)

    def usage(self, x: Any) -> Any:
        """See `Structure.usage`."""
        weights = self.weights if isinstance(x, np.ndarray) else self._tensor.to(x)
        return x[:, :, 0] @ weights.T

    def prices(self, duals: Any) -> Any:
        """See `Structure.prices`."""
        if isinstance(duals, np.ndarray):
            prices = np.zeros((2, len(duals), self.groups))
            np.matmul(duals, self.weights, out=prices[0])
            return prices.transpose(1, 2, 0)  # as `options_first` would have it
        return (duals @ self._tensor.to(duals))[:, :, None] * self._take.to(duals)

    def _curvature(self, soft: Array, weight: Array | None) -> Array:
        undecided = soft[:, :, 0] * (1.0 - soft[:, :, 0])
        if weight is not None:
            undecided *= weight
        curvature: Array = (self.weights * undecided[:, None, :]) @ self.weights.T
        return curvature
