"""CaVE: turn predictions into the cone where the true optimum is optimal; no solver in training."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch

from dglbench.losses.analytic_gradients import attached
from dglbench.losses.base import check_number
from dglbench.losses.batch import Batch
from dglbench.losses.kept_optima import KeptOptima, check_oracle
from dglbench.losses.normal_cone import NormalCone, row_lengths
from dglbench.problem import Array, Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver
from dglbench.streams import stream

__all__ = ["CaVE"]

_INSIDE = 1e-8
"""Values whose residual is below this share of their length lie in the cone."""


class CaVE(KeptOptima):
    """Cone-aligned vector estimation: the angle between ŷ and a point q of the cone N(x*(y)),

        1 − cos(ŷ, q),   N(x) = values for which x solves the relaxation (`normal_cone`)

    Only directions count, so predictions are right up to a factor. By default q is the nearest
    point of the cone (CaVE exact): the loss is 1 − |q|/|ŷ|, with its exact gradient, and 0 where
    x*(y) is optimal at ŷ; so has any value on the border of all cones, such as the normal of a row
    that binds everywhere. With ``steps`` the projection ends after so many Newton steps, and q is
    pushed inside: (1 − inner) q/|q| + inner · (mean unit normal of what binds), unless ŷ lies in
    the cone already (CaVE+). With ``solve_ratio`` below 1 a batch is projected with that
    probability only; else q = (1 − inner) ŷ/|ŷ| + inner · (that mean), the average of the binding
    rows alone (CaVE hybrid). Gradients take q as fixed.

    ``oracle="relax"`` takes x*(y) from the relaxation, ``"decide"`` from the integer problem, as
    the paper does; there no ≤ row may bind, and the cone can miss the labels themselves.
    Solver calls: x*(y) once per row, none after. Projections are timed and counted as
    ``projections``.
    Reference: Tang and Khalil, CaVE: A Cone-Aligned Approach for Fast Predict-then-Optimize with
    Binary Linear Programs, CPAIOR 2024.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        steps: int | None = None,
        inner: float = 0.0,
        solve_ratio: float = 1.0,
        oracle: str = "relax",
        draws: np.random.Generator | None = None,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_oracle(oracle)
        check_number("steps", steps, steps is None or steps >= 1, "a whole number ≥ 1, or None")
        check_number("inner", inner, 0 <= inner <= 1, "a number from 0 to 1")
        check_number("solve_ratio", solve_ratio, 0 <= solve_ratio <= 1, "a number from 0 to 1")
        self.steps, self.inner, self.solve_ratio, self.oracle = steps, inner, solve_ratio, oracle
        self._draws = stream(0, "projections") if draws is None else draws
        self.inexact = 0
        """Projections that ended without reaching the nearest point, where it was wanted."""

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        return attached(batch.predictions, *self.batch_gradient(batch))

    def batch_gradient(self, batch: Batch) -> tuple[float, torch.Tensor]:
        """See `DecisionLoss.batch_gradient`."""
        best = self._best(batch).numpy()
        cone = NormalCone(self.problem.take(batch.rows.numpy()), best)
        values = batch.predictions.detach().numpy()
        differences = cone.differences(values)
        target = self._target(cone, values, differences, batch.rows.numpy())
        length, reach = _length(differences), _length(target)
        defined = (length > 0) & (reach > 0)
        scale = np.where(defined, length * reach, np.inf)
        cosine = (differences * target).sum(axis=(1, 2), keepdims=True) / scale
        slope = np.zeros_like(differences)
        np.divide(cosine * differences, np.square(length), out=slope, where=defined)
        slope -= target / scale
        gradient = cone.gradient(slope) / len(values)
        return float((1.0 - cosine).mean()), torch.from_numpy(gradient)

    def _target(self, cone: NormalCone, values: Array, differences: Array, rows: Array) -> Array:
        """Return q, (B, G, S), up to a positive factor."""
        if self.solve_ratio < 1 and self._draws.random() >= self.solve_ratio:
            return self._inwards(cone, _unit(differences), rows)
        meter = self.solver.meter
        with meter.phase("projections"):
            point, residual, exact = cone.project(values, self.steps)
        meter.count("projections", len(values))
        if self.steps is None:
            self.inexact += int((~exact).sum())
        if not self.inner:
            return point
        inside = _length(residual) <= _INSIDE * _length(differences)
        return np.where(inside, point, self._inwards(cone, _unit(point), rows))

    def _inwards(self, cone: NormalCone, direction: Array, rows: Array) -> Array:
        lengths = self._row_lengths
        mean = cone.average(lengths[rows] if len(lengths) > 1 else lengths)
        inwards: Array = (1.0 - self.inner) * direction + self.inner * mean
        return inwards

    @cached_property
    def _row_lengths(self) -> Array:
        return row_lengths(self.problem)

    def _label_optima(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ask = self.solver.relax if self.oracle == "relax" else self.solver.decide
        return ask(values, purpose="label", rows=rows)


def _length(vectors: Array) -> Array:
    """(B, 1, 1)."""
    length: Array = np.sqrt(np.square(vectors).sum(axis=(1, 2), keepdims=True))
    return length


def _unit(vectors: Array) -> Array:
    length = _length(vectors)
    unit: Array = vectors / np.where(length > 0, length, 1.0)
    return unit
