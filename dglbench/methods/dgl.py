"""The Dual-Guided Loss as methods: when the duals of all training instances are renewed.

The loss itself, its formula and its reference are in `dglbench.losses.dual_guided`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, LearningRate, Method, Snapshot, Start, Training
from dglbench.methods.diagnostics import bound_rows

if TYPE_CHECKING:
    import torch

__all__ = [
    "DglAuto",
    "DglAutoOptions",
    "DglEvery",
    "DglEveryOptions",
    "DglNone",
    "DglOptions",
]


@dataclass(frozen=True)
class DglOptions:
    """Options that all variants share."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    tau: Annotated[float, Gt(0), Doc("temperature of the softmax, in scaled label units")] = 0.3
    alpha: Annotated[float, Ge(0), Doc("weight of the mean squared error")] = 0.0
    form: Annotated[
        Literal["adjusted", "plain"], Doc("weigh soft decisions by y − Aᵀλ, or by y")
    ] = "adjusted"


class _DualGuided(Method):
    """`dglbench.losses.dual_guided` on all training instances; variants say when λ is renewed."""

    group: ClassVar[str] = "the paper's methods"
    Options: ClassVar[type[Any]] = DglOptions

    def __init__(self, options: DglOptions) -> None:
        # Imported now, because `prepare` is timed.
        from dglbench.losses.dual_guided import DualGuidedLoss

        super().__init__(options)
        self._loss = DualGuidedLoss

    def prepare(self, training: Training) -> None:
        """Take the first duals."""
        import torch

        options = self.options
        self._training = training
        self._rows = torch.arange(len(training.labels))
        self._criterion = self._loss(
            training.constraints.problem,
            tau=options.tau,
            alpha=options.alpha,
            form=self._form(),
            solver=training.solver,
            **self._rule(),
        )
        self._take_first_duals()

    def start_epoch(self, epoch: int) -> None:
        """Count; epoch 0 began at set-up."""
        if epoch:
            self._criterion.start_epoch()

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean dual-guided loss of the batch."""
        return self._criterion.batch_loss(batch)

    def loss_and_gradient(self, batch: Batch) -> tuple[float, torch.Tensor] | None:
        """See `Method.loss_and_gradient`."""
        return self._criterion.batch_gradient(batch)

    def current_duals(self) -> torch.Tensor:
        """Return the λ now in use."""
        return self._criterion.duals()

    def diagnostics(self, snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
        """Add both theorems' right-hand sides to the health of the duals."""
        if snapshot.epoch == 0:
            rows = snapshot.sample(len(snapshot.val_labels))
            self._val_label_duals = (
                snapshot.label_duals(len(rows))
                if snapshot.label_duals
                else snapshot.val_solver.duals(snapshot.val_labels[: len(rows)], rows=rows)
            )
        bounds = bound_rows(snapshot, self._val_label_duals, self.options.tau)
        return {**super().diagnostics(snapshot), **bounds}

    def _form(self) -> str:
        form: str = self.options.form
        return form

    @abstractmethod
    def _rule(self) -> dict[str, Any]:
        """Return the loss's ``refresh``, and ``delta`` if it has one."""

    def _take_first_duals(self) -> None:
        self._refresh_all()

    def _refresh_all(self) -> None:
        """Renew the duals of every training instance at the current predictions."""
        self._criterion.solve_duals(self._training.predict(), self._rows, purpose="refresh")


class DglNone(_DualGuided):
    """Duals from the true labels, once.

    Solver calls: one per instance at set-up, none per step.
    """

    summary: ClassVar[str] = "dual-guided loss, duals from the labels, never refreshed"

    def _rule(self) -> dict[str, Any]:
        return {"refresh": "never"}

    def _take_first_duals(self) -> None:
        self._criterion.solve_duals(self._training.labels, self._rows, purpose="label")


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
        super().start_epoch(epoch)
        if epoch and epoch % self.options.U == 0:
            self._refresh_all()

    def _rule(self) -> dict[str, Any]:
        return {"refresh": self.options.U}


@dataclass(frozen=True)
class DglAutoOptions(DglOptions):
    """Options of `DglAuto`."""

    delta: Annotated[
        float,
        Ge(0),
        Doc("unused capacity that is tolerated where λ > 0; on = rows, any difference"),
    ] = 1.0


class DglAuto(_DualGuided):
    """Duals refreshed only where they mislead, by the rule that `DualGuidedLoss` states.

    Solver calls: one per instance at set-up, then only for misled instances.
    """

    summary: ClassVar[str] = "dual-guided loss, duals refreshed only where they mislead"
    claims: ClassVar[Claims] = Claims(of_loss=False)
    Options: ClassVar[type[Any]] = DglAutoOptions

    def _rule(self) -> dict[str, Any]:
        return {"refresh": "auto", "delta": self.options.delta}
