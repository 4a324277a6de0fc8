"""What may be chosen: the constraints of a problem, apart from what the choices are worth.

    A x ≤ b on some global rows, A x = b on the others
    Σ_{i∈g} x_i = 1    (pick one option in every group g)
    x binary

`dglbench.problem` adds the values; together they are the problem that all other code works on.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dglbench.problem_checks import extremes
from dglbench.structure import ByInstance, ColumnSums, Paths, Structure, TakeLeave, recognise
from dglbench.structure.matrices import in_some_instance

__all__ = ["Array", "FeasibleSet", "Mask"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """The decisions that each instance of a dataset allows."""

    structure: Structure
    """A, by the operations it offers; never a dense array of (rows, groups, options)."""
    b: Array
    """(M,), or (K, M) where it differs by instance: how much there is."""
    equality: Mask
    """(M,): rows that must be met exactly; their multipliers have either sign."""
    mask: Mask
    """(G, S), or (K, G, S) where it differs by instance: which options exist."""

    @property
    def rows(self) -> int:
        """M, the number of global rows."""
        return self.structure.rows

    @property
    def groups(self) -> int:
        """G, the number of groups."""
        return self.structure.groups

    @property
    def options(self) -> int:
        """S, the number of options per group, padding included."""
        return self.structure.options

    @property
    def shape(self) -> tuple[int, int]:
        """(G, S), the shape of one decision."""
        return self.groups, self.options

    @property
    def size(self) -> int:
        """G · S, the numbers in one decision."""
        return self.groups * self.options

    @property
    def ever(self) -> Mask:
        """(G, S): the options that exist in some instance."""
        return in_some_instance(self.mask)

    @cached_property
    def ragged(self) -> bool:
        """Whether some options are padding."""
        return not bool(self.mask.all())

    @cached_property
    def least_duals(self) -> Array:
        """(M,): how low multipliers may be, −∞ on rows that must be met exactly."""
        return np.where(self.equality, -np.inf, 0.0)

    @cached_property
    def row_units(self) -> Array:
        """max(1, |b|), in the shape of b: the unit in which a row's violation is measured."""
        return np.maximum(1.0, np.abs(self.b))

    @property
    def rows_vary(self) -> bool:
        """Whether A differs by instance."""
        return self.structure.instances is not None

    @property
    def varies(self) -> bool:
        """Whether A, b or the mask differ by instance."""
        return self.b.ndim == 2 or self.mask.ndim == 3 or self.rows_vary

    @property
    def instances(self) -> int | None:
        """K where A, b or the mask differ by instance, None where all share them."""
        if self.b.ndim == 2:
            return len(self.b)
        return len(self.mask) if self.mask.ndim == 3 else self.structure.instances

    @property
    def matrix(self) -> Any:
        """A as a scipy CSR array of shape (M, G·S), where all instances share it."""
        return self.structure.matrix

    @cached_property
    def flat_A(self) -> Array:  # noqa: N802 - the paper's name
        """A as a dense (M, G·S) or (K, M, G·S) array, for small problems only; 0 on padding."""
        structure = self.structure
        dense: Array = (
            structure.dense() if isinstance(structure, ByInstance) else self.matrix.toarray()
        )
        dense *= self.ever.ravel()
        dense.setflags(write=False)
        return dense

    @property
    def A(self) -> Array:  # noqa: N802 - the paper's name
        """A as a dense (M, G, S) or (K, M, G, S) array, for small problems only."""
        return self.flat_A.reshape(*self.flat_A.shape[:-1], *self.shape)

    def usage(self, x: Array) -> Array:
        """A x for decisions of shape (K, G, S), as (K, M)."""
        return self.structure.usage(x)

    @cached_property
    def most_use(self) -> Array:
        """(M,): the most of each row that any choice of one option per group can use."""
        return extremes(self, self.ever)[1]

    def prices(self, duals: Array) -> Array:
        """Aᵀλ for duals of shape (K, M), as (K, G, S): what each option costs at those prices."""
        return self.structure.prices(duals)

    def curvature(self, soft: Array) -> Array:
        """A J Aᵀ for soft decisions (K, G, S), as (K, M, M); see `Structure.curvature`."""
        return self.structure.curvature(soft)

    def take(self, rows: Any) -> Self:
        """Return the set of these instances only; itself where all instances share it."""
        if not self.varies:
            return self
        chosen = np.asarray(rows)
        return dataclasses.replace(
            self,
            structure=self.structure.take(chosen),
            b=self.b[chosen] if self.b.ndim == 2 else self.b,
            mask=self.mask[chosen] if self.mask.ndim == 3 else self.mask,
        )

    def alone(self, instance: int) -> Self:
        """Return the set of one instance, written as one that all instances share.

        Where A differs by instance, its own structure is recognised.
        """
        mask = self.mask if self.mask.ndim == 2 else self.mask[instance]
        structure = self.structure
        if isinstance(structure, ByInstance):
            matrix = structure.one(instance)
            matrix.data *= mask.ravel()[matrix.indices]
            matrix.eliminate_zeros()
            structure = recognise(matrix, *self.shape, mask)
        b = self.b if self.b.ndim == 1 else self.b[instance]
        return dataclasses.replace(self, structure=structure, b=b, mask=mask)

    @cached_property
    def is_assignment(self) -> bool:
        """Whether option j of every group uses one unit of row j, and others nothing."""
        return isinstance(self.structure, ColumnSums)

    @cached_property
    def is_knapsack(self) -> bool:
        """Whether there is one ≤ row and groups are *take* (weight ≥ 0) or *leave* (weight 0)."""
        structure = self.structure
        return (
            isinstance(structure, TakeLeave)
            and self.rows == 1
            and not self.equality.any()
            and bool(self.mask[..., 1].all())
            and bool((structure.weights >= 0).all())
        )

    @cached_property
    def is_top_k(self) -> bool:
        """Whether the one row counts what is taken, exactly or at most a whole number k."""
        return (
            isinstance(self.structure, TakeLeave)
            and self.rows == 1
            and bool((self.structure.weights == 1.0).all())
            and bool((self.b == np.floor(self.b)).all())
        )

    @cached_property
    def is_path(self) -> bool:
        """Whether decisions are paths through a directed graph."""
        return isinstance(self.structure, Paths)

    @cached_property
    def is_integral(self) -> bool:
        """Whether vertices of the relaxation are known to be integer, whatever the values."""
        whole = bool((self.b == np.floor(self.b)).all())
        return self.is_path or self.is_top_k or (self.is_assignment and whole)
