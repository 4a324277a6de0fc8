"""The two-stage loss: accuracy, whatever the decisions."""

from __future__ import annotations

import torch

from dglbench.losses.base import DecisionLoss
from dglbench.losses.batch import Batch

__all__ = ["MSE"]


class MSE(DecisionLoss):
    """Mean squared error over what is predicted: (1/N) Σ_i (ŷ_i − y_i)².

    Options whose value is known, and padding, do not count. Solver calls: none.
    """

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        return self.constraints.mse(batch)
