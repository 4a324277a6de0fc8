"""The Dual-Guided Loss: solve now and then, let dual variables guide the steps between.

The paper's symbols: λ duals, h dual-adjusted scores, z̃ soft decisions, τ
temperature, U refresh period, δ tolerance. Reference: Rodriguez-Diaz, Bansak
and Paulson, A Dual Perspective on Decision-Focused Learning, 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.methods.base import Batch, LearningRate, Method, Snapshot, Training
from dglbench.methods.decisions import broken_rows, hard_decisions, rounding, soft_decisions
from dglbench.methods.diagnostics import bound_row

if TYPE_CHECKING:
    import torch

__all__ = [
    "DglAuto",
    "DglAutoOptions",
    "DglEvery",
    "DglEveryOptions",
    "DglNone",
    "DglOptions",
    "soft_decisions",
]


@dataclass(frozen=True)
class DglOptions:
    """Options that all variants share."""

    lr: LearningRate = 0.01
    tau: Annotated[float, Gt(0), Doc("temperature of the softmax, in scaled label units")] = 0.1
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0
    form: Annotated[
        Literal["adjusted", "plain"], Doc("weigh soft decisions by y − Aᵀλ, or by y")
    ] = "adjusted"


class _DualGuided(Method):
    """The loss that all variants share:

        −(1/G) Σ_g (y − Aᵀλ)_g · z̃_g  +  α·MSE,   z̃_g = softmax((ŷ − Aᵀλ)_g / τ)

    with y in place of y − Aᵀλ in the plain form. λ carries no gradient.
    """

    Options: ClassVar[type[Any]] = DglOptions

    def prepare(self, training: Training) -> None:
        """Take the first duals."""
        self._training = training
        self._set_duals(self._first_duals())

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean dual-guided loss of the batch."""
        constraints, options = self._training.constraints.at(batch.rows), self.options
        prices = self._prices[batch.rows]
        soft = soft_decisions(batch.predictions, prices, options.tau, constraints)
        worth = batch.labels - prices if options.form == "adjusted" else batch.labels
        loss = -(worth * soft).sum() / (len(batch.rows) * constraints.groups)
        if options.alpha:
            loss = loss + options.alpha * self._training.constraints.mse(batch)
        return loss

    def current_duals(self) -> torch.Tensor:
        """Return the λ now in use."""
        return self._duals

    def diagnostics(self, snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
        """Add Theorem 1's right-hand side to the health of the duals."""
        if snapshot.epoch == 0:
            self._val_label_duals = snapshot.val_solver.duals(
                snapshot.val_labels, rows=range(len(snapshot.val_labels))
            )
        bound = bound_row(snapshot, self._val_label_duals, self.options.tau)
        return {**super().diagnostics(snapshot), "bound": bound}

    def _first_duals(self) -> torch.Tensor:
        return self._refreshed()

    def _refreshed(self) -> torch.Tensor:
        """Duals of every training instance at the current predictions."""
        return self._training.solver.duals(
            self._training.predict(), purpose="refresh", rows=self._every()
        )

    def _every(self) -> range:
        return range(len(self._training.labels))

    def _set_duals(self, duals: torch.Tensor) -> None:
        self._duals = duals
        self._prices = self._training.constraints.prices(duals)


class DglNone(_DualGuided):
    """Duals from the true labels, once.

    Solver calls: one per instance at set-up, none per step.
    """

    summary: ClassVar[str] = "dual-guided loss, duals from the labels, never refreshed"

    def _first_duals(self) -> torch.Tensor:
        return self._training.solver.duals(
            self._training.labels, purpose="label", rows=self._every()
        )


@dataclass(frozen=True)
class DglEveryOptions(DglOptions):
    """Options of `DglEvery`."""

    U: Annotated[int, Ge(1), Doc("refresh all duals every U epochs")] = 1


class DglEvery(_DualGuided):
    """Duals from the current predictions, for every instance, at epochs 0, U, 2U, …

    Solver calls: one per instance every U epochs, the first at set-up.
    """

    summary: ClassVar[str] = (
        "dual-guided loss, all duals refreshed every U epochs (dgl-1, dgl-5, …)"
    )
    Options: ClassVar[type[Any]] = DglEveryOptions

    def start_epoch(self, epoch: int) -> None:
        """Refresh when it is time; epoch 0 was served at set-up."""
        if epoch and epoch % self.options.U == 0:
            self._set_duals(self._refreshed())


@dataclass(frozen=True)
class DglAutoOptions(DglOptions):
    """Options of `DglAuto`."""

    delta: Annotated[
        float,
        Ge(0),
        Doc("unused capacity that is tolerated where λ > 0; on = rows, any difference"),
    ] = 1.0


class DglAuto(_DualGuided):
    """Duals refreshed only where they mislead.

    An instance of the batch is refreshed when its argmax decision z at ŷ − Aᵀλ
    breaks A z ≤ b, or leaves more than δ unused on a row with λ > 0 (a row that
    costs something should be used up; a free row may stay slack for ever), both
    beyond rounding. A row that must be met exactly misleads when A z is more than δ
    off b on either side.

    Solver calls: one per instance at set-up, then only for misled instances.
    """

    summary: ClassVar[str] = "dual-guided loss, duals refreshed only where they mislead"
    Options: ClassVar[type[Any]] = DglAutoOptions

    def loss(self, batch: Batch) -> torch.Tensor:
        """Refresh what is misled, then take the shared loss."""
        predictions = batch.predictions.detach()
        misled = self._misled(batch.rows, predictions)
        if misled.any():
            rows = batch.rows[misled]
            duals = self._training.solver.duals(predictions[misled], purpose="refresh", rows=rows)
            self._duals[rows] = duals
            self._prices[rows] = self._training.constraints.prices(duals)
        return super().loss(batch)

    def _misled(self, rows: torch.Tensor, predictions: torch.Tensor) -> torch.Tensor:
        constraints = self._training.constraints.at(rows)
        hard = hard_decisions(predictions, self._prices[rows], constraints)
        spare = constraints.b - constraints.usage(hard)
        allowed = self.options.delta + rounding(constraints)
        unused = (self._duals[rows] > 0) & (spare > allowed)
        misled: torch.Tensor = broken_rows(spare, constraints) | unused
        misled = misled.where(~constraints.equality, spare.abs() > allowed)
        return misled.any(dim=1)
