"""LAVA: the best decision should beat its neighbours, and no solver is called in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.losses.limits import too_large
from dglbench.methods.base import LearningRate, Method, Start, Training
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["Lava", "LavaOptions"]


@dataclass(frozen=True)
class LavaOptions:
    """Options of `Lava`."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    margin: Annotated[
        float, Ge(0), Doc("lead that the best decision should have, in scaled label units")
    ] = 0.1
    bases: Annotated[int, Ge(1), Doc("bases visited at most where a vertex is degenerate")] = 50


class Lava(Method):
    """`dglbench.losses.lava` on all training instances.

    Solver calls: x*(y) once per instance at set-up, none per step. The vertices next to it are
    found at set-up too, timed and counted as ``vertices``.
    """

    summary: ClassVar[str] = "the best decision against adjacent vertices; no solver in training"
    group: ClassVar[str] = "other losses"
    Options: ClassVar[type[Any]] = LavaOptions

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `too_large`."""
        return too_large(problem)

    def __init__(self, options: LavaOptions) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.lava import LAVA

        super().__init__(options)
        self._loss = LAVA

    def prepare(self, training: Training) -> None:
        """Solve every training instance with its true values, and find the neighbours."""
        import torch

        options = self.options
        self._criterion = self._loss(
            training.constraints.problem,
            margin=options.margin,
            bases=options.bases,
            solver=training.solver,
        )
        self._criterion.find_neighbours(training.labels, torch.arange(len(training.labels)))

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of the batch."""
        return self._criterion.batch_loss(batch)
