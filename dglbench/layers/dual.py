"""Smooth decisions through the dual: M multipliers per instance instead of G·S decisions.

    x(y) = argmax  y·x − Ω(x)   over the LP relaxation

is the regulariser's decision at scores y − Aᵀλ, λ the minimum of the smoothed dual
(`dglbench.layers.dual_newton`), which is found for the whole batch at once. Rows F with λ > 0,
and = rows, stay exactly used up as y moves, so the derivative is

    ∂x/∂y = J − J A_Fᵀ (A_F J A_Fᵀ)⁻¹ A_F J

symmetric, one M × M system per instance (`reacting_prices`). Each instance starts from the
multipliers that it ended with when ``rows`` named it last. An instance is solved when no row and no
complementary price is off by more than 1e-9 beside max(1, |b|); `residuals` says how far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dglbench.layers.base import Layer
from dglbench.layers.dual_newton import ACCEPTED, minimise
from dglbench.layers.price_sensitivity import reacting_prices, reacting_rows
from dglbench.layers.regularisers import (
    Entropy,
    Quadratic,
    Regulariser,
    Response,
    apply_response,
)
from dglbench.problem import Array, Problem

if TYPE_CHECKING:
    import torch

__all__ = ["DualEntropy", "DualQuadratic"]


class _DualLayer(Layer):
    """What both regularisers share."""

    warm_starts: ClassVar[bool] = True
    varying_rows: ClassVar[bool] = True
    regulariser: ClassVar[Regulariser]

    def __init__(self, problem: Problem, *, strength: float, threads: int = 1) -> None:
        super().__init__(problem, threads=threads)
        self._strength = strength
        self._last = np.zeros((0, problem.rows))
        self.residuals: Array = np.zeros(0)
        """(K,): of the batch last solved, see `DualPoint.residual`."""
        self.duals: Array = np.zeros((0, problem.rows))
        """(K, M): λ of the batch last solved."""

    def solve(self, values: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """See `Layer.solve`."""
        import torch

        self._at = self.instances(len(values), rows)
        point = minimise(
            self._at,
            values.detach().numpy(),
            self.regulariser,
            self._strength,
            start=self._start(rows),
        )
        self.duals, self.residuals = point.duals, point.residual
        self._solved = point.residual <= ACCEPTED
        self.failures += int((~self._solved).sum())
        self._remember(rows)
        self._x = np.where(self._solved[:, None, None], point.x, 0.0)
        return torch.from_numpy(self._x.copy())

    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """See `Layer.pull_back`; the derivative is symmetric."""
        import torch

        towards = direction.detach().numpy()
        response = self._response()
        structure = self._at.structure
        reacting = reacting_rows(self._at, self.duals)
        prices = reacting_prices(structure, response, towards, reacting)
        gradient = apply_response(response, towards - structure.prices(prices))
        gradient[~self._solved] = 0.0
        return torch.from_numpy(gradient)

    def _response(self) -> Response:
        # A failed instance has x = 0, whose support is empty; its gradient is cleared later.
        x = np.where(self._solved[:, None, None], self._x, self._at.mask)
        return self.regulariser.response(x, self._strength)

    def _start(self, rows: torch.Tensor | None) -> Array | None:
        """Return where each instance ended last time, 0 for those never seen."""
        if rows is None or not len(rows):
            return None
        known = rows.numpy()
        if known.max() >= len(self._last):
            grown = np.zeros((int(known.max()) + 1, self.problem.rows))
            grown[: len(self._last)] = self._last
            self._last = grown
        start: Array = self._last[known]
        return start if start.any() else None

    def _remember(self, rows: Any) -> None:
        if rows is not None and len(rows):
            self._last[rows.numpy()[self._solved]] = self.duals[self._solved]


class DualEntropy(_DualLayer):
    """Ω = τ Σ x log x: a softmax in every group."""

    summary: ClassVar[str] = "entropic regularisation, by Newton steps in the multipliers"
    regulariser: ClassVar[Regulariser] = Entropy()

    def __init__(self, problem: Problem, *, tau: float, threads: int = 1) -> None:
        super().__init__(problem, strength=tau, threads=threads)


class DualQuadratic(_DualLayer):
    """Ω = (μ/2)‖x‖²: a projection on the simplex in every group."""

    summary: ClassVar[str] = "quadratic regularisation, by Newton steps in the multipliers"
    regulariser: ClassVar[Regulariser] = Quadratic()

    def __init__(self, problem: Problem, *, mu: float, threads: int = 1) -> None:
        super().__init__(problem, strength=mu, threads=threads)
