"""SPO+ on the entropy-smoothed layer: a gradient everywhere, and no Jacobian."""

from __future__ import annotations

import torch

from dglbench.losses.batch import Batch
from dglbench.losses.fenchel_young import FenchelYoung

__all__ = ["SmoothedSPOPlus"]


class SmoothedSPOPlus(FenchelYoung):
    """SPO+ with Ω(x) = τ Σ x log x beside the maximum:

        max_x {(2ŷ − y)·x − Ω(x)}  −  {(2ŷ − y)·x*(y) − Ω(x*(y))}   ≥ 0

    The maximum is at z(2ŷ − y), the smoothed decision, so the gradient in ŷ is
    2 (z(2ŷ − y) − x*(y)), nowhere stuck at a vertex; τ → 0 gives SPO+. The label's side is its
    decision x*(y), which regret is measured by, and not its smoothed one z(y): with z(y) the loss
    would be 0 at ŷ = y, but where the predictor cannot fit the labels it asks for decisions as
    undecided as z(y), and ends at a higher validation regret.
    Solver calls and failures as in `FenchelYoung`.
    Reference: Mandi et al., Minimizing Surrogate Losses for Decision-Focused Learning Using
    Differentiable Optimization, arXiv 2508.11365, 2025; Elmachtoub and Grigas, 2022, for SPO+.
    """

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        return self._gap(2 * batch.predictions - batch.labels, batch.rows, self._best(batch))
