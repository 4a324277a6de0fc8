"""Any other rows: a sparse matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dglbench.structure.base import Array, Structure, sparse_to_torch

__all__ = ["SparseRows"]

# Pairs of rows that share an option, above which they are not all stored.
_MOST_PAIRS = 10_000_000
# Numbers in a working array of one chunk of instances.
_CHUNK_NUMBERS = 2**22


class SparseRows(Structure):
    """A as a scipy CSR array of shape (M, G·S)."""

    kind: ClassVar[str] = "general rows"

    def __init__(self, matrix: Any, groups: int, options: int) -> None:
        super().__init__(matrix.shape[0], groups, options)
        self._matrix = matrix

    @property
    def matrix(self) -> Any:
        """See `Structure.matrix`."""
        return self._matrix

    def usage(self, x: Any) -> Any:
        """See `Structure.usage`."""
        flat = x.reshape(len(x), -1)
        if isinstance(x, np.ndarray):
            return np.ascontiguousarray((self._matrix @ flat.T).T)
        import torch

        return torch.sparse.mm(self._tensors[0].to(x), flat.T).T

    def prices(self, duals: Any) -> Any:
        """See `Structure.prices`."""
        shape = (len(duals), self.groups, self.options)
        if isinstance(duals, np.ndarray):
            return np.ascontiguousarray((self._transposed @ duals.T).T).reshape(shape)
        import torch

        return torch.sparse.mm(self._tensors[1].to(duals), duals.T).T.reshape(shape)

    @cached_property
    def _transposed(self) -> Any:
        return self._matrix.T.tocsr()

    @cached_property
    def _tensors(self) -> tuple[Any, Any]:
        return sparse_to_torch(self._matrix), sparse_to_torch(self._transposed)

    def _curvature(self, soft: Array, weight: Array | None) -> Array:
        """A diag(w z) Aᵀ − Σ_g w_g u_g u_gᵀ, u_g = A_g z_g what group g uses."""
        curvature = np.empty((len(soft), self.rows, self.rows))
        step = max(1, _CHUNK_NUMBERS // (self.groups * self.rows))
        for start in range(0, len(soft), step):
            part = slice(start, start + step)
            flat = soft[part].reshape(-1, self.groups * self.options)
            used = np.asarray((self._by_group @ flat.T).T).reshape(len(flat), -1, self.rows)
            again = used
            if weight is not None:
                again = used * weight[part, :, None]
                flat = (soft[part] * weight[part, :, None]).reshape(flat.shape)
            curvature[part] = self._weighted_gram(flat) - used.transpose(0, 2, 1) @ again
        return curvature

    def _weighted_gram(self, flat: Array) -> Array:
        """A diag(z) Aᵀ, as (K, M, M)."""
        if self._pairs is not None:
            return np.asarray((self._pairs @ flat.T).T).reshape(-1, self.rows, self.rows)
        return np.stack(
            [((self._matrix * one[None, :]) @ self._matrix.T).toarray() for one in flat]
        )

    @cached_property
    def _by_group(self) -> Any:
        """Sparse (G·M, G·S): what each group uses of each row, rows of one group together."""
        from scipy.sparse import coo_array

        entries = self._matrix.tocoo()
        place = entries.col // self.options * self.rows + entries.row
        shape = (self.groups * self.rows, self._matrix.shape[1])
        return coo_array((entries.data, (place, entries.col)), shape=shape).tocsr()

    @cached_property
    def _pairs(self) -> Any:
        """Sparse (M·M, G·S): a_m a_n for every option, or None if that takes too much memory."""
        from scipy.sparse import coo_array

        columns = self._matrix.tocsc()
        counts = np.diff(columns.indptr)
        if int((counts.astype(np.int64) ** 2).sum()) > _MOST_PAIRS:
            return None
        entry = np.arange(len(columns.data))
        owner = np.repeat(np.arange(len(counts)), counts)
        # Pair every entry with every entry of its own column.
        left = np.repeat(entry, counts[owner])
        within = np.arange(len(left)) - np.repeat(
            np.cumsum(counts[owner]) - counts[owner], counts[owner]
        )
        right = columns.indptr[owner[left]] + within
        place = columns.indices[left].astype(np.int64) * self.rows + columns.indices[right]
        shape = (self.rows * self.rows, self._matrix.shape[1])
        data = columns.data[left] * columns.data[right]
        return coo_array((data, (place, owner[left])), shape=shape).tocsr()
