"""What every structure of A answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from dglbench.structure.band import Band

__all__ = [
    "Array",
    "Structure",
    "options_first",
    "options_less",
    "sparse_to_torch",
    "with_zero_column",
]

Array = npt.NDArray[np.float64]


class Structure(ABC):
    """The matrix A of M rows over G groups of S options, as three operations on a batch.

    `usage` is A x, `prices` is Aᵀλ, `curvature` is A J Aᵀ with J = diag z − z zᵀ group by
    group. Numpy in, numpy out; torch in, torch out. Gradients flow through the first two.
    """

    kind: ClassVar[str]
    """Its usual name, such as ``assignment``."""

    def __init__(self, rows: int, groups: int, options: int) -> None:
        self.rows, self.groups, self.options = rows, groups, options

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """A as a scipy CSR array of shape (M, G·S), without stored zeros."""

    @property
    def instances(self) -> int | None:
        """K where A differs by instance, None where all share it."""
        return None

    def take(self, instances: Any) -> Structure:
        """Return the structure of these instances only; itself where all instances share it."""
        return self

    @property
    def numbers(self) -> Array:
        """The entries of A as they are stored, without most zeros."""
        numbers: Array = self.matrix.data
        return numbers

    @cached_property
    def largest_use(self) -> float:
        """The largest |entry| of A, or 1 if all are smaller: what rounding is measured by."""
        return float(np.abs(self.numbers).max(initial=1.0))

    @overload
    def usage(self, x: Array) -> Array: ...
    @overload
    def usage(self, x: Any) -> Any: ...
    @abstractmethod
    def usage(self, x: Any) -> Any:
        """A x for decisions (K, G, S), as (K, M)."""

    @overload
    def prices(self, duals: Array) -> Array: ...
    @overload
    def prices(self, duals: Any) -> Any: ...
    @abstractmethod
    def prices(self, duals: Any) -> Any:
        """Aᵀλ for duals (K, M), as (K, G, S): what each option costs at those prices."""

    @cached_property
    def steepest_price(self) -> float:
        """The most that any option's price changes when no multiplier changes by more than 1."""
        return float(abs(self.matrix).sum(axis=0).max(initial=0.0))

    @overload
    def curvature(self, soft: Array, weight: Array | float | None = None) -> Array: ...
    @overload
    def curvature(self, soft: Any, weight: Any = None) -> Any: ...
    def curvature(self, soft: Any, weight: Any = None) -> Any:
        """A J Aᵀ for soft decisions z (K, G, S), as (K, M, M), without gradient.

        J = w (diag z − z zᵀ) within every group: how a softmax with output z moves with its
        input. ``weight`` is w ≥ 0, (K, G) or one number for all, and 1 by default.
        """
        if isinstance(weight, float):
            curvature = self.curvature(soft)
            curvature *= weight
            return curvature
        if isinstance(soft, np.ndarray):
            return self._curvature(soft, weight)
        import torch

        plain = None if weight is None else weight.detach().cpu().numpy()
        return torch.from_numpy(self._curvature(soft.detach().cpu().numpy(), plain)).to(soft)

    @property
    def band(self) -> Band | None:
        """How A J Aᵀ lies in a narrow band, where it has many rows and does; see `Band`."""
        return None

    def curvature_numbers(self, soft: Array, weight: Array | float | None = None) -> Array:
        """Return the entries of A J Aᵀ that `band` knows of, (K, N); see `curvature`."""
        raise NotImplementedError(f"the curvature of {self.kind} is not kept as a band.")

    @abstractmethod
    def _curvature(self, soft: Array, weight: Array | None) -> Array: ...


def options_first(values: Array) -> Array:
    """Return (K, G, S) numbers laid out option by option in memory.

    Groups have few options, and sums or softmaxes over a short last axis are several times
    slower than the same over long rows. The shape stays the same, so callers need not know.
    """
    return np.ascontiguousarray(values.transpose(2, 0, 1)).transpose(1, 2, 0)


def options_less(values: Array, prices: Array) -> Array:
    """Return values − prices, both (K, G, S), laid out as `options_first` does."""
    less: Array = np.subtract(values.transpose(2, 0, 1), prices.transpose(2, 0, 1), order="C")
    return less.transpose(1, 2, 0)


def with_zero_column(numbers: Any) -> Any:
    """Append a column of zeros, which an index one past the end then finds."""
    if isinstance(numbers, np.ndarray):
        return np.concatenate([numbers, np.zeros((len(numbers), 1))], axis=1)
    import torch

    return torch.cat([numbers, numbers.new_zeros((len(numbers), 1))], dim=1)


def sparse_to_torch(matrix: Any) -> Any:
    """Return a scipy sparse array as a torch COO tensor in double precision."""
    import torch

    entries = matrix.tocoo()
    index = np.stack([entries.row, entries.col]).astype(np.int64)
    # is_coalesced: CSR order has no duplicates; saying so spares torch the sort.
    return torch.sparse_coo_tensor(
        torch.from_numpy(index),
        torch.from_numpy(entries.data.astype(np.float64)),
        matrix.shape,
        is_coalesced=True,
        check_invariants=False,
    )
