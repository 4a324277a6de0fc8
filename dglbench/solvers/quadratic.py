"""The quadratically regularised relaxation as a differentiable layer, for QPTL.

    x(y) = argmax  y·x − (μ/2)‖x‖²   over the LP relaxation

One cvxpylayers layer is built for the problem, DPP-compliant and in double
precision; each batch only hands it new parameters. diffcp solves with Clarabel,
an interior-point method: as fast here as its default and accurate to 1e-8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["QuadraticLayer", "solver_arguments"]


def solver_arguments(threads: int) -> dict[str, Any]:
    """Return what diffcp is told: which solver, and how many threads for a batch."""
    return {
        "solve_method": "Clarabel",
        "n_jobs_forward": threads,
        "n_jobs_backward": threads,
    }


class QuadraticLayer:
    """Solves for a batch, then pulls gradients with respect to x back to y.

    An instance that cannot be solved gets x = 0 and a zero gradient, and is
    counted in `failures`.
    """

    def __init__(self, problem: Problem, mu: float, threads: int = 1) -> None:
        import cvxpy as cp
        from cvxpylayers.torch import CvxpyLayer

        self._mask = problem.mask.ravel()
        self._shape = problem.mask.shape
        count = int(self._mask.sum())
        group = np.repeat(np.arange(problem.groups), problem.options)[self._mask]
        pick_one = (np.arange(problem.groups)[:, None] == group).astype(np.float64)

        values, x = cp.Parameter(count), cp.Variable(count)
        program = cp.Problem(
            cp.Maximize(values @ x - mu / 2 * cp.sum_squares(x)),
            [problem.flat_A[:, self._mask] @ x <= problem.b, pick_one @ x == 1, x >= 0],
        )
        self._layer = CvxpyLayer(
            program, parameters=[values], variables=[x], solver_args=solver_arguments(threads)
        )
        self.failures = 0
        self._solved: list[tuple[Any, torch.Tensor, torch.Tensor]] = []
        self._batch = 0

    def solve(self, values: torch.Tensor) -> torch.Tensor:
        """Return x(y) for values of shape (K, G, S), without gradient; see `pull_back`."""
        import torch

        flat = values.detach().reshape(len(values), -1)[:, self._mask]
        self._batch = len(values)
        try:
            self._solved = [self._run(slice(None), flat)]
        except Exception:  # diffcp raises bare solver exceptions; find the instance alone
            self._solved = [part for row in range(len(flat)) for part in self._run_alone(row, flat)]
        x = torch.zeros((self._batch, self._mask.size), dtype=values.dtype)
        for rows, _, solution in self._solved:
            x[rows] = self._spread(solution.detach())
        return x.reshape(self._batch, *self._shape)

    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """Return (∂x/∂y)ᵀ direction for the batch last solved; both are (K, G, S)."""
        import torch

        flat = direction.reshape(self._batch, -1)[:, self._mask]
        gradient = torch.zeros((self._batch, self._mask.size), dtype=direction.dtype)
        for rows, inputs, solution in self._solved:
            (part,) = torch.autograd.grad(solution, inputs, flat[rows])
            gradient[rows] = self._spread(part)
        self._solved = []
        return gradient.reshape(self._batch, *self._shape)

    def _run(self, rows: Any, flat: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor]:
        inputs = flat[rows].clone().requires_grad_()
        (solution,) = self._layer(inputs)
        if not solution.isfinite().all():
            raise ArithmeticError("the solver returned non-finite values")
        return rows, inputs, solution

    def _run_alone(
        self, row: int, flat: torch.Tensor
    ) -> list[tuple[Any, torch.Tensor, torch.Tensor]]:
        try:
            return [self._run(slice(row, row + 1), flat)]
        except Exception:  # counted here, reported with the run
            self.failures += 1
            return []

    def _spread(self, existing: torch.Tensor) -> torch.Tensor:
        """Put values of existing options back among the padding."""
        if self._mask.all():
            return existing
        import torch

        full = torch.zeros((len(existing), self._mask.size), dtype=existing.dtype)
        full[:, torch.from_numpy(self._mask)] = existing
        return full
