"""CaVE: predictions are turned into the cone of the true optimum; no solver in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, LearningRate, Method, Start, Training

if TYPE_CHECKING:
    import torch

__all__ = ["Cave", "CaveHybrid", "CaveHybridOptions", "CaveOptions", "CavePlus", "CavePlusOptions"]

Inner = Annotated[
    float, Ge(0), Le(1), Doc("share of the mean binding normal, which points into the cone")
]


@dataclass(frozen=True)
class CaveOptions:
    """Options of `Cave`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    oracle: Annotated[
        Literal["relax", "decide"], Doc("optima of the LP relaxation, or of the integer problem")
    ] = "relax"


class Cave(Method):
    """`dglbench.losses.cave` with exact projections, on all training instances.

    Solver calls: x*(y) once per instance at set-up, none per step. Projections are timed and
    counted as ``projections``.
    """

    summary: ClassVar[str] = "angle to the cone of the true optimum (CaVE); no solver in training"
    claims: ClassVar[Claims] = Claims(stationary=True)
    group: ClassVar[str] = "other losses"
    Options: ClassVar[type[Any]] = CaveOptions

    def __init__(self, options: Any) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.cave import CaVE

        super().__init__(options)
        self._loss = CaVE

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
        """Return the mean loss of the batch."""
        return self._criterion.batch_loss(batch)

    def loss_and_gradient(self, batch: Batch) -> tuple[float, torch.Tensor]:
        """See `Method.loss_and_gradient`."""
        return self._criterion.batch_gradient(batch)

    def notes(self) -> dict[str, Any]:
        """Report projections that did not reach the nearest point, if any."""
        inexact = self._criterion.inexact
        return {"inexact_projections": inexact} if inexact else {}

    def _further(self, training: Training) -> dict[str, Any]:
        """Return what else the loss is built with."""
        return {}


@dataclass(frozen=True)
class CavePlusOptions(CaveOptions):
    """Options of `CavePlus`."""

    steps: Annotated[int, Ge(1), Doc("Newton steps after which a projection ends")] = 3
    inner: Inner = 0.2


class CavePlus(Cave):
    """`dglbench.losses.cave` with short projections, pushed into the cone.

    Solver calls: x*(y) once per instance at set-up, none per step.
    """

    summary: ClassVar[str] = "CaVE with short projections, pushed inside (CaVE+)"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = CavePlusOptions

    def _further(self, training: Training) -> dict[str, Any]:
        return {"steps": self.options.steps, "inner": self.options.inner}


@dataclass(frozen=True)
class CaveHybridOptions(CavePlusOptions):
    """Options of `CaveHybrid`."""

    solve_ratio: Annotated[
        float, Ge(0), Le(1), Doc("share of batches that are projected; others take the mean alone")
    ] = 0.3


class CaveHybrid(CavePlus):
    """`dglbench.losses.cave`: a share of the batches projected, else the mean binding normal.

    Solver calls: x*(y) once per instance at set-up, none per step; one draw per batch.
    """

    summary: ClassVar[str] = "CaVE+ for a share of the batches, else the mean binding normal"
    Options: ClassVar[type[Any]] = CaveHybridOptions

    def _further(self, training: Training) -> dict[str, Any]:
        return {
            **super()._further(training),
            "solve_ratio": self.options.solve_ratio,
            "draws": training.draws("projections"),
        }
