"""QPTL: differentiate through the quadratically regularised relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.methods.base import Batch, LearningRate, Method, Training

if TYPE_CHECKING:
    import torch

__all__ = ["Qptl", "QptlOptions"]

# More failed instances than this share of the solves end the run as failed.
_TOLERATED_FAILURES = 0.05


@dataclass(frozen=True)
class QptlOptions:
    """Options of `Qptl`."""

    lr: LearningRate = 0.01
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0
    mu: Annotated[float, Gt(0), Doc("quadratic regularisation, in scaled label units")] = 1.0


class Qptl(Method):
    """Task loss through a quadratic program:

        −y·x(ŷ) + α·MSE,   x(ŷ) = argmax_x ŷ·x − (μ/2)‖x‖² over the LP relaxation

    Solver calls: one quadratic program per instance and step, and one
    differentiation through it. An instance whose program cannot be solved is left
    out of the gradient and counted; more than 5 % of them end the run.
    References: Wilder et al., Melding the Data-Decisions Pipeline, 2019; Amos and
    Kolter, OptNet, 2017.
    """

    summary: ClassVar[str] = "differentiates through a regularised program at every step"
    Options: ClassVar[type[Any]] = QptlOptions
    layers: ClassVar[tuple[str, ...]] = ("cvxpylayers",)

    def prepare(self, training: Training) -> None:
        """Build the layer and pay its first-call costs."""
        import torch

        self._constraints = training.constraints
        self._layer = training.layer(self.layers[0], mu=self.options.mu)
        first = training.labels[:1]
        self._layer.solve(first, purpose="label", rows=torch.arange(1))
        self._layer.pull_back(torch.zeros_like(first))
        self._steps = 0

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean task loss of the batch, with the layer's gradient attached."""
        count = len(batch.rows)
        x = self._layer.solve(batch.predictions, rows=batch.rows)
        gradient = self._layer.pull_back(-batch.labels / count)
        value = -(batch.labels * x).sum() / count
        # The layer is differentiated by hand so that its time is its own; this
        # term is 0 and carries that gradient on to the predictor.
        carried = ((batch.predictions - batch.predictions.detach()) * gradient).sum()
        loss = value + carried
        if self.options.alpha:
            loss = loss + self.options.alpha * self._constraints.mse(batch)
        self._steps += count
        return loss

    def problems(self) -> str | None:
        """End the run when too many programs could not be solved."""
        failures = self._layer.failures
        if failures > _TOLERATED_FAILURES * max(self._steps, 1):
            return (
                f"{failures} of {self._steps} quadratic programs could not be solved, more than "
                f"{_TOLERATED_FAILURES:.0%}; try a larger mu or a smaller lr."
            )
        return None

    def notes(self) -> dict[str, Any]:
        """Report how many programs could not be solved."""
        return {"qp_failures": self._layer.failures}
