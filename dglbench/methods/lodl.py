"""LODL: a quadratic for each label, fitted to what errors around it cost in decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, LearningRate, Method, Start, Training

if TYPE_CHECKING:
    import torch

__all__ = ["Lodl", "LodlOptions"]


@dataclass(frozen=True)
class LodlOptions:
    """Options of `Lodl`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0
    shape: Annotated[
        Literal["quadratic", "directed"], Doc("one weight for an error, or one for each sign")
    ] = "directed"
    samples: Annotated[int, Ge(2), Doc("predictions decided around each label")] = 500
    sigma: Annotated[float, Gt(0), Doc("their deviation, beside that of the label's entries")] = 1.0
    rank: Annotated[int, Ge(1), Doc("rank of each label's factor")] = 4
    oracle: Annotated[
        Literal["relax", "decide"], Doc("solve the LP relaxation, or the integer problem")
    ] = "relax"


class Lodl(Method):
    """`dglbench.losses.lodl` on all training instances.

    Solver calls: 1 + ``samples`` per instance at set-up, none per step. The fit is at set-up
    too, timed and counted as ``fit``.
    """

    summary: ClassVar[str] = "a quadratic fitted around each label; no solver after set-up"
    claims: ClassVar[Claims] = Claims(stationary=True)
    group: ClassVar[str] = "other losses"
    Options: ClassVar[type[Any]] = LodlOptions

    def __init__(self, options: LodlOptions) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.lodl import LODL

        super().__init__(options)
        self._loss = LODL

    def prepare(self, training: Training) -> None:
        """Sample, solve and fit around every training label."""
        import torch

        options = self.options
        self._criterion = self._loss(
            training.constraints.problem,
            shape=options.shape,
            samples=options.samples,
            sigma=options.sigma,
            rank=options.rank,
            alpha=options.alpha,
            oracle=options.oracle,
            draws=training.draws("lodl samples"),
            solver=training.solver,
        )
        labels, parameters = training.labels, training.parameter_labels
        rows = torch.arange(len(labels))
        self._criterion.fit(labels, labels if parameters is None else parameters, rows)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of the batch."""
        return self._criterion.batch_loss(batch)

    def notes(self) -> dict[str, Any]:
        """Report how well the quadratics fit held-out samples; 1 is no better than MSE."""
        return {"fit_error": self._criterion.fit_error}
