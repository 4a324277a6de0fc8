"""QPTL: differentiate through the quadratically regularised relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import LearningRate, Method, Start, Training
from dglbench.plugins import find_layer
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["Qptl", "QptlDual", "QptlOptions"]

# More failed instances than this share of the solves end the run as failed.
_TOLERATED_FAILURES = 0.05


@dataclass(frozen=True)
class QptlOptions:
    """Options of `Qptl`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0
    mu: Annotated[float, Gt(0), Doc("quadratic regularisation, in scaled label units")] = 0.1


class Qptl(Method):
    """`dglbench.losses.qptl` through the layer of the paper.

    Solver calls: one quadratic program per instance and step, and one
    differentiation through it. An instance whose program cannot be solved is left
    out of the gradient and counted; more than 5 % of them end the run.
    """

    summary: ClassVar[str] = "differentiates through a regularised program at every step"
    group: ClassVar[str] = "the paper's methods"
    Options: ClassVar[type[Any]] = QptlOptions
    layers: ClassVar[tuple[str, ...]] = ("cvxpylayers",)

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Method.refuses`: what its layer refuses."""
        return find_layer(cls.layers[0]).refuses(problem)

    def __init__(self, options: QptlOptions) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.qptl import QPTL

        super().__init__(options)
        self._loss = QPTL

    def prepare(self, training: Training) -> None:
        """Build the layer and pay its first-call costs."""
        import torch

        options = self.options
        layer = training.layer(self.layers[0], mu=options.mu)
        first = training.labels[:1]
        layer.solve(first, purpose="label", rows=torch.arange(1))
        layer.pull_back(torch.zeros_like(first))
        self._criterion = self._loss(
            training.constraints.problem, mu=options.mu, alpha=options.alpha, layer=layer
        )

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean task loss of the batch, with the layer's gradient attached."""
        return self._criterion.batch_loss(batch)

    def problems(self) -> str | None:
        """End the run when too many programs could not be solved."""
        failures, steps = self._criterion.failures, self._criterion.steps
        if failures > _TOLERATED_FAILURES * max(steps, 1):
            return (
                f"{failures} of {steps} quadratic programs could not be solved, more than "
                f"{_TOLERATED_FAILURES:.0%}; try a larger mu or a smaller lr."
            )
        return None

    def notes(self) -> dict[str, Any]:
        """Report how many programs could not be solved."""
        return {"qp_failures": self._criterion.failures}


class QptlDual(Qptl):
    """The same method through `dglbench.layers.dual`: the same x and gradient, sooner.

    Solver calls: as `Qptl`; a program is some Newton steps in M multipliers, from where the
    instance ended last time.
    """

    summary: ClassVar[str] = "QPTL through the dual layer: the same program, solved sooner"
    layers: ClassVar[tuple[str, ...]] = ("dual-quadratic",)
