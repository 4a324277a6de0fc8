"""LODL: a quadratic for each label, fitted to what errors around it cost in decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dglbench.errors import OptionError, ProblemError
from dglbench.losses.base import DecisionLoss, check_number
from dglbench.losses.batch import Batch
from dglbench.losses.kept_optima import check_oracle
from dglbench.losses.lodl_fit import features, fit_quadratics
from dglbench.losses.row_store import ByRow
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver
from dglbench.streams import stream

__all__ = ["LODL"]

_SHAPES = ("quadratic", "directed")
_START = 0.1
"""How large entries of L begin, beside the root of w."""


class LODL(DecisionLoss):
    """A locally optimised decision loss: errors e = p̂ − p weighed by what they cost,

        uᵀ(L Lᵀ + diag w) u + α·MSE

    with u = e in the ``quadratic`` shape; in the ``directed`` one u holds the parts of e above and
    below 0, so that too high and too low weigh differently. L is of low rank and w ≥ 0, so the
    loss is never negative and 0 at the truth. Each row has its own L and w, fitted at its first
    visit: ``samples`` predictions p + ε, ε normal with ``sigma`` times the deviation of that
    label's entries, are decided, their decision losses y·(x*(y) − x(ŷ)) taken, and L and w found
    by least squares (`dglbench.losses.lodl_fit`). Errors are those of what is predicted. The
    paper's directed form has a factor for every pair of signs; here each row of a low-rank factor
    has a sign, which gives every pair of signs its own weight too.
    Solver calls: 1 + ``samples`` per row at its first visit, none after.
    ``draws`` is where the samples come from, or a seed.
    The defaults are lighter than the authors' 5,000 samples and rank 20, and directed: on the
    market knapsack a quadratic, which charges too high like too low, did not improve on its warm
    start at any sigma tried, and a directed one took away more than a quarter of its regret.
    Reference: Shah et al., Decision-Focused Learning without Decision-Making: Learning Locally
    Optimized Decision Losses, 2022.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        shape: str = "directed",
        samples: int = 500,
        sigma: float = 1.0,
        rank: int = 4,
        alpha: float = 0.0,
        oracle: str = "relax",
        draws: np.random.Generator | int = 0,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        if shape not in _SHAPES:
            raise OptionError(f"shape must be one of {', '.join(_SHAPES)}, got {shape!r}.")
        check_number("samples", samples, samples >= 2, "a whole number ≥ 2")
        check_number("sigma", sigma, sigma > 0, "a number > 0")
        check_number("rank", rank, rank >= 1, "a whole number ≥ 1")
        check_number("alpha", alpha, alpha >= 0, "a number ≥ 0")
        check_oracle(oracle)
        self.shape, self.sigma, self.alpha, self.oracle = shape, sigma, alpha, oracle
        generator = stream(draws, "lodl samples") if isinstance(draws, int) else draws
        size = int(np.prod(problem.label_shape))
        # Fits are independent, so all rows may share one set of draws, each in its own unit.
        self._noise = torch.from_numpy(generator.normal(size=(samples, size)))
        width = size * (2 if shape == "directed" else 1)
        self._sign = 1.0 if problem.sense == "maximise" else -1.0
        """Of errors, so that a problem and its mirror image are fitted alike."""
        self._start = torch.from_numpy(generator.normal(size=(width, rank)) * _START)
        self._kept = ByRow()
        self.fit_error = 0.0
        """Squared error on held-out samples of the rows last fitted, as a share of that of the
        plain squared error, scaled to fit."""

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        predicted, truth = batch.parameters, batch.parameter_labels
        if predicted is None or truth is None:
            predicted, truth = batch.predictions, batch.labels
        if new := self._kept.missing(batch.rows):
            self.fit(batch.labels[new], truth[new], batch.rows[new])
        places = self._kept.places(batch.rows)
        error = features(self._sign * (predicted - truth).flatten(1), self.shape)
        across = torch.bmm(error[:, None, :], self._kept["factors"][places]).square().sum()
        along = (self._kept["weights"][places] * error.square()).sum()
        loss = (across + along) / len(batch.rows)
        if self.alpha:
            loss = loss + self.alpha * self.constraints.mse(batch)
        return loss

    def fit(self, values: torch.Tensor, parameters: torch.Tensor, rows: torch.Tensor) -> None:
        """Sample, solve and fit distinct rows, from their scaled labels (values and p)."""
        counted = torch.tensor(self.problem.take(rows.numpy()).counted)
        counted = counted.broadcast_to(parameters.shape).flatten(1)
        flat = parameters.flatten(1)
        number = counted.sum(dim=1).clamp_min(1)
        mean = (flat * counted).sum(dim=1) / number
        spread = ((flat - mean[:, None]).square() * counted).sum(dim=1) / number
        unit = self.sigma * spread.sqrt().clamp_min(1e-5)
        losses = self._decision_losses(values, unit[:, None] * counted, rows)
        with self.solver.meter.phase("fit"):
            fitted, self.fit_error = fit_quadratics(
                features(self._noise, self.shape),
                losses,
                counted.repeat(1, 2) if self.shape == "directed" else counted,
                self._start,
            )
        self.solver.meter.count("fit", len(rows))
        factors = fitted.factors / unit[:, None, None]
        self._kept.put(rows, {"factors": factors, "weights": fitted.weights / unit[:, None] ** 2})

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` saves: every row's L and w, which took many solves to fit."""
        return dict(self._kept.state("factors", "weights"))

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over what was saved, in place of all that is known."""
        self._kept = ByRow()
        if "rows" not in state:
            return
        if state["factors"].shape[1:] != self._start.shape:
            raise ProblemError(
                f"the saved factors have shape {tuple(state['factors'].shape[1:])}, those of this "
                f"loss {tuple(self._start.shape)}; load them into one of the same problem, shape "
                "and rank."
            )
        fitted = {name: state[name].cpu().clone() for name in ("factors", "weights")}
        self._kept.put(state["rows"].cpu(), fitted)

    def _decision_losses(
        self, values: torch.Tensor, unit: torch.Tensor, rows: torch.Tensor
    ) -> torch.Tensor:
        """(B, samples): y·(x*(y) − x(ŷ)), never below 0, at ŷ of p + unit·ε."""
        ask = self.solver.relax if self.oracle == "relax" else self.solver.decide
        best = (values * ask(values, purpose="label", rows=rows)).sum(dim=(1, 2))
        origin = self.problem.values(torch.zeros(1, *self.problem.label_shape, dtype=values.dtype))
        worth = []
        for noise in self._noise:
            error = (self._sign * unit * noise).reshape(-1, *self.problem.label_shape)
            sampled = values + self.problem.values(error) - origin
            chosen = ask(sampled, purpose="label", rows=rows)
            worth.append((values * chosen).sum(dim=(1, 2)))
        return (best[:, None] - torch.stack(worth, dim=1)).clamp_min(0.0)
