"""Turn matrices as users give them into the sparse ones that structures need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.structure.by_instance import ByInstance, Pattern

__all__ = [
    "in_some_instance",
    "instance_rows",
    "mask_or_all",
    "pick_one",
    "picks",
    "rows_vary",
    "sparse_rows",
]

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


def rows_vary(A: Any) -> bool:
    """Whether A is given by instance: (K, M, G, S), or a list of K sparse matrices."""
    from scipy.sparse import issparse

    if isinstance(A, ByInstance) or _listed(A):
        return True
    return not issparse(A) and np.ndim(A) == 4


def _listed(A: Any) -> bool:
    from scipy.sparse import issparse

    return isinstance(A, list | tuple) and len(A) > 0 and issparse(A[0])


def instance_rows(A: Any, groups: int | None, mask: npt.ArrayLike | None) -> ByInstance:
    """Return A of shape (K, M, G, S), or K sparse matrices (M, G·S), as a structure."""
    if isinstance(A, ByInstance):
        return A
    if _listed(A):
        matrices = [sparse_rows(one, groups, mask) for one in A]
        shape = matrices[0][1]
        if any(one[0].shape != matrices[0][0].shape for one in matrices):
            raise ProblemError("A must have the same rows and options in every instance.")
        rows, size = matrices[0][0].shape
        flat = [one[0].reshape((1, rows * size)).tocsr() for one in matrices]
        at = np.unique(np.concatenate([one.indices for one in flat])).astype(np.intp)
        use = np.zeros((len(flat), len(at)))
        for number, one in enumerate(flat):
            use[number, np.searchsorted(at, one.indices)] = one.data
        return ByInstance(Pattern(at, rows, *shape), use)
    given = np.asarray(A, dtype=np.float64)
    if not given.size:
        raise ProblemError(f"A holds no number: its shape is {given.shape}.")
    flat_A = given.reshape(len(given), -1)
    at = np.flatnonzero((flat_A != 0).any(axis=0))
    _, rows, count, options = given.shape
    return ByInstance(Pattern(at, rows, count, options), flat_A[:, at])


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
