"""Methods without epochs: a model of their own, fitted to the labels once, on the clock.

What they leave is a network like any other: numbers in parameters and buffers, so that saving,
evaluation, `apply` and export need nothing further.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import PluginError
from dglbench.losses.batch import Batch
from dglbench.methods.base import Claims, Fitting, Method, Training

if TYPE_CHECKING:
    import torch

__all__ = ["FittedMethod", "NoRate"]


@dataclass(frozen=True)
class NoRate:
    """Options of a method that takes no steps."""


class FittedMethod(Method):
    """Fits the predictor of its own name in `prepare`; takes no step and draws nothing.

    It is evaluated once, and repeats of it would be equal, so a data seed has one run of it.
    """

    group: ClassVar[str] = "rivals without gradients"
    fits: ClassVar[bool] = True
    warm_starts: ClassVar[bool] = False
    claims: ClassVar[Claims] = Claims(descends=False, of_loss=False)

    @abstractmethod
    def fit(self, fitting: Fitting) -> None:
        """Fit the network to its rows."""

    def prepare(self, training: Training) -> None:
        """Fit the network."""
        if training.fitting is None:
            raise PluginError(f"{type(self).__name__} fits a predictor of its own, and got none.")
        self.fit(training.fitting)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Refuse: there are no epochs."""
        raise PluginError(f"{type(self).__name__} is fitted at once and has no loss.")
