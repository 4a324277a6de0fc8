"""Two-stage: train for accuracy, decide afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, LearningRate, Method, Training

if TYPE_CHECKING:
    import torch

__all__ = ["TwoStage", "TwoStageOptions"]


@dataclass(frozen=True)
class TwoStageOptions:
    """Options of `TwoStage`."""

    lr: LearningRate = 0.03


class TwoStage(Method):
    """Mean squared error: (1/N) Σ_i (ŷ_i − y_i)², until that of validation stops improving.

    Solver calls per step: none.
    """

    summary: ClassVar[str] = "mean squared error until it stops improving; no solver"
    claims: ClassVar[Claims] = Claims(stationary=True)
    group: ClassVar[str] = "the paper's methods"
    Options: ClassVar[type[Any]] = TwoStageOptions
    for_accuracy: ClassVar[bool] = True
    warm_starts: ClassVar[bool] = False  # it is what warm starts are made of

    def __init__(self, options: TwoStageOptions) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.mean_squared import MSE

        super().__init__(options)
        self._loss = MSE

    def prepare(self, training: Training) -> None:
        """Take the loss, which knows what is predicted."""
        self._criterion = self._loss(training.constraints.problem)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean squared error of the batch."""
        return self._criterion.batch_loss(batch)
