"""Rows whose entries differ by instance: what people weigh, or how far they travel, by day."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.structure.base import Array, Structure

__all__ = ["ByInstance", "Pattern"]

Indices = npt.NDArray[np.intp]

# Numbers in a working array of one chunk of instances.
_CHUNK_NUMBERS = 2**22


class Pattern:
    """Where A is not 0 in some instance, and sums over these N entries."""

    def __init__(self, at: Indices, rows: int, groups: int, options: int) -> None:
        self.at = at
        """(N,): places m·(G·S) + option among the M·G·S numbers of A, in rising order."""
        self.rows, self.groups, self.options = rows, groups, options
        self.row, self.option = np.divmod(at, groups * options)

    @cached_property
    def by_row(self) -> Any:
        """Sparse (M, N): adds the entries of each row."""
        return _sums(self.row, self.rows)

    @cached_property
    def by_option(self) -> Any:
        """Sparse (G·S, N): adds the entries of each option."""
        return _sums(self.option, self.groups * self.options)

    @cached_property
    def by_group(self) -> Any:
        """Sparse (G·M, N): adds the entries of each group and row."""
        return _sums(self.option // self.options * self.rows + self.row, self.groups * self.rows)

    @cached_property
    def tensors(self) -> tuple[Any, Any]:
        """The row and the option of each entry, for torch."""
        import torch

        row, option = (part.astype(np.int64) for part in (self.row, self.option))
        return torch.from_numpy(row), torch.from_numpy(option)


class ByInstance(Structure):
    """A of shape (K, M, G, S), sparse: one pattern of entries, and K numbers for each.

    The operations take a batch of just these K instances; `take` gives those of some.

        (A x)_k = A_k x_k,   (Aᵀλ)_k = A_kᵀ λ_k,   (A J Aᵀ)_k = A_k J_k A_kᵀ
    """

    kind: ClassVar[str] = "rows that differ by instance"

    def __init__(self, pattern: Pattern, use: Array) -> None:
        super().__init__(pattern.rows, pattern.groups, pattern.options)
        self.pattern = pattern
        self.use = use
        """(K, N): the entries of each instance."""
        use.setflags(write=False)

    @property
    def instances(self) -> int | None:
        """See `Structure.instances`."""
        return len(self.use)

    def take(self, instances: Any) -> ByInstance:
        """See `Structure.take`."""
        part = ByInstance(self.pattern, self.use[instances])
        # Bounds over all instances, so that an answer does not depend on who is in the batch.
        part.__dict__.update(largest_use=self.largest_use, steepest_price=self.steepest_price)
        return part

    def one(self, instance: int) -> Any:
        """A of one instance as a scipy CSR array (M, G·S), without stored zeros."""
        from scipy.sparse import coo_array

        use = self.use[instance]
        used = np.flatnonzero(use)
        entries = (use[used], (self.pattern.row[used], self.pattern.option[used]))
        return coo_array(entries, shape=(self.rows, self.groups * self.options)).tocsr()

    @property
    def matrix(self) -> Any:
        """See `Structure.matrix`; of one instance alone."""
        if len(self.use) != 1:
            raise ProblemError(
                f"A differs by instance, and these are {len(self.use)} instances, so it is no "
                "single matrix; ask for one with problem.alone(instance)."
            )
        return self.one(0)

    @property
    def numbers(self) -> Array:
        """See `Structure.numbers`."""
        return self.use

    @cached_property
    def steepest_price(self) -> float:
        """See `Structure.steepest_price`; over all instances."""
        return float((self.pattern.by_option @ np.abs(self.use).T).max(initial=0.0))

    def dense(self) -> Array:
        """A as a dense (K, M, G·S) array, for small problems only."""
        size = self.groups * self.options
        dense = np.zeros((len(self.use), self.rows * size))
        dense[:, self.pattern.at] = self.use
        return dense.reshape(-1, self.rows, size)

    def usage(self, x: Any) -> Any:
        """See `Structure.usage`."""
        flat, pattern = x.reshape(len(x), -1), self.pattern
        if isinstance(x, np.ndarray):
            used = flat[:, pattern.option] * self.use
            return np.ascontiguousarray((pattern.by_row @ used.T).T)
        row, option = pattern.tensors
        used = flat[:, option] * self._tensor.to(x)
        return used.new_zeros((len(x), self.rows)).index_add(1, row, used)

    def prices(self, duals: Any) -> Any:
        """See `Structure.prices`."""
        shape, pattern = (len(duals), self.groups, self.options), self.pattern
        if isinstance(duals, np.ndarray):
            paid = duals[:, pattern.row] * self.use
            return np.ascontiguousarray((pattern.by_option @ paid.T).T).reshape(shape)
        row, option = pattern.tensors
        paid = duals[:, row] * self._tensor.to(duals)
        prices = paid.new_zeros((len(duals), self.groups * self.options))
        return prices.index_add(1, option, paid).reshape(shape)

    @cached_property
    def _tensor(self) -> Any:
        import torch

        return torch.tensor(self.use)

    def _curvature(self, soft: Array, weight: Array | None) -> Array:
        """A diag(w z) Aᵀ − Σ_g w_g u_g u_gᵀ, u_g = A_g z_g what group g uses."""
        weighted = soft if weight is None else soft * weight[:, :, None]
        flat, heavy = soft.reshape(len(soft), -1), weighted.reshape(len(soft), -1)
        curvature = np.empty((len(soft), self.rows, self.rows))
        step = max(1, _CHUNK_NUMBERS // (self.rows * self.groups * self.options))
        for start in range(0, len(soft), step):
            part = slice(start, min(start + step, len(soft)))
            entries = flat[part][:, self.pattern.option] * self.use[part]
            used = np.ascontiguousarray((self.pattern.by_group @ entries.T).T)
            used = used.reshape(-1, self.groups, self.rows)
            again = used if weight is None else used * weight[part, :, None]
            curvature[part] = self._gram(heavy[part], part) - used.transpose(0, 2, 1) @ again
        return curvature

    def _gram(self, flat: Array, part: slice) -> Array:
        """A diag(z) Aᵀ of some instances, as (K', M, M)."""
        if self.rows * flat.shape[1] > _CHUNK_NUMBERS:
            whole = (self.one(instance) for instance in range(part.start, part.stop))
            products = [(A * z[None, :]) @ A.T for A, z in zip(whole, flat, strict=True)]
            return np.stack([product.toarray() for product in products])
        A = ByInstance(self.pattern, self.use[part]).dense()
        gram: Array = (A * flat[:, None, :]) @ A.transpose(0, 2, 1)
        return gram


def _sums(place: Indices, places: int) -> Any:
    """Return a sparse (places, N) array of ones that adds entries at their places."""
    from scipy.sparse import coo_array

    entry = np.arange(len(place))
    return coo_array((np.ones(len(place)), (place, entry)), shape=(places, len(place))).tocsr()
