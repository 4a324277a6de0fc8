"""The one problem that every task is cast into (the paper's Problem 1).

    maximise  y·x   subject to   A x ≤ b            (global rows)
                                 Σ_{i∈g} x_i = 1    (pick one option in every group g)
                                 x binary

Coefficients, decisions and scores travel as arrays of shape (K, G, S): K
instances that share A, b and the groups, G groups, S options a group. Ragged
groups are padded to S options and masked.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError

__all__ = ["Array", "Mask", "Problem"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """Constraints shared by all instances of a dataset; all that solvers and methods see."""

    A: Array
    """(M, G, S): what each option uses of each global row; 0 on padding."""
    b: Array
    """(M,): how much there is."""
    mask: Mask
    """(G, S): which options exist."""
    predicted: Mask
    """(G, S): which options have a value to predict; the others, such as *leave*, are known."""

    @classmethod
    def build(
        cls,
        A: npt.ArrayLike,
        b: npt.ArrayLike,
        mask: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
    ) -> "Problem":
        """Check the parts and put them together; options exist and are predicted by default."""
        rows = np.array(A, dtype=np.float64)  # copies: what is shared is made read-only below
        if rows.ndim != 3:
            raise ProblemError(f"A must have shape (rows, groups, options), got {rows.shape}.")
        shape = rows.shape[1:]
        exists = np.ones(shape, dtype=bool) if mask is None else np.array(mask, dtype=bool)
        uncertain = exists if predicted is None else np.array(predicted, dtype=bool)
        problem = cls(rows, np.array(b, dtype=np.float64), exists, uncertain)
        problem._check()
        for array in (problem.A, problem.b, problem.mask, problem.predicted):
            array.setflags(write=False)
        return problem

    @property
    def rows(self) -> int:
        """M, the number of global rows."""
        return int(self.A.shape[0])

    @property
    def groups(self) -> int:
        """G, the number of groups."""
        return int(self.A.shape[1])

    @property
    def options(self) -> int:
        """S, the number of options a group, padding included."""
        return int(self.A.shape[2])

    @cached_property
    def flat_A(self) -> Array:  # noqa: N802 - the paper's name
        """A as a (M, G·S) matrix."""
        return self.A.reshape(self.rows, -1)

    def usage(self, x: Array) -> Array:
        """A x for decisions of shape (K, G, S), as (K, M)."""
        used: Array = x.reshape(len(x), -1) @ self.flat_A.T
        return used

    @cached_property
    def most_use(self) -> Array:
        """(M,): the most of each row that any choice of one option a group can use."""
        most: Array = np.where(self.mask, self.A, -np.inf).max(axis=2).sum(axis=1)
        return most

    def prices(self, duals: Array) -> Array:
        """Aᵀλ for duals of shape (K, M), as (K, G, S): what each option costs at those prices."""
        return (duals @ self.flat_A).reshape(len(duals), self.groups, self.options)

    def pack(self, values: Array) -> Array:
        """Keep only the predicted options: (K, G, S) to (K, P)."""
        packed: Array = values[:, self.predicted]
        return packed

    def unpack(self, packed: Array) -> Array:
        """Put predicted values back in their places, 0 elsewhere: (K, P) to (K, G, S)."""
        values = np.zeros((len(packed), self.groups, self.options))
        values[:, self.predicted] = packed
        return values

    def _check(self) -> None:
        A, b = self.A, self.b
        shape = A.shape[1:]
        if min(A.shape) < 1:
            raise ProblemError(
                f"a problem needs at least one row, group and option, got A of shape {A.shape}."
            )
        if b.shape != (A.shape[0],):
            raise ProblemError(f"b must have one entry a row of A ({A.shape[0]}), got {b.shape}.")
        for name, array in (("mask", self.mask), ("predicted", self.predicted)):
            if array.shape != shape:
                raise ProblemError(
                    f"{name} must have shape (groups, options) = {shape}, got {array.shape}."
                )
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ProblemError("A and b must be finite; they hold NaN or infinite entries.")
        if (self.predicted & ~self.mask).any():
            raise ProblemError("an option that does not exist cannot be predicted.")
        if A[:, ~self.mask].any():
            raise ProblemError("A must be 0 on options that do not exist (padding).")
        empty = np.flatnonzero(~self.mask.any(axis=1))
        if empty.size:
            raise ProblemError(f"group {empty[0]} has no option; every group needs at least one.")
        self._check_feasible()

    def _check_feasible(self) -> None:
        """Refuse constraints that no choice of one option a group can meet."""
        least = np.where(self.mask, self.A, np.inf).min(axis=2).sum(axis=1)
        tolerance = 1e-9 * np.maximum(1.0, np.abs(self.b))
        short = np.flatnonzero(least > self.b + tolerance)
        if short.size:
            row = short[0]
            raise ProblemError(
                f"row {row} cannot be met: any choice uses at least {least[row]:g}, but only "
                f"{self.b[row]:g} is there; raise its capacity."
            )
        if self.rows > 1 and not self._relaxation_feasible():
            raise ProblemError(
                "the capacities cannot all be met at once: no choice of one option a group "
                f"fits b = {np.array2string(self.b, threshold=8)}; raise the total capacity."
            )

    def _relaxation_feasible(self) -> bool:
        """Ask an LP whether the pick-one and global rows can hold together."""
        # A choice by least total use settles nearly every problem without a solver.
        total = np.where(self.mask, self.A.sum(axis=0), np.inf)
        if (
            np.take_along_axis(self.A, total.argmin(axis=1)[None, :, None], axis=2).sum(axis=(1, 2))
            <= self.b
        ).all():
            return True
        if self.is_assignment and self.mask.all():
            return bool(self.b.clip(0, self.groups).astype(np.int64).sum() >= self.groups)
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, kron

        pick_one = kron(eye_array(self.groups), np.ones((1, self.options)))
        bounds = [(0.0, 1.0 if exists else 0.0) for exists in self.mask.ravel()]
        answer = linprog(
            np.zeros(self.mask.size),
            A_ub=csr_array(self.flat_A),
            b_ub=self.b,
            A_eq=pick_one,
            b_eq=np.ones(self.groups),
            bounds=bounds,
            method="highs",
        )
        return bool(answer.status == 0)

    @cached_property
    def is_assignment(self) -> bool:
        """Whether option j of every group uses one unit of row j and nothing else."""
        if self.rows != self.options:
            return False
        unit = np.eye(self.rows)[:, None, :] * self.mask[None]
        return bool((unit == self.A).all())

    @cached_property
    def is_knapsack(self) -> bool:
        """Whether there is one row and every group is *take* (weight ≥ 0) or *leave* (weight 0)."""
        return (
            self.rows == 1
            and self.options == 2
            and bool(self.mask.all())
            and bool((self.A[0, :, 1] == 0).all() and (self.A[0, :, 0] >= 0).all())
        )
