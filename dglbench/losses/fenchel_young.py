"""Fenchel–Young: the loss that belongs to the entropy-smoothed problem, without a Jacobian."""

from __future__ import annotations

import torch

from dglbench.layers import Layer, MeteredLayer
from dglbench.losses.base import check_number
from dglbench.losses.batch import Batch
from dglbench.losses.kept_optima import KeptOptima
from dglbench.losses.layered import Layered
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver

__all__ = ["FenchelYoung"]


class FenchelYoung(KeptOptima, Layered):
    """How much better the smooth decision looks at ŷ than the best decision of the label:

        max_x {ŷ·x − Ω(x)}  −  {ŷ·x*(y) − Ω(x*(y))}   ≥ 0,     Ω(x) = τ Σ x log x

    over the LP relaxation. The maximum is at z(ŷ), so the gradient is z(ŷ) − x*(y): convex,
    smooth, and nothing is differentiated through.
    Solver calls: x*(y) once per row, at its first visit, then one entropic program per instance
    and step. An instance whose program cannot be solved is left out and counted in `failures`.
    ``layer`` is a layer's name, built with ``tau`` and ``threads``, or a `Layer`.
    Reference: Blondel, Martins and Niculae, Learning with Fenchel-Young Losses, 2020.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        tau: float = 0.1,
        layer: str | Layer | MeteredLayer = "dual-entropy",
        threads: int = 1,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_number("tau", tau, tau > 0, "a number > 0")
        self.tau = tau
        self._take_layer(layer, tau=tau, threads=threads)

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        return self._gap(batch.predictions, batch.rows, self._best(batch))

    def _label_optima(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self.solver.relax(values, purpose="label", rows=rows)

    def _gap(self, scores: torch.Tensor, rows: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
        """Return the mean loss at scores (B, G, S), with gradient z(scores) − best in them."""
        self.steps += len(rows)
        soft = self.layer.solve(scores.detach(), rows=rows)
        # What cannot be solved has x = 0, here or at the label, and leaves the loss.
        solved = (soft.sum(dim=(1, 2)) > 0) & (best.sum(dim=(1, 2)) > 0)
        lead = (soft - best) * solved[:, None, None]
        order = torch.special.xlogy(soft, soft) - torch.special.xlogy(best, best)
        spent = self.tau * order[solved].sum()
        # Autograd sees constants beside the scores, and yields exactly the gradient.
        loss: torch.Tensor = (scores.flatten().dot(lead.flatten()) - spent) / len(rows)
        return loss
