"""SPO+: a convex upper bound on the decision loss, one solve per instance and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typing_extensions import Doc

from dglbench.methods.base import Batch, LearningRate, Method, Training

if TYPE_CHECKING:
    import torch

__all__ = ["SpoOptions", "SpoPlus"]


@dataclass(frozen=True)
class SpoOptions:
    """Options of `SpoPlus`."""

    lr: LearningRate = 0.01
    oracle: Annotated[
        Literal["relax", "decide"], Doc("solve the LP relaxation, or the integer problem")
    ] = "relax"


class SpoPlus(Method):
    """SPO+ for maximisation, with x*(y) an optimum of the chosen oracle:

        max_x (2ŷ − y)·x  −  2ŷ·x*(y)  +  y·x*(y)   ≥ 0

    Subgradient in ŷ: 2 (x*(2ŷ − y) − x*(y)). Zero at ŷ = y.
    Solver calls: x*(y) once per instance at set-up, then one per instance and step.
    Reference: Elmachtoub and Grigas, Smart "Predict, then Optimize", 2022; on the
    relaxation: Mandi et al., Smart Predict-and-Optimize for Hard Combinatorial
    Optimization Problems, 2020.
    """

    summary: ClassVar[str] = "SPO+ surrogate; one solve per instance and step"
    Options: ClassVar[type[Any]] = SpoOptions

    def prepare(self, training: Training) -> None:
        """Solve every training instance with its true values."""
        solver = training.solver
        self._oracle = solver.relax if self.options.oracle == "relax" else solver.decide
        every = range(len(training.labels))
        self._best = self._oracle(training.labels, purpose="label", rows=every)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean SPO+ loss of the batch."""
        spread = 2 * batch.predictions - batch.labels
        worst = self._oracle(spread.detach(), purpose="train", rows=batch.rows)
        # Written so that autograd yields exactly the subgradient: both x are constants.
        lead = worst - self._best[batch.rows]
        return spread.flatten().dot(lead.flatten()) / len(batch.rows)
