"""The Dual-Guided Loss: solve now and then, let dual variables guide the steps between.

The paper's symbols: λ duals, h dual-adjusted scores, z̃ soft decisions, τ
temperature, U refresh period, δ tolerance. Reference: Rodriguez-Diaz, Bansak
and Paulson, A Dual Perspective on Decision-Focused Learning, 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dglbench.errors import OptionError, ProblemError
from dglbench.losses.base import DecisionLoss, check_number
from dglbench.losses.by_row import ByRow, checked_rows, first_positions
from dglbench.methods.base import Batch
from dglbench.methods.decisions import broken_rows, hard_decisions, rounding, soft_decisions
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.training.clock import MeteredSolver

__all__ = ["DualGuidedLoss"]

_FORMS = ("adjusted", "plain")
_RULES = ("never", "auto", "step")


class DualGuidedLoss(DecisionLoss):
    """Soft decisions at the prices of an optimum, weighed by what they are truly worth:

        −(1/G) Σ_g (y − Aᵀw)_g · z̃_g  +  α·MSE,   z̃_g = softmax((ŷ − Aᵀλ)_g / τ)

    with w = λ in the ``adjusted`` form and w = 0 in the ``plain`` one. λ and w carry no
    gradient. Each row keeps its own λ, solved at its first visit and renewed by ``refresh``:

    - ``"never"``: λ is that of the labels, for ever.
    - U, a whole number: λ of the predictions, renewed at the first visit once it is U epochs
      old; `start_epoch` counts them.
    - ``"auto"``: renewed where it misleads: where the argmax decision z at ŷ − Aᵀλ breaks
      A z ≤ b, or leaves more than ``delta`` unused on a row of A with λ > 0 (a row that costs
      something should be used up; a free one may stay slack for ever), both beyond rounding.
      A row that must be met exactly misleads when A z is more than ``delta`` off b.
    - ``"step"``: renewed at every visit.

    `refresh` renews duals by hand. ``solver`` is a family's name, a `Solver`, or None for the
    vectorised one if the problem has the structure for it, else OR-Tools.
    ``state_dict`` holds the duals by row.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        tau: float = 0.1,
        alpha: float = 0.0,
        form: str = "adjusted",
        refresh: int | str = "never",
        delta: float = 1.0,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_number("tau", tau, tau > 0, "a number > 0")
        check_number("alpha", alpha, alpha >= 0, "a number ≥ 0")
        check_number("delta", delta, delta >= 0, "a number ≥ 0")
        if form not in _FORMS:
            raise OptionError(f"form must be one of {', '.join(_FORMS)}, got {form!r}.")
        counts = isinstance(refresh, int) and not isinstance(refresh, bool) and refresh >= 1
        if not counts and refresh not in _RULES:
            raise OptionError(
                f"refresh must be {', '.join(_RULES)} or a number of epochs ≥ 1, got {refresh!r}."
            )
        self.tau, self.alpha, self.form, self.delta = tau, alpha, form, delta
        self.rule = refresh
        self.epoch = 0
        self._kept = ByRow()

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        self._renew(batch)
        constraints = self.constraints.at(batch.rows)
        prices = self._kept["prices"][self._kept.places(batch.rows)]
        soft = soft_decisions(batch.predictions, prices, self.tau, constraints)
        worth = self._worth(batch.labels, prices)
        loss = -(worth * soft).sum() / (len(batch.rows) * constraints.groups)
        if self.alpha:
            loss = loss + self.alpha * self.constraints.mse(batch)
        return loss

    def start_epoch(self) -> None:
        """Count an epoch: by it duals grow old."""
        self.epoch += 1

    def refresh(self, predictions: torch.Tensor, rows: Any) -> None:
        """Renew the duals of these rows at these predictions, now."""
        predicted = self._double("predictions", predictions).detach()
        values = self.problem.values(predicted, self.label_scale)
        distinct = self._rows(rows, len(values))
        first = first_positions(distinct.tolist())
        self.solve_duals(values[first], distinct[first], purpose="refresh")

    def duals(self, rows: Any = None) -> torch.Tensor:
        """Return λ of some rows, (B, M); without ``rows`` of all, in the order first seen.

        In units of the scaled values: times ``label_scale`` they are prices in label units.
        """
        if not len(self._kept):
            raise ProblemError("no duals are known yet; call the loss or refresh first.")
        if rows is None:
            return self._kept["duals"]
        asked = checked_rows(rows, len(rows))
        if unknown := self._kept.missing(asked):
            raise ProblemError(f"row {int(asked[unknown[0]])} has no duals yet: it was never seen.")
        return self._kept["duals"][self._kept.places(asked)]

    @property
    def rows(self) -> torch.Tensor:
        """(n,): every row that has duals, in the order first seen."""
        return self._kept.rows

    def solve_duals(self, values: torch.Tensor, rows: torch.Tensor, *, purpose: str) -> None:
        """Take the duals of distinct rows from scaled values, and keep them."""
        self._keep(rows, self.solver.duals(values, purpose=purpose, rows=rows))

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` saves: the epoch, and every row's duals and their age."""
        return {"epoch": self.epoch, **self._kept.state("duals", "renewed")}

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over what was saved, in place of all that is known."""
        self._kept, self.epoch = ByRow(), int(state["epoch"])
        if "rows" not in state:
            return
        if tuple(state["duals"].shape[1:]) != (self.problem.rows,):
            raise ProblemError(
                f"the saved duals are of {state['duals'].shape[1]} rows of A, this problem has "
                f"{self.problem.rows}; load them into the loss of the problem they were saved with."
            )
        rows, duals, renewed = (state[name].cpu().clone() for name in ("rows", "duals", "renewed"))
        self._keep(rows, duals, renewed)

    def _worth(self, labels: torch.Tensor, prices: torch.Tensor) -> torch.Tensor:
        """Return y − Aᵀw, constant in the gradient, for the w of the form."""
        return labels - prices if self.form == "adjusted" else labels

    def _renew(self, batch: Batch) -> None:
        """Solve what the batch has that is new, due or misled, each row once."""
        rows, predictions = batch.rows, batch.predictions.detach()
        new = self._kept.missing(rows)
        if new and self.rule == "never":
            self.solve_duals(batch.labels[new], rows[new], purpose="label")
        elif new:
            self.solve_duals(predictions[new], rows[new], purpose="refresh")
        if self.rule == "never" or len(new) == len(rows):
            return
        wanting = self._wanting(rows, predictions)
        if new:
            wanting &= ~torch.isin(rows, rows[new])
        if wanting.any():
            positions = wanting.nonzero().flatten()
            first = positions[first_positions(rows[positions].tolist())]
            self.solve_duals(predictions[first], rows[first], purpose="refresh")

    def _wanting(self, rows: torch.Tensor, predictions: torch.Tensor) -> torch.Tensor:
        """(B,): which instances the rule wants renewed."""
        if self.rule == "step":
            return torch.ones(len(rows), dtype=torch.bool)
        places = self._kept.places(rows)
        if self.rule != "auto":
            return self._kept["renewed"][places] <= self.epoch - int(self.rule)
        constraints = self.constraints.at(rows)
        hard = hard_decisions(predictions, self._kept["prices"][places], constraints)
        spare = constraints.b - constraints.usage(hard)
        allowed = self.delta + rounding(constraints)
        unused = (self._kept["duals"][places] > 0) & (spare > allowed)
        misled: torch.Tensor = broken_rows(spare, constraints) | unused
        misled = misled.where(~constraints.equality, spare.abs() > allowed)
        return misled.any(dim=1)

    def _keep(
        self, rows: torch.Tensor, duals: torch.Tensor, renewed: torch.Tensor | None = None
    ) -> None:
        if renewed is None:
            renewed = torch.full((len(rows),), self.epoch)
        prices = self.constraints.prices(duals)
        self._kept.put(rows, {"duals": duals, "prices": prices, "renewed": renewed})
