"""The quadratically regularised relaxation as a differentiable layer, by cvxpylayers.

    x(y) = argmax  y·x − (μ/2)‖x‖²   over the LP relaxation

One cvxpylayers layer is built for the problem, DPP-compliant and in double
precision; each batch only hands it new parameters. diffcp solves with Clarabel, an
interior-point method, as fast here as its default. cvxpylayers hands over a cone
program, in which the square is a second-order cone: beside the same program solved as a
quadratic one with tolerances of 1e-13, x is off by about 1e-4 at worst (5e-4 seen at μ = 0.1)
and 1e-5 to 3e-5 in the median, however tight the solver's own tolerances of 1e-8 sound.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dglbench.layers.base import Layer
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["CvxpylayersQuadratic", "solver_arguments"]

_TOLERANCE = 1e-4
"""A solution that breaks a constraint by more than this is none."""


def solver_arguments(threads: int) -> dict[str, Any]:
    """Return what diffcp is told: which solver, and how many threads for a batch."""
    return {
        "solve_method": "Clarabel",
        "n_jobs_forward": threads,
        "n_jobs_backward": threads,
    }


class CvxpylayersQuadratic(Layer):
    """Solves one cone program an instance, and differentiates through its optimality conditions."""

    summary: ClassVar[str] = "quadratic regularisation, through cvxpylayers, diffcp and Clarabel"

    def __init__(self, problem: Problem, *, mu: float, threads: int = 1) -> None:
        import cvxpy as cp
        import torch
        from cvxpylayers.torch import CvxpyLayer

        super().__init__(problem, threads=threads)
        exists = problem.mask.ravel()
        self._exists = torch.tensor(exists)
        self._shape = problem.mask.shape
        count = int(exists.sum())
        group = np.repeat(np.arange(problem.groups), problem.options)[exists]
        pick_one = (np.arange(problem.groups)[:, None] == group).astype(np.float64)
        # A row that no choice can use up says nothing, but a huge b drowns the others in diffcp's
        # derivative, which then comes out as 0.
        binding = problem.b < problem.most_use
        rows, b = problem.flat_A[binding][:, exists], problem.b[binding]

        values, x = cp.Parameter(count), cp.Variable(count)
        program = cp.Problem(
            cp.Maximize(values @ x - mu / 2 * cp.sum_squares(x)),
            [*([rows @ x <= b] if binding.any() else []), pick_one @ x == 1, x >= 0],
        )
        self._layer = CvxpyLayer(
            program, parameters=[values], variables=[x], solver_args=solver_arguments(threads)
        )
        self._rows, self._b, self._pick_one = (torch.tensor(part) for part in (rows, b, pick_one))
        self._parts: list[tuple[slice, torch.Tensor, torch.Tensor]] = []
        self._solved = torch.ones(0, dtype=torch.bool)

    def solve(self, values: torch.Tensor) -> torch.Tensor:
        """See `Layer.solve`."""
        import diffcp
        import torch

        flat = values.detach().reshape(len(values), -1)[:, self._exists]
        try:
            self._parts = [self._run(slice(None), flat)]
        except diffcp.SolverError:  # one bad instance fails its whole batch: find it
            self._parts = []
            for row in range(len(flat)):
                with contextlib.suppress(diffcp.SolverError):
                    self._parts.append(self._run(slice(row, row + 1), flat))
        x = torch.zeros_like(flat)
        for rows, _, solution in self._parts:
            x[rows] = solution.detach()
        self._solved = self._feasible(x)
        self.failures += int((~self._solved).sum())
        x[~self._solved] = 0.0
        return self._spread(x)

    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """See `Layer.pull_back`."""
        import torch

        flat = direction.reshape(len(direction), -1)[:, self._exists]
        gradient = torch.zeros_like(flat)
        for rows, inputs, solution in self._parts:
            (gradient[rows],) = torch.autograd.grad(solution, inputs, flat[rows])
        gradient[~self._solved] = 0.0
        self._parts = []
        return self._spread(gradient)

    def _run(self, rows: slice, flat: torch.Tensor) -> tuple[slice, torch.Tensor, torch.Tensor]:
        inputs = flat[rows].clone().requires_grad_()
        (solution,) = self._layer(inputs)
        return rows, inputs, solution

    def _feasible(self, x: torch.Tensor) -> torch.Tensor:
        """Say which rows are solutions: diffcp does not pass Clarabel's status on."""
        picked = ((x @ self._pick_one.T - 1.0).abs() < _TOLERANCE).all(dim=1)
        within = (x @ self._rows.T < self._b + _TOLERANCE).all(dim=1)
        return picked & within & (x > -_TOLERANCE).all(dim=1)  # False for NaN

    def _spread(self, existing: torch.Tensor) -> torch.Tensor:
        """Put values of existing options back among the padding, as (K, G, S)."""
        import torch

        full = torch.zeros((len(existing), self._exists.numel()), dtype=existing.dtype)
        full[:, self._exists] = existing
        return full.reshape(len(existing), *self._shape)
