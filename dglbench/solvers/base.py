"""What a solver family is, what every solver answers, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem

if TYPE_CHECKING:
    import torch

    from dglbench.task import Task

__all__ = ["Solver", "SolverFamily"]


class SolverFamily(ABC):
    """What stands under the entry-point group ``dglbench.solvers`` and behind ``--solver``.

    It builds the solver of any problem, or refuses in one sentence. A `Solver` that
    is built from a problem alone is its own family: register the class itself.
    """

    summary: ClassVar[str] = ""
    """One line for ``dglbench list``."""
    dual_rule: ClassVar[str]
    """Which dual optimum is taken where there are several; part of a run's spec."""

    @classmethod
    @abstractmethod
    def build(cls, task: Task, problem: Problem) -> Solver:
        """Return the solver for a problem of a task; raise a `DglbenchError` if there is none."""


class Solver(SolverFamily):
    """Answers three questions about a batch of coefficients of shape (K, G, S).

    `decide` gives exact integer optima, `relax` optima of the LP relaxation,
    both as (K, G, S); `duals` gives multipliers λ ≥ 0 of the global rows of the
    relaxation as (K, M). Numpy in, numpy out; torch in, torch out (detached).

    Duals are a pure function of the problem and the coefficients: what was
    solved before, in which order or in which process, never changes them.
    """

    family: ClassVar[str]
    """The name of the family it belongs to."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @classmethod
    def build(cls, task: Task, problem: Problem) -> Solver:
        """Build from the problem alone, whatever the task."""
        return cls(problem)

    @overload
    def decide(self, values: Array) -> Array: ...
    @overload
    def decide(self, values: torch.Tensor) -> torch.Tensor: ...
    def decide(self, values: Any) -> Any:
        """Return the best choice of one option a group that keeps A x ≤ b."""
        return self._answer(self._decide, values)

    @overload
    def relax(self, values: Array) -> Array: ...
    @overload
    def relax(self, values: torch.Tensor) -> torch.Tensor: ...
    def relax(self, values: Any) -> Any:
        """Return an optimum of the LP relaxation (a vertex)."""
        return self._answer(self._relax, values)

    @overload
    def duals(self, values: Array) -> Array: ...
    @overload
    def duals(self, values: torch.Tensor) -> torch.Tensor: ...
    def duals(self, values: Any) -> Any:
        """Return optimal multipliers of the global rows, by this solver's `dual_rule`."""
        return self._answer(self._duals, values)

    def decision_error(self, values: Array) -> Array:
        """(K,): how much less than the best `decide` may reach, rounding of sums apart.

        0 for an exact solver. Evaluation allows a regret this far below 0, and no further.
        """
        return np.zeros(len(values))

    @abstractmethod
    def _decide(self, values: Array) -> Array: ...

    @abstractmethod
    def _relax(self, values: Array) -> Array: ...

    @abstractmethod
    def _duals(self, values: Array) -> Array: ...

    def _answer(self, question: Any, values: Any) -> Any:
        if isinstance(values, np.ndarray):
            return question(self._checked(values))
        import torch

        if not isinstance(values, torch.Tensor):
            raise SolverError(
                "coefficients must be a numpy array or a torch tensor, "
                f"got {type(values).__name__}."
            )
        answer = question(self._checked(values.detach().cpu().numpy()))
        return torch.from_numpy(answer).to(device=values.device, dtype=values.dtype)

    def _checked(self, values: Array) -> Array:
        expected = (self.problem.groups, self.problem.options)
        if values.ndim != 3 or values.shape[1:] != expected:
            raise SolverError(
                f"coefficients must have shape (instances, {expected[0]}, {expected[1]}), "
                f"got {values.shape}."
            )
        finite = np.isfinite(values) | ~self.problem.mask
        if not finite.all():
            instance = int(np.flatnonzero(~finite.all(axis=(1, 2)))[0])
            raise SolverError(f"instance {instance} has NaN or infinite coefficients.")
        # Padding must never win, whatever a caller left there.
        return np.where(self.problem.mask, values, 0.0).astype(np.float64, copy=False)
