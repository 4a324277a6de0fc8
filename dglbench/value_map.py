"""From predicted parameters to option values: y = y₀ + B p."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.structure.base import Array, sparse_to_torch, with_zero_column

__all__ = ["ValueMap"]


class ValueMap:
    """A fixed linear map from parameters p to option values y (G, S).

    Without ``matrix`` the parameters are the option values themselves, of shape (G, S).
    With it they are P numbers per instance and B is sparse, (G·S, P): prices of hours to
    costs of schedules, costs of edges to options of nodes. ``known`` is y₀ (G, S), what an
    option is worth beside its parameters; 0 if it is left out.
    """

    def __init__(
        self, shape: tuple[int, int], matrix: Any = None, known: npt.ArrayLike | None = None
    ) -> None:
        self.shape = shape
        self.matrix = None if matrix is None else _checked_matrix(matrix, shape)
        self.known: Array | None = None
        if known is not None:
            self.known = np.array(known, dtype=np.float64)
            if self.known.shape != shape or not np.isfinite(self.known).all():
                raise ProblemError(
                    f"known values must be finite and have shape (groups, options) = {shape}, "
                    f"got {self.known.shape}."
                )
            self.known.setflags(write=False)

    @property
    def label_shape(self) -> tuple[int, ...]:
        """The shape of one instance's parameters: (G, S) or (P,)."""
        return self.shape if self.matrix is None else (int(self.matrix.shape[1]),)

    @cached_property
    def touched(self) -> npt.NDArray[np.bool_]:
        """(G, S): the options whose value depends on some parameter."""
        if self.matrix is None:
            return np.ones(self.shape, dtype=bool)
        return np.asarray(np.diff(self.matrix.indptr) > 0).reshape(self.shape)

    def values(self, parameters: Any) -> Any:
        """Return y₀ + B p for parameters (K, …), as (K, G, S); numpy or torch, with gradient."""
        if tuple(parameters.shape[1:]) != self.label_shape:
            raise ProblemError(
                f"labels and predictions must have shape (instances, "
                f"{', '.join(map(str, self.label_shape))}), got {tuple(parameters.shape)}."
            )
        if self.matrix is None:
            values = parameters
        elif self._source is not None:
            values = self._picked(parameters)
        else:
            values = self._mapped(parameters)
        if self.known is None:
            return values
        plain = isinstance(values, np.ndarray)
        return values + (self.known if plain else self._known_tensor.to(values))

    @cached_property
    def _source(self) -> npt.NDArray[np.intp] | None:
        """(G·S,): the parameter each option is worth (P for none), if B only picks parameters."""
        matrix: Any = self.matrix
        counts = np.diff(matrix.indptr)
        if (counts > 1).any() or (matrix.data != 1.0).any():
            return None
        source = np.full(matrix.shape[0], matrix.shape[1], dtype=np.intp)
        source[counts == 1] = matrix.indices
        return source

    def _picked(self, parameters: Any) -> Any:
        extended = with_zero_column(parameters)
        if isinstance(parameters, np.ndarray):
            values = extended.take(self._source, axis=1)
        else:
            values = extended.index_select(1, self._source_tensor)
        return values.reshape(len(parameters), *self.shape)

    def _mapped(self, parameters: Any) -> Any:
        shape = (len(parameters), *self.shape)
        if isinstance(parameters, np.ndarray):
            return np.ascontiguousarray((self.matrix @ parameters.T).T).reshape(shape)
        import torch

        tensor = self._matrix_tensor.to(parameters)
        return torch.sparse.mm(tensor, parameters.T).T.reshape(shape)

    @cached_property
    def _source_tensor(self) -> Any:
        import torch

        return torch.from_numpy(np.asarray(self._source, dtype=np.int64))

    @cached_property
    def _matrix_tensor(self) -> Any:
        return sparse_to_torch(self.matrix)

    @cached_property
    def _known_tensor(self) -> Any:
        import torch

        return torch.tensor(self.known)


def _checked_matrix(matrix: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array, issparse

    size = shape[0] * shape[1]
    if not issparse(matrix):
        given = np.asarray(matrix, dtype=np.float64)
        if given.ndim == 3 and given.shape[:2] == shape:
            given = given.reshape(size, -1)
        matrix = given
    if matrix.ndim != 2 or matrix.shape[0] != size or matrix.shape[1] < 1:
        raise ProblemError(
            f"parameters must map to options: a matrix of {size} rows (groups × options = "
            f"{shape[0]} × {shape[1]}) and one column per parameter, got shape {matrix.shape}."
        )
    sparse = csr_array(matrix, dtype=np.float64, copy=True)
    sparse.sum_duplicates()
    sparse.eliminate_zeros()
    if not np.isfinite(sparse.data).all():
        raise ProblemError("the map from parameters to values holds NaN or infinite entries.")
    return sparse
