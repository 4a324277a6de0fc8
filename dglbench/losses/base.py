"""What every loss shares: a problem, a metered solver, and the border to the user's tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn

from dglbench.clock import Clock, Ledger, Meter
from dglbench.errors import OptionError, ProblemError
from dglbench.losses.batch import Batch, Constraints, goes_with
from dglbench.losses.row_store import checked_rows
from dglbench.problem import Problem
from dglbench.solvers import Solver, solver_for
from dglbench.solvers.metered import MeteredSolver

__all__ = ["DecisionLoss", "check_number"]


class DecisionLoss(nn.Module, ABC):
    """A loss that knows which decisions the predictions are for.

    ``criterion(predictions, labels, rows)`` takes B predictions and labels in the shape,
    sense and unit that the problem's labels have (`Problem.label_shape`: option values or
    parameters), of any floating type and device, and the rows of these instances in the
    dataset. It returns the scalar to call ``backward`` on, in the type of the predictions; it
    computes in double precision. Predictions and labels are divided by ``label_scale`` first
    (the labels' standard deviation is a good one), so that τ, α and μ mean the same whatever
    the unit.

    The methods of ``dglbench train`` are these same losses, called by `batch_loss`.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__()
        check_number("label_scale", label_scale, label_scale > 0, "a number > 0")
        self.problem, self.label_scale = problem, label_scale
        self.constraints = Constraints(problem)
        self._ledger = Ledger()
        self._meter = Meter(Clock(), self._ledger)
        self._given_solver = solver
        self._solver: MeteredSolver | None = None

    @property
    def solver(self) -> MeteredSolver:
        """The solver, which counts what it is asked; built when it is first needed."""
        if self._solver is None:
            given = self._given_solver
            self._solver = (
                given
                if isinstance(given, MeteredSolver)
                else MeteredSolver(solver_for(self.problem, given), self._meter)
            )
        return self._solver

    @property
    def solves(self) -> dict[str, int]:
        """Instances solved so far by purpose: ``label``, ``train`` and ``refresh``."""
        return {name: n for name, n in self._ledger.total.items() if name != "evaluate"}

    def forward(self, predictions: torch.Tensor, labels: torch.Tensor, rows: Any) -> torch.Tensor:
        """Return the mean loss of the instances."""
        return self.batch_loss(self._batch(predictions, labels, rows)).to(predictions)

    @abstractmethod
    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of a batch in scaled units and double precision."""

    def batch_gradient(self, batch: Batch) -> tuple[float, torch.Tensor] | None:
        """Return that loss and its gradient in the predictions, if it needs no autograd.

        A class with a `batch_loss` of its own does not inherit its parent's answer.
        """
        return None

    def __init_subclass__(cls, **further: Any) -> None:
        super().__init_subclass__(**further)
        if not goes_with(cls, "batch_loss", "batch_gradient"):
            cls.batch_gradient = DecisionLoss.batch_gradient  # type: ignore[method-assign]

    def _batch(self, predictions: torch.Tensor, labels: torch.Tensor, rows: Any) -> Batch:
        predicted, truth = self._double("predictions", predictions), self._double("labels", labels)
        if len(truth) != len(predicted):
            raise ProblemError(
                f"predictions are of {len(predicted)} instances, labels of {len(truth)}; "
                "both need one entry per instance."
            )
        truth = truth.detach()
        return Batch(
            self._rows(rows, len(predicted)),
            self.problem.values(predicted, self.label_scale),
            self.problem.values(truth, self.label_scale),
            predicted / self.label_scale,
            truth / self.label_scale,
        )

    def _rows(self, rows: Any, count: int) -> torch.Tensor:
        checked = checked_rows(rows, count)
        known = self.problem.instances
        if known is not None and count and int(checked.max()) >= known:
            raise ProblemError(
                "rows, capacities or options of this problem differ by instance, and it has "
                f"{known} instances; row {int(checked.max())} is not among them."
            )
        return checked

    def _double(self, name: str, given: torch.Tensor) -> torch.Tensor:
        if not isinstance(given, torch.Tensor) or not given.is_floating_point():
            kind = given.dtype if isinstance(given, torch.Tensor) else type(given).__name__
            raise ProblemError(f"{name} must be a torch tensor of floating type, got {kind}.")
        expected = self.problem.label_shape
        if tuple(given.shape[1:]) != expected:
            raise ProblemError(
                f"{name} must have shape (instances, {', '.join(map(str, expected))}), "
                f"got {tuple(given.shape)}."
            )
        return given.to(device="cpu", dtype=torch.float64)


def check_number(name: str, value: Any, allowed: bool, rule: str) -> None:
    """Refuse an option out of its range."""
    if not allowed:
        raise OptionError(f"{name} must be {rule}, got {value!r}.")
