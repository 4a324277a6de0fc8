"""Fenchel–Young on the dual layer: smooth, convex, and no Jacobian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import LearningRate, Method, Start, Training

if TYPE_CHECKING:
    import torch

__all__ = ["FenchelYoungMethod", "FenchelYoungOptions"]

# More failed instances than this share of the solves end the run as failed, as for QPTL.
_TOLERATED_FAILURES = 0.05


@dataclass(frozen=True)
class FenchelYoungOptions:
    """Options of `FenchelYoungMethod`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    tau: Annotated[float, Gt(0), Doc("strength of the entropy, in scaled label units")] = 0.1


class FenchelYoungMethod(Method):
    """`dglbench.losses.fenchel_young` on all training instances: gradient z(ŷ) − x*(y).

    Solver calls: x*(y) once per instance at set-up, then one entropic program per instance and
    step, never differentiated through. More than 5 % of programs unsolved end the run.
    """

    summary: ClassVar[str] = "Fenchel–Young loss of the entropy-smoothed problem, no Jacobian"
    group: ClassVar[str] = "other losses"
    Options: ClassVar[type[Any]] = FenchelYoungOptions
    layers: ClassVar[tuple[str, ...]] = ("dual-entropy",)

    def __init__(self, options: FenchelYoungOptions) -> None:
        super().__init__(options)
        self._loss = self._loss_class()

    def prepare(self, training: Training) -> None:
        """Take what the labels' decisions are."""
        import torch

        self._criterion = self._loss(
            training.constraints.problem,
            tau=self.options.tau,
            layer=training.layer(self.layers[0], tau=self.options.tau),
            solver=training.solver,
        )
        self._criterion.solve_labels(training.labels, torch.arange(len(training.labels)))

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of the batch."""
        loss: torch.Tensor = self._criterion.batch_loss(batch)
        return loss

    def problems(self) -> str | None:
        """End the run when too many programs could not be solved."""
        failures, steps = self._criterion.failures, self._criterion.steps
        if failures > _TOLERATED_FAILURES * max(steps, 1):
            return (
                f"{failures} of {steps} entropic programs could not be solved, more than "
                f"{_TOLERATED_FAILURES:.0%}; try a larger tau or a smaller lr."
            )
        return None

    def notes(self) -> dict[str, Any]:
        """Report how many programs could not be solved."""
        return {"layer_failures": self._criterion.failures}

    def _loss_class(self) -> Any:
        # Imported beforehand, because `prepare` is timed.
        from dglbench.losses.fenchel_young import FenchelYoung

        return FenchelYoung
