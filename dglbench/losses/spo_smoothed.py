"""SPO+ of the entropy-smoothed problem: a gradient everywhere, and no Jacobian."""

from __future__ import annotations

import torch

from dglbench.losses.fenchel_young import FenchelYoung
from dglbench.methods.base import Batch

__all__ = ["SmoothedSPOPlus"]


class SmoothedSPOPlus(FenchelYoung):
    """SPO+ with Ω(x) = τ Σ x log x in the place of a bare maximum:

        max_x {(2ŷ − y)·x − Ω(x)}  −  {(2ŷ − y)·z(y) − Ω(z(y))}   ≥ 0

    z the smoothed decision, z(y) that of the label. Gradient in ŷ: 2 (z(2ŷ − y) − z(y)), zero at
    ŷ = y and nowhere stuck at a vertex; τ → 0 gives SPO+.
    Solver calls: one entropic program per row at its first visit and one per instance and step;
    the run's own solver is not asked. Failures as in `FenchelYoung`.
    Reference: Mandi et al., Minimizing Surrogate Losses for Decision-Focused Learning Using
    Differentiable Optimization, arXiv 2508.11365, 2025; Elmachtoub and Grigas, 2022, for SPO+.
    """

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        best = self._best(batch)
        return self._gap(2 * batch.predictions - batch.labels, batch.rows, best)

    def _label_optima(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self.layer.solve(values, purpose="label", rows=rows)
