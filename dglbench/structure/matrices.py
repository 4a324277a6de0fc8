"""Turn matrices as users give them into the sparse ones that structures need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError

__all__ = ["in_some_instance", "mask_or_all", "pick_one", "picks", "sparse_rows"]

Mask = npt.NDArray[np.bool_]


def sparse_rows(
    A: Any, groups: int | None, mask: npt.ArrayLike | None
) -> tuple[Any, tuple[int, int]]:
    """Return A as a CSR array (M, G·S) without stored zeros, and (G, S)."""
    from scipy.sparse import csr_array, issparse

    given = A if issparse(A) else np.asarray(A, dtype=np.float64)
    if given.ndim == 3:
        shape = (int(given.shape[1]), int(given.shape[2]))
        given = given.reshape(given.shape[0], -1)
    else:
        known = np.shape(mask)[-2:] if mask is not None else ()
        count = groups if groups is not None else (known[0] if len(known) == 2 else None)
        if given.ndim != 2 or count is None or count < 1 or given.shape[1] % count:
            raise ProblemError(
                f"A must have shape (rows, groups, options), got {given.shape}; a matrix "
                "(rows, groups · options) needs groups= to give its shape."
            )
        shape = (int(count), int(given.shape[1] // count))
    matrix = csr_array(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix, shape


def mask_or_all(mask: npt.ArrayLike | None, shape: tuple[int, int]) -> Mask:
    """Return the mask as booleans, or one in which every option exists."""
    return np.ones(shape, dtype=bool) if mask is None else np.array(mask, dtype=bool)


def in_some_instance(mask: Mask) -> Mask:
    """Return (G, S) from a mask (G, S) or (K, G, S): whether an option ever exists."""
    return mask if mask.ndim == 2 else np.asarray(mask.any(axis=0))


def picks(options: npt.NDArray[np.intp], size: int) -> Any:
    """Return B (size, P), which gives option ``options[p]`` the value of p; −1 for no option."""
    from scipy.sparse import coo_array

    parameter = np.flatnonzero(options >= 0)
    entries = (np.ones(len(parameter)), (options[parameter], parameter))
    return coo_array(entries, shape=(size, len(options))).tocsr()


def pick_one(shape: tuple[int, int]) -> Any:
    """Return the rows Σ_{i∈g} x_i as a sparse array (G, G·S)."""
    from scipy.sparse import csr_array

    groups, options = shape
    size = groups * options
    starts: npt.NDArray[np.intp] = np.arange(0, size + 1, options)
    return csr_array((np.ones(size), np.arange(size), starts), shape=(groups, size))
