"""SPO+: a convex upper bound on the decision loss, one solve per instance and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, LearningRate, Method, Start, Training
from dglbench.options import LATER

if TYPE_CHECKING:
    import torch

__all__ = ["SpoOptions", "SpoPlus"]


@dataclass(frozen=True)
class SpoOptions:
    """Options of `SpoPlus`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    oracle: Annotated[
        Literal["relax", "decide"], Doc("solve the LP relaxation, or the integer problem")
    ] = "relax"
    averaged: Annotated[
        bool,
        LATER,
        Doc(
            "give every instance the batch's mean subgradient, as the code behind PyEPO's "
            "published runs did"
        ),
    ] = False


class SpoPlus(Method):
    """`dglbench.losses.spo_plus` on all training instances.

    Solver calls: x*(y) once per instance at set-up, then one per instance and step.

    ``averaged`` is there to make published results again: PyEPO's first code averaged the
    subgradient, 2 (x*(2ŷ − y) − x*(y)), over the batch before it was multiplied with the features.
    The gradient of a weight was the product of two means in place of the mean of products: right
    on average over batches, and noisier.
    """

    summary: ClassVar[str] = "SPO+ surrogate; one solve per instance and step"
    claims: ClassVar[Claims] = Claims(stationary=True)
    group: ClassVar[str] = "the paper's methods"
    Options: ClassVar[type[Any]] = SpoOptions

    def __init__(self, options: SpoOptions) -> None:
        super().__init__(options)
        self._loss = self._loss_class()

    def prepare(self, training: Training) -> None:
        """Solve every training instance with its true values."""
        import torch

        self._criterion = self._loss(
            training.constraints.problem,
            oracle=self.options.oracle,
            solver=training.solver,
            **self._further(training),
        )
        self._criterion.solve_labels(training.labels, torch.arange(len(training.labels)))

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean SPO+ loss of the batch."""
        loss: torch.Tensor = self._criterion.batch_loss(batch)
        return loss

    def loss_and_gradient(self, batch: Batch) -> tuple[float, torch.Tensor]:
        """See `Method.loss_and_gradient`."""
        loss, gradient = self._criterion.batch_gradient(batch)
        if self.options.averaged:
            gradient = gradient.mean(dim=0, keepdim=True).expand_as(gradient).clone()
        return loss, gradient

    def _loss_class(self) -> Any:
        # Imported beforehand, because `prepare` is timed.
        from dglbench.losses.spo_plus import SPOPlus

        return SPOPlus

    def _further(self, training: Training) -> dict[str, Any]:
        """Return what else the loss is built with."""
        return {}
