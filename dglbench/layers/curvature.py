"""The M × M curvature A J Aᵀ of a batch: multiplied with, and solved for.

Small or full ones are kept as they are, all instances in one array. Thousands of rows that
touch few groups, such as the nodes of a large grid, have almost all of it 0: with rows in a
good order what is not 0 lies in a narrow band (`Structure.band`), and a banded factorisation
costs M·width² per instance instead of M³.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dglbench.layers.regularisers import Response
from dglbench.problem import Array
from dglbench.structure import Structure
from dglbench.structure.band import Band

__all__ = ["HELD", "Curvature", "curvature_of"]

HELD = 1e40
"""A shift that holds a row at d = 0: beside it the curvature and the right side are lost."""


def curvature_of(structure: Structure, response: Response) -> Curvature:
    """Return A J Aᵀ for a batch of responses."""
    band = structure.band
    if band is None:
        return _Full(structure.curvature(response.z, response.weight))
    return _Banded(structure.curvature_numbers(response.z, response.weight), band)


class Curvature(ABC):
    """H, one symmetric matrix per instance."""

    diagonal: Array
    """(K, M)"""

    @abstractmethod
    def times(self, direction: Array) -> Array:
        """H d for d (K, M)."""

    @abstractmethod
    def solve(self, right: Array, shift: Array, rounds: int = 1) -> Array:
        """Return d with (H + diag(shift)) d = right; shift is (K, 1) or (K, M).

        Each round after the first solves for what is left of H d = right, so that many rounds
        take out the shift and end at the d of least norm. A shift of `HELD` holds a row: d is 0
        there but for rounding.
        """

    @abstractmethod
    def one(self, instance: int) -> Array:
        """Return H of one instance as a full (M, M) array."""


class _Full(Curvature):
    def __init__(self, matrices: Array) -> None:
        self._matrices = matrices
        self.diagonal = _diagonal(matrices)

    def times(self, direction: Array) -> Array:
        return _times(self._matrices, direction)

    def solve(self, right: Array, shift: Array, rounds: int = 1) -> Array:
        if self._matrices.shape[1] == 1:
            divisor = self.diagonal + shift
            found: Array = right / divisor
            for _ in range(rounds - 1):
                found += (right - self.diagonal * found) / divisor
            return found
        shifted = self._matrices.copy()
        diagonal = _diagonal(shifted)
        diagonal += shift
        if rounds == 1:
            return np.asarray(np.linalg.solve(shifted, right[:, :, None])[:, :, 0], np.float64)
        inverse: Array = np.asarray(np.linalg.inv(shifted), np.float64)
        found = _times(inverse, right)
        for _ in range(rounds - 1):
            found += _times(inverse, right - self.times(found))
        return found

    def one(self, instance: int) -> Array:
        matrix: Array = self._matrices[instance]
        return matrix


def _diagonal(matrices: Array) -> Array:
    """(K, M), a view."""
    return matrices.reshape(len(matrices), -1)[:, :: matrices.shape[1] + 1]


def _times(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


class _Banded(Curvature):
    def __init__(self, numbers: Array, band: Band) -> None:
        self._numbers, self._band = numbers, band
        self.diagonal = numbers[:, band.diagonal]

    def times(self, direction: Array) -> Array:
        products = self._numbers * direction[:, self._band.column]
        return np.add.reduceat(products, self._band.starts, axis=1)

    def solve(self, right: Array, shift: Array, rounds: int = 1) -> Array:
        factors = _Factors(self._numbers, shift, self._band)
        found = factors.solve(right)
        for _ in range(rounds - 1):
            found += factors.solve(right - self.times(found))
        return found

    def one(self, instance: int) -> Array:
        matrix = np.zeros((self._band.rows, self._band.rows))
        matrix[self._band.row, self._band.column] = self._numbers[instance]
        return matrix


class _Factors:
    """A banded Cholesky factor for every instance."""

    def __init__(self, numbers: Array, shift: Array, band: Band) -> None:
        from scipy.linalg import LinAlgError, cholesky_banded

        self._numbers, self._band = numbers, band
        self._shift = np.broadcast_to(shift, (len(numbers), band.rows))
        self._factors: list[Array | None] = []
        for one, extra in zip(numbers, self._shift, strict=True):
            lower = band.lower(one, extra)
            try:
                self._factors.append(
                    cholesky_banded(lower, overwrite_ab=True, lower=True, check_finite=False)
                )
            except LinAlgError:  # by rounding not positive definite
                self._factors.append(None)

    def solve(self, right: Array) -> Array:
        from scipy.linalg import cho_solve_banded, solve_banded

        band, found = self._band, np.empty_like(right)
        for k, one in enumerate(right[:, band.order]):
            factor = self._factors[k]
            if factor is None:
                whole = band.both(self._numbers[k], self._shift[k])
                answer = solve_banded((band.width, band.width), whole, one, check_finite=False)
            else:
                answer = cho_solve_banded((factor, True), one, check_finite=False)
            found[k, band.order] = answer
        return found
