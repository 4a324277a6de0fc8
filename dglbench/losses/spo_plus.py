"""SPO+: a convex upper bound on the decision loss, one solve per instance and step."""

from __future__ import annotations

import numpy as np
import torch

from dglbench.losses.analytic_gradients import attached
from dglbench.losses.batch import Batch
from dglbench.losses.kept_optima import KeptOptima, check_oracle
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver

__all__ = ["SPOPlus"]


class SPOPlus(KeptOptima):
    """SPO+ for maximisation, with x*(y) an optimum of the chosen oracle:

        max_x (2ŷ − y)·x  −  2ŷ·x*(y)  +  y·x*(y)   ≥ 0

    Subgradient in ŷ: 2 (x*(2ŷ − y) − x*(y)). Zero at ŷ = y.
    Solver calls: x*(y) once per row, at its first visit, then one per instance and step.
    ``oracle`` is ``"relax"`` for the LP relaxation or ``"decide"`` for the integer problem.
    Reference: Elmachtoub and Grigas, Smart "Predict, then Optimize", 2022; on the
    relaxation: Mandi et al., Smart Predict-and-Optimize for Hard Combinatorial
    Optimization Problems, 2020.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        oracle: str = "relax",
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_oracle(oracle)
        self.oracle = oracle

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        return attached(batch.predictions, *self.batch_gradient(batch))

    def batch_gradient(self, batch: Batch) -> tuple[float, torch.Tensor]:
        """See `DecisionLoss.batch_gradient`."""
        best = self._best(batch)
        spread = batch.predictions.detach().mul(2.0).sub_(batch.labels)
        lead = self._worst(spread, batch.rows).sub(best)
        value = float(np.vdot(spread.numpy(), lead.numpy())) / len(batch.rows)
        return value, lead.mul_(2.0 / len(batch.rows))

    def _label_optima(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return self._optima(values, rows, "label")

    def _worst(self, spread: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return x*(2ŷ − y) of a batch."""
        return self._optima(spread, rows, "train")

    def _optima(self, values: torch.Tensor, rows: torch.Tensor, purpose: str) -> torch.Tensor:
        ask = self.solver.relax if self.oracle == "relax" else self.solver.decide
        return ask(values, purpose=purpose, rows=rows)
