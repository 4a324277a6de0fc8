"""What a solver family is, what every solver answers, and the checks that all of them share."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast, overload

import numpy as np

from dglbench.errors import ProblemError, SolverError
from dglbench.problem import Array, Problem

if TYPE_CHECKING:
    import torch

    from dglbench.task import Task

__all__ = ["Bounded", "Solver", "SolverFamily"]


class Bounded(NamedTuple):
    """Decisions, and how good any could be."""

    x: Array
    """(K, G, S)"""
    bound: Array
    """(K,): no decision is worth more; what x is worth where it is known to be the best."""


class SolverFamily(ABC):
    """What the entry-point group ``dglbench.solvers`` registers and ``--solver`` names.

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
    both as (K, G, S); `duals` gives multipliers λ of the global rows of the
    relaxation as (K, M): λ ≥ 0 on ≤ rows, of either sign on = rows. Numpy in,
    numpy out; torch in, torch out (detached).

    Coefficients are values to maximise (`Problem.values`). Where A, b or the mask
    differ by instance, ``rows`` says which instances of the problem these are.

    Duals are a pure function of the problem and the coefficients: what was
    solved before, in which order or in which process, never changes them.
    """

    family: ClassVar[str]
    """The name of the family it belongs to."""
    tolerance: ClassVar[float] = 0.0
    """How far off the value of `relax`, the bound of `duals` and their rows may be, as a share of
    the largest value (of b for rows) times the groups; 0 but for rounding in an exact solver."""

    varying_rows: ClassVar[bool] = False
    """Whether it answers where A differs by instance; unless it says so, it is refused there."""

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """Say in one sentence why this solver cannot serve the problem; None if it can."""
        return None

    def __init__(self, problem: Problem) -> None:
        reason = self.refuses(problem)
        if problem.rows_vary and not (reason or self.varying_rows):
            reason = (
                f"{type(self).__name__} needs one A for all instances, and here A differs by "
                "instance; use the ortools solver."
            )
        if reason:
            raise ProblemError(reason)
        self.problem = problem

    @classmethod
    def build(cls, task: Task, problem: Problem) -> Solver:
        """Build from the problem alone, whatever the task."""
        return cls(problem)

    @overload
    def decide(self, values: Array, rows: Any = None) -> Array: ...
    @overload
    def decide(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor: ...
    def decide(self, values: Any, rows: Any = None) -> Any:
        """Return the best choice of one option per group that meets the global rows."""
        return self._answer(self._decide, values, rows)

    @overload
    def relax(self, values: Array, rows: Any = None) -> Array: ...
    @overload
    def relax(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor: ...
    def relax(self, values: Any, rows: Any = None) -> Any:
        """Return an optimum of the LP relaxation, a vertex unless the solver says otherwise."""
        return self._answer(self._relax, values, rows)

    @overload
    def duals(self, values: Array, rows: Any = None) -> Array: ...
    @overload
    def duals(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor: ...
    def duals(self, values: Any, rows: Any = None) -> Any:
        """Return optimal multipliers of the global rows, by this solver's `dual_rule`."""
        return self._answer(self._duals, values, rows)

    def decide_bounded(self, values: Array, rows: Any = None) -> Bounded:
        """Return what `decide` does, with bounds: it may stop early (`Problem.search_limit`)."""
        x = self.decide(values, rows)
        return Bounded(x, (values * x).sum(axis=(1, 2)))

    def decision_error(self, values: Array) -> Array:
        """(K,): how much less than its bound `decide` may reach, rounding of sums apart.

        0 for an exact solver. Evaluation allows a regret this far below 0, and no further.
        """
        return np.zeros(len(values))

    @abstractmethod
    def _decide(self, values: Array, at: Problem) -> Array:
        """Answer for checked values; ``at`` is the problem of just these instances.

        A solver for problems that all instances share may leave ``at`` out.
        """

    @abstractmethod
    def _relax(self, values: Array, at: Problem) -> Array: ...

    @abstractmethod
    def _duals(self, values: Array, at: Problem) -> Array: ...

    def _answer(self, question: Any, values: Any, rows: Any) -> Any:
        if isinstance(values, np.ndarray):
            at = self._instances(values, rows)
            return self._ask(question, self._checked(values, at), at)
        import torch

        if not isinstance(values, torch.Tensor):
            raise SolverError(
                "coefficients must be a numpy array or a torch tensor, "
                f"got {type(values).__name__}."
            )
        plain = values.detach().cpu().numpy()
        at = self._instances(plain, rows)
        answer = self._ask(question, self._checked(plain, at), at)
        found = torch.from_numpy(answer)
        if values.dtype == torch.float64 and values.is_cpu:  # as it is in training
            return found
        return found.to(device=values.device, dtype=values.dtype)

    def _ask(self, question: Any, values: Array, at: Problem) -> Array:
        """Pass the instances on, unless the solver's answers take values alone."""
        if _takes_instances(question.__func__):
            return cast(Array, question(values, at))
        if at.varies:
            raise SolverError(
                f"{type(question.__self__).__name__} answers for instances that share b and the "
                "mask; give its answers a second argument, the problem of these instances, "
                "or use the ortools solver."
            )
        return cast(Array, question(values))

    def _instances(self, values: Array, rows: Any) -> Problem:
        """Return the problem of these instances."""
        problem = self.problem
        if not problem.varies:
            return problem
        if rows is None:
            raise SolverError(
                "the rows, capacities or options of this problem differ by instance, so the solver "
                "must know which instances these are; pass rows=, such as batch.rows."
            )
        chosen = np.asarray(rows)
        if chosen.shape != values.shape[:1]:
            raise SolverError(
                f"rows must name one instance for each of the {len(values)} coefficients, "
                f"got shape {chosen.shape}."
            )
        return problem.take(chosen)

    def _checked(self, values: Array, at: Problem) -> Array:
        expected = at.shape
        if values.ndim != 3 or values.shape[1:] != expected:
            raise SolverError(
                f"coefficients must have shape (instances, {expected[0]}, {expected[1]}), "
                f"got {values.shape}."
            )
        if not np.isfinite(values.sum()):  # a finite sum has finite terms alone
            finite = np.isfinite(values)
            if at.ragged:
                finite |= ~at.mask
            if not finite.all():
                instance = int(np.flatnonzero(~finite.all(axis=(1, 2)))[0])
                raise SolverError(f"instance {instance} has NaN or infinite coefficients.")
        # A copy, which the solver may write to.
        if at.ragged:  # padding must never win, whatever a caller left there
            return np.where(at.mask, values, 0.0).astype(np.float64, copy=False)
        return values.astype(np.float64)


@cache  # reading a signature takes longer than a small batch
def _takes_instances(answer: Any) -> bool:
    """Whether an answer also takes the problem of its instances."""
    return len(inspect.signature(answer).parameters) > 2
