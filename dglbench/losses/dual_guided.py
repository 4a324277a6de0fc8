"""The Dual-Guided Loss: solve now and then, let dual variables guide the steps between.

The paper's symbols: λ duals, h dual-adjusted scores, z̃ soft decisions, τ
temperature, U refresh period, δ tolerance. Reference: Rodriguez-Diaz, Bansak
and Paulson, A Dual Perspective on Decision-Focused Learning, 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dglbench.errors import OptionError, ProblemError
from dglbench.layers.dual_newton import DualPoint
from dglbench.layers.regularisers import softmax_pull
from dglbench.losses.analytic_gradients import (
    attached,
    below,
    by_option,
    soft_at,
    squared_error,
)
from dglbench.losses.base import DecisionLoss, check_number
from dglbench.losses.batch import Batch
from dglbench.losses.decisions import broken_rows, hard_decisions, rounding, soft_decisions
from dglbench.losses.reactive import reaction_to, smoothed_duals, tracked_duals
from dglbench.losses.row_store import ByRow, checked_rows, first_positions
from dglbench.problem import Array, Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver

__all__ = ["DualGuidedLoss"]

_FORMS = ("adjusted", "plain", "reactive")
_RULES = ("never", "auto", "step", "newton")


class DualGuidedLoss(DecisionLoss):
    """Soft decisions at the prices of an optimum, weighed by what they are truly worth:

        −(1/G) Σ_g (y − Aᵀw)_g · z̃_g  +  α·MSE,   z̃_g = softmax((ŷ − Aᵀλ)_g / τ)

    with w = λ in the ``adjusted`` form and w = 0 in the ``plain`` one. λ and w carry no
    gradient. In the ``reactive`` form w is how prices answer to the predictions
    (`dglbench.losses.reactive`), λ that of the smoothed problem at τ, to which a few Newton
    steps lead from the solver's, and the loss shown is −(1/G) y·z̃.

    Each row keeps its own λ, solved at its first visit and renewed by ``refresh``:

    - ``"never"``: λ is that of the labels throughout.
    - U, a whole number: λ of the predictions, renewed at the first visit once it is U epochs
      old; `start_epoch` counts them.
    - ``"auto"``: renewed where it misleads: where the argmax decision z at ŷ − Aᵀλ breaks
      A z ≤ b, or leaves more than ``delta`` unused on a row of A with λ > 0 (a row that costs
      something should be used up; a free one may stay slack), both beyond rounding.
      A row that must be met exactly misleads when A z is more than ``delta`` off b. In the
      reactive form the soft decision is asked instead, and may break a row by ``delta``: the
      argmax at smoothed prices need not be feasible.
    - ``"step"``: renewed at every visit.
    - ``"newton"``, in the reactive form only: followed by at most ``newton_steps`` Newton steps
      at every visit; no solver is called after the first.

    `refresh` renews duals on request. ``solver`` is a family's name, a `Solver`, or None for the
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
        newton_steps: int = 1,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_number("tau", tau, tau > 0, "a number > 0")
        check_number("alpha", alpha, alpha >= 0, "a number ≥ 0")
        check_number("delta", delta, delta >= 0, "a number ≥ 0")
        check_number("newton_steps", newton_steps, newton_steps >= 1, "a whole number ≥ 1")
        if form not in _FORMS:
            raise OptionError(f"form must be one of {', '.join(_FORMS)}, got {form!r}.")
        counts = isinstance(refresh, int) and not isinstance(refresh, bool) and refresh >= 1
        if not counts and refresh not in _RULES:
            raise OptionError(
                f"refresh must be {', '.join(_RULES)} or a number of epochs ≥ 1, got {refresh!r}."
            )
        if refresh == "newton" and form != "reactive":
            raise OptionError(
                f"refresh=newton follows the prices of the reactive form, got form {form!r}; "
                "take form=reactive, or another refresh."
            )
        self.tau, self.alpha, self.form, self.delta = tau, alpha, form, delta
        self.newton_steps = newton_steps
        self.rule = refresh
        self.epoch = 0
        self._kept = ByRow()

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        loss = attached(batch.predictions, *self._closed_form(batch))
        if self.alpha and not self._errors_of_values(batch):
            loss = loss + self.alpha * self.constraints.mse(batch)
        return loss

    def batch_gradient(self, batch: Batch) -> tuple[float, torch.Tensor] | None:
        """See `DecisionLoss.batch_gradient`."""
        if self.alpha and not self._errors_of_values(batch):
            return None
        return self._closed_form(batch)

    def _errors_of_values(self, batch: Batch) -> bool:
        """Whether squared errors are those of option values; others are left to autograd."""
        return self.problem.value_map.matrix is None and (
            batch.parameters is None or batch.parameters is batch.predictions
        )

    def _closed_form(self, batch: Batch) -> tuple[float, torch.Tensor]:
        """Return the loss and its gradient, without squared errors of parameters."""
        problem = self.constraints.at(batch.rows).problem
        predictions = batch.predictions.detach().to(torch.float64)
        values, labels = predictions.numpy(), batch.labels.to(torch.float64).numpy()
        followed = self._renew(batch, predictions)
        if followed is not None:
            duals, soft = followed.duals, by_option(followed.x)
        else:
            duals = self._kept.numbers("duals", batch.rows)
            prices = problem.prices(duals)
            soft = soft_at(problem, values, prices, self.tau)
        if self.form == "adjusted":
            lacking = shown = below(prices, labels)
        else:
            lacking = shown = np.negative(by_option(labels), order="C")
            if self.form == "reactive":
                lacking = shown - reaction_to(problem, soft, shown, duals)
        share = 1.0 / (len(labels) * problem.groups)
        value = share * float(np.vdot(shown, soft))
        pull = softmax_pull(soft, lacking)
        if self.alpha and self._errors_of_values(batch):
            error, gradient = squared_error(problem, values, labels, self.alpha)
            value += error
            pull *= share / self.tau
            gradient += pull.transpose(1, 2, 0)
        else:
            gradient = np.multiply(pull.transpose(1, 2, 0), share / self.tau, order="C")
        return value, torch.from_numpy(gradient)

    def start_epoch(self) -> None:
        """Count an epoch: duals age by it."""
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
        duals = self.solver.duals(values, purpose=purpose, rows=rows)
        if self.form == "reactive":
            meter = self.solver.meter
            with meter.phase("refresh" if purpose == "refresh" else "solve"):
                at = self.constraints.at(rows).problem
                point = smoothed_duals(at, values.numpy(), self.tau, duals.numpy())
            meter.count("newton_steps", point.steps)
            duals = torch.from_numpy(point.duals)
        self._keep(rows, duals)

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

    def _renew(self, batch: Batch, predictions: torch.Tensor) -> DualPoint | None:
        """Solve what the batch has that is new, due or misled, each row once.

        Return λ of the batch and its soft decisions if they come together.
        """
        rows = batch.rows
        new = self._kept.missing(rows)
        if new and self.rule == "never":
            self.solve_duals(batch.labels[new], rows[new], purpose="label")
        elif new:
            self.solve_duals(predictions[new], rows[new], purpose="refresh")
        if self.rule == "never" or len(new) == len(rows):
            return None
        if self.rule == "newton":
            return self._track(rows, predictions.numpy())
        wanting = self._wanting(rows, predictions)
        if new:
            wanting &= ~torch.isin(rows, rows[new])
        if wanting.any():
            positions = wanting.nonzero().flatten()
            first = positions[first_positions(rows[positions].tolist())]
            self.solve_duals(predictions[first], rows[first], purpose="refresh")
        return None

    def _wanting(self, rows: torch.Tensor, predictions: torch.Tensor) -> torch.Tensor:
        """(B,): which instances the rule wants renewed."""
        if self.rule == "step":
            return torch.ones(len(rows), dtype=torch.bool)
        places = self._kept.places(rows)
        if self.rule != "auto":
            return self._kept["renewed"][places] <= self.epoch - int(self.rule)
        constraints = self.constraints.at(rows)
        prices = constraints.prices(self._kept["duals"][places])
        allowed = self.delta + rounding(constraints)
        if self.form == "reactive":
            soft = soft_decisions(predictions, prices, self.tau, constraints)
            spare = constraints.b - constraints.usage(soft)
            broken = spare < -allowed
        else:
            hard = hard_decisions(predictions, prices, constraints)
            spare = constraints.b - constraints.usage(hard)
            broken = broken_rows(spare, constraints)
        unused = (self._kept["duals"][places] > 0) & (spare > allowed)
        misled: torch.Tensor = broken | unused
        misled = misled.where(~constraints.equality, spare.abs() > allowed)
        return misled.any(dim=1)

    def _track(self, rows: torch.Tensor, values: Array) -> DualPoint | None:
        """Follow λ of these rows by Newton steps; a row that comes twice counts once."""
        listed = rows.tolist()
        all_differ = len(set(listed)) == len(listed)
        first = [] if all_differ else first_positions(listed)
        at = rows if all_differ else rows[first]
        meter = self.solver.meter
        with meter.phase("refresh"):
            point = tracked_duals(
                self.constraints.at(at).problem,
                values if all_differ else values[first],
                self.tau,
                self._kept.numbers("duals", at),
                self.newton_steps,
            )
            self._keep(at, point.duals)
        meter.count("newton_steps", point.steps)
        return point if all_differ else None

    def _keep(
        self,
        rows: torch.Tensor,
        duals: torch.Tensor | Array,
        renewed: torch.Tensor | None = None,
    ) -> None:
        age = self.epoch if renewed is None else renewed
        self._kept.put(rows, {"duals": duals, "renewed": age})
