"""SPO+: a convex upper bound on the decision loss, one solve per instance and step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dglbench.errors import OptionError, ProblemError
from dglbench.losses.base import DecisionLoss
from dglbench.losses.by_row import ByRow
from dglbench.methods.base import Batch
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.training.clock import MeteredSolver

__all__ = ["SPOPlus"]


class SPOPlus(DecisionLoss):
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
        if oracle not in ("relax", "decide"):
            raise OptionError(f"oracle must be relax or decide, got {oracle!r}.")
        self.oracle = oracle
        self._kept = ByRow()

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        if new := self._kept.missing(batch.rows):
            self.solve_labels(batch.labels[new], batch.rows[new])
        spread = 2 * batch.predictions - batch.labels
        worst = self._optima(spread.detach(), batch.rows, "train")
        # Written so that autograd yields exactly the subgradient: both x are constants.
        lead = worst - self._kept["best"][self._kept.places(batch.rows)]
        return spread.flatten().dot(lead.flatten()) / len(batch.rows)

    def solve_labels(self, values: torch.Tensor, rows: torch.Tensor) -> None:
        """Take x*(y) of distinct rows from their scaled labels, and keep it."""
        self._kept.put(rows, {"best": self._optima(values, rows, "label")})

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` saves: every row's x*(y)."""
        return dict(self._kept.state("best"))

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over what was saved, in place of all that is known."""
        self._kept = ByRow()
        if "rows" not in state:
            return
        shape = self.problem.shape
        if tuple(state["best"].shape[1:]) != shape:
            raise ProblemError(
                f"the saved optima have shape {tuple(state['best'].shape[1:])}, decisions of this "
                f"problem {shape}; load them into the loss of the problem they were saved with."
            )
        self._kept.put(state["rows"].cpu(), {"best": state["best"].cpu().clone()})

    def _optima(self, values: torch.Tensor, rows: torch.Tensor, purpose: str) -> torch.Tensor:
        ask = self.solver.relax if self.oracle == "relax" else self.solver.decide
        return ask(values, purpose=purpose, rows=rows)
