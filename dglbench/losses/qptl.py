"""QPTL: differentiate through the quadratically regularised relaxation."""

from __future__ import annotations

import torch

from dglbench.layers import Layer, MeteredLayer
from dglbench.losses.base import check_number
from dglbench.losses.batch import Batch
from dglbench.losses.layered import Layered
from dglbench.problem import Problem

__all__ = ["QPTL"]


class QPTL(Layered):
    """Task loss through a quadratic program:

        −y·x(ŷ) + α·MSE,   x(ŷ) = argmax_x ŷ·x − (μ/2)‖x‖² over the LP relaxation

    Solver calls: one quadratic program per instance and step, and one
    differentiation through it. An instance whose program cannot be solved is left
    out of the gradient and counted in `failures`. ``layer`` is a layer's name (see
    ``dglbench list``), which is then built with ``mu`` and ``threads``, or a `Layer`.
    References: Wilder et al., Melding the Data-Decisions Pipeline, 2019; Amos and
    Kolter, OptNet, 2017.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        mu: float = 1.0,
        alpha: float = 0.0,
        layer: str | Layer | MeteredLayer = "cvxpylayers",
        threads: int = 1,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, label_scale=label_scale)
        check_number("mu", mu, mu > 0, "a number > 0")
        check_number("alpha", alpha, alpha >= 0, "a number ≥ 0")
        self.mu, self.alpha = mu, alpha
        self._take_layer(layer, mu=mu, threads=threads)

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`; the layer's gradient is attached explicitly."""
        count = len(batch.rows)
        x = self.layer.solve(batch.predictions, rows=batch.rows)
        gradient = self.layer.pull_back(-batch.labels / count)
        value = -(batch.labels * x).sum() / count
        # The layer is differentiated explicitly so that its time is logged apart; this
        # term is 0 and carries that gradient on to the predictor.
        carried = ((batch.predictions - batch.predictions.detach()) * gradient).sum()
        loss = value + carried
        if self.alpha:
            loss = loss + self.alpha * self.constraints.mse(batch)
        self.steps += count
        return loss
