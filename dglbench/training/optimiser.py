"""The optimiser and the schedule of a run: torch's own, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dglbench.runs.protocol import Protocol

if TYPE_CHECKING:
    import torch
    from torch.optim.lr_scheduler import LRScheduler

__all__ = ["Optimiser", "make_optimiser"]

_OPTIMISERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
_PLATEAU_FACTOR, _PLATEAU_PATIENCE = 0.5, 5


class Optimiser:
    """A torch optimiser whose rate follows the protocol's schedule over a number of epochs.

        cosine    rate · (1 + cos(π (e − 1)/E)) / 2       in epoch e of E
        linear    rate · (1 − (e − 1)/E)
        plateau   halved after five evaluations without a better validation regret
    """  # fmt: skip

    def __init__(self, optimiser: torch.optim.Optimizer, schedule: str, epochs: int) -> None:
        from torch.optim import lr_scheduler

        self.torch = optimiser
        self._by_epoch: LRScheduler | None = None
        self._by_regret: lr_scheduler.ReduceLROnPlateau | None = None
        if schedule == "cosine":
            self._by_epoch = lr_scheduler.CosineAnnealingLR(optimiser, T_max=epochs)
        elif schedule == "linear":
            self._by_epoch = lr_scheduler.LinearLR(
                optimiser, start_factor=1.0, end_factor=0.0, total_iters=epochs
            )
        elif schedule == "plateau":
            self._by_regret = lr_scheduler.ReduceLROnPlateau(
                optimiser, factor=_PLATEAU_FACTOR, patience=_PLATEAU_PATIENCE
            )

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return float(self.torch.param_groups[0]["lr"])

    def end_epoch(self) -> None:
        """Move schedules that count epochs."""
        if self._by_epoch is not None:
            self._by_epoch.step()

    def judged(self, regret: float) -> None:
        """Move the schedule that watches validation regret."""
        if self._by_regret is not None:
            self._by_regret.step(regret)


def make_optimiser(
    weights: Iterable[torch.nn.Parameter], protocol: Protocol, lr: float, epochs: int
) -> Optimiser:
    """Build the protocol's optimiser; torch's kernel takes all weights of a step at once."""
    import torch

    cls = getattr(torch.optim, _OPTIMISERS[protocol.optimizer])
    built = cls(weights, lr=lr, weight_decay=protocol.weight_decay, fused=True)
    return Optimiser(built, protocol.schedule, epochs)
