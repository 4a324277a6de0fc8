"""What a loss is given: a batch of predictions and labels, and the constraints as tensors."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dglbench.errors import SolverError
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["Batch", "Constraints", "goes_with"]


class Batch(NamedTuple):
    """One mini-batch, in scaled units."""

    rows: torch.Tensor
    """(B,): which training instances these are."""
    predictions: torch.Tensor
    """(B, G, S): ŷ, with gradient."""
    labels: torch.Tensor
    """(B, G, S): y."""
    parameters: torch.Tensor | None = None
    """(B, …): what was predicted, p̂, with gradient, in the shape of the task's labels."""
    parameter_labels: torch.Tensor | None = None
    """(B, …): p."""


class Constraints:
    """A problem's A, b and groups for tensors.

    Where b or the mask differ by instance, `at` gives the constraints of a batch.
    """

    def __init__(self, problem: Problem) -> None:
        import torch

        self.problem = problem
        # Copies: a Problem's arrays are read-only, which torch does not know of.
        self.b = torch.tensor(problem.b)
        self.mask = torch.tensor(problem.mask)
        self.equality = torch.tensor(problem.equality)
        self.predicted = torch.tensor(problem.predicted)
        self.groups = problem.groups

    @cached_property
    def A(self) -> torch.Tensor:  # noqa: N802 - the paper's name
        """A as a dense (M, G·S) matrix, for small problems only; see `usage` and `prices`."""
        import torch

        return torch.tensor(self.problem.flat_A)

    @cached_property
    def ragged(self) -> bool:
        """Whether some options are padding."""
        return not bool(self.mask.all())

    @cached_property
    def _counted(self) -> torch.Tensor:
        import torch

        return torch.tensor(self.problem.counted)

    @cached_property
    def _all_counted(self) -> bool:
        return bool(self._counted.all())

    def at(self, rows: torch.Tensor) -> Constraints:
        """Return the constraints of these instances; itself where all instances share them."""
        if not self.problem.varies:
            return self
        part = copy.copy(self)
        for name in ("A", "ragged", "_counted", "_all_counted"):
            part.__dict__.pop(name, None)
        part.problem = self.problem.take(rows.numpy())
        part.b = self.b[rows] if self.b.ndim == 2 else self.b
        part.mask = self.mask[rows] if self.mask.ndim == 3 else self.mask
        return part

    def usage(self, x: torch.Tensor) -> torch.Tensor:
        """A x for decisions (B, G, S), as (B, M)."""
        used: torch.Tensor = self.problem.structure.usage(x)
        return used

    def prices(self, duals: torch.Tensor) -> torch.Tensor:
        """Aᵀλ for duals (B, M), as (B, G, S)."""
        prices: torch.Tensor = self.problem.structure.prices(duals)
        return prices

    def curvature(self, soft: torch.Tensor) -> torch.Tensor:
        """A J Aᵀ for soft decisions (B, G, S), as (B, M, M); see `Structure.curvature`."""
        curvature: torch.Tensor = self.problem.structure.curvature(soft)
        return curvature

    def padded_scores(self, scores: torch.Tensor) -> torch.Tensor:
        """Give padding a score of −∞, so that it is never chosen."""
        if not self.ragged:
            return scores
        self._check_count(scores)
        return scores.masked_fill(~self.mask, -float("inf"))

    def mse(
        self, predictions: Batch | torch.Tensor, labels: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Mean squared error over what is predicted: of a batch, or of option values and labels."""
        if isinstance(predictions, Batch):
            return self.at(predictions.rows)._mse(*_predicted(predictions))
        if labels is None:
            raise SolverError("the mean squared error needs a batch, or predictions and labels.")
        return self._mse(predictions, labels)

    def _mse(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if tuple(predictions.shape[1:]) != self.problem.label_shape:
            raise SolverError(
                "this task predicts parameters, not option values, so the mean squared error "
                "acts on them; call constraints.mse(batch)."
            )
        error = predictions - labels
        if not self._all_counted:
            if self._counted.ndim == error.ndim:
                self._check_count(error)
                return error[self._counted].square().mean()
            error = error[:, self._counted]
        return error.square().mean()

    def _check_count(self, batch: torch.Tensor) -> None:
        known = self.problem.instances
        if known is not None and known != len(batch):
            raise SolverError(
                f"rows, capacities or options differ by instance, and these constraints are of "
                f"{known} instances, not of {len(batch)}; take constraints.at(batch.rows) first."
            )


def _predicted(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    if batch.parameters is None or batch.parameter_labels is None:
        return batch.predictions, batch.labels
    return batch.parameters, batch.parameter_labels


def goes_with(cls: type, loss: str, gradient: str) -> bool:
    """Whether a class's gradient is of its loss: no parent came between with a loss alone."""
    nearest = next(at for at in cls.__mro__ if loss in vars(at) or gradient in vars(at))
    return gradient in vars(nearest)
