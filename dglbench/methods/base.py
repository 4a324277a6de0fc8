"""What every training method is: options, one preparation, a loss for a batch.

A method knows a problem, a solver and predictions, never a task's name and
never a clock: the solver it is handed counts and times itself. Values,
predictions and labels are divided by the task's label scale before a method
sees them, so that τ, α and μ mean the same on every task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

    from dglbench.training.clock import MeteredLayer, MeteredSolver

__all__ = ["Batch", "Constraints", "LearningRate", "Method", "Training"]

LearningRate = Annotated[float, Gt(0), Doc("learning rate of Adam")]


class Batch(NamedTuple):
    """One mini-batch, in scaled units."""

    rows: torch.Tensor
    """(B,): which training instances these are."""
    predictions: torch.Tensor
    """(B, G, S): ŷ, with gradient."""
    labels: torch.Tensor
    """(B, G, S): y."""


class Constraints:
    """A problem's A, b and groups as tensors."""

    def __init__(self, problem: Problem) -> None:
        import torch

        self.problem = problem
        # Copies: a Problem's arrays are read-only, which torch does not know of.
        self.A = torch.tensor(problem.flat_A)
        self.b = torch.tensor(problem.b)
        self.mask = torch.tensor(problem.mask)
        self.predicted = torch.tensor(problem.predicted)
        self.groups = problem.groups

    @cached_property
    def ragged(self) -> bool:
        """Whether some options are padding."""
        return not bool(self.mask.all())

    @cached_property
    def _all_predicted(self) -> bool:
        return bool(self.predicted.all())

    def usage(self, x: torch.Tensor) -> torch.Tensor:
        """A x for decisions (B, G, S), as (B, M)."""
        return x.reshape(len(x), -1) @ self.A.T

    def prices(self, duals: torch.Tensor) -> torch.Tensor:
        """Aᵀλ for duals (B, M), as (B, G, S)."""
        return (duals @ self.A).reshape(len(duals), *self.mask.shape)

    def padded_scores(self, scores: torch.Tensor) -> torch.Tensor:
        """Give padding a score of −∞, so that it is never chosen."""
        return scores.masked_fill(~self.mask, -float("inf")) if self.ragged else scores

    def mse(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean squared error over the options whose value is predicted."""
        error = predictions - labels
        if not self._all_predicted:
            error = error[:, self.predicted]
        return error.square().mean()


@dataclass(frozen=True)
class Training:
    """What a method is handed once, before training."""

    constraints: Constraints
    labels: torch.Tensor
    """(K, G, S): y of every training instance."""
    solver: MeteredSolver
    predict: Callable[[], torch.Tensor]
    """Current ŷ of every training instance, without gradient."""
    quadratic_layer: Callable[[float], MeteredLayer]
    """Build the differentiable layer with regularisation μ, counted and timed."""


class Method(ABC):
    """A way to train; subclasses are one short file each."""

    summary: ClassVar[str]
    Options: ClassVar[type[Any]]
    """A frozen dataclass with at least ``lr``."""
    warm_starts: ClassVar[bool] = True
    """Whether runs begin at the shared MSE-trained predictor."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def prepare(self, training: Training) -> None:
        """Do what is done once: label solves, first duals, layers. Timed as set-up."""

    def start_epoch(self, epoch: int) -> None:  # noqa: B027 - optional
        """Act before epoch ``epoch`` (0, 1, …), for example refresh duals."""

    @abstractmethod
    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the scalar loss of a batch; its gradient trains the predictor."""

    def current_duals(self) -> torch.Tensor | None:
        """Return the duals now in use, (K, M), if the method is guided by any."""
        return None

    def problems(self) -> str | None:
        """Say what went wrong badly enough to end the run as failed, if anything did."""
        return None

    def notes(self) -> dict[str, Any]:
        """Return what the run's status should mention, such as failed instances."""
        return {}
