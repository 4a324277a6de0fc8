"""The quadratically regularised relaxation as a differentiable layer, by cvxpylayers.

    x(y) = argmax  y·x − (μ/2)‖x‖²   over the LP relaxation

One cvxpylayers layer is built for the problem, DPP-compliant and in double
precision; each batch only gives it new parameters. diffcp solves with Clarabel, an
interior-point method, as fast here as its default. cvxpylayers passes on a cone
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
from dglbench.structure.matrices import pick_one

if TYPE_CHECKING:
    import torch

__all__ = ["CvxpylayersQuadratic", "solver_arguments"]

_TOLERANCE = 1e-4
"""A solution that breaks a constraint by more than this is none."""


def solver_arguments(threads: int) -> dict[str, Any]:
    """Return the options for diffcp: which solver, and how many threads per batch."""
    return {
        "solve_method": "Clarabel",
        "n_jobs_forward": threads,
        "n_jobs_backward": threads,
    }


class CvxpylayersQuadratic(Layer):
    """Solves a cone program per instance, and differentiates through its optimality conditions."""

    summary: ClassVar[str] = "quadratic regularisation, through cvxpylayers, diffcp and Clarabel"

    def __init__(self, problem: Problem, *, mu: float, threads: int = 1) -> None:
        import cvxpy as cp
        import torch
        from cvxpylayers.torch import CvxpyLayer

        super().__init__(problem, threads=threads)
        exists = problem.ever.ravel()
        self._exists = torch.tensor(exists)
        self._shape = problem.shape
        count = int(exists.sum())
        kept = np.flatnonzero(exists)
        picked, rows = pick_one(problem.shape)[:, kept], problem.matrix[:, kept]
        # A row that no choice can use up says nothing, but a huge b drowns the others in diffcp's
        # derivative, which then comes out as 0.
        binding = (problem.b < problem.most_use).reshape(-1, problem.rows).any(axis=0)
        exact = np.flatnonzero(problem.equality)
        limits = np.flatnonzero(~problem.equality & binding)

        values, x = cp.Parameter(count), cp.Variable(count)
        # What differs by instance is a parameter of the program; the rest is built in.
        b = cp.Parameter(problem.rows) if problem.b.ndim == 2 else problem.b
        upper = cp.Parameter(count) if problem.mask.ndim == 3 else None
        constraints = [picked @ x == 1, x >= 0]
        if limits.size:
            constraints.insert(0, rows[limits] @ x <= b[limits])
        if exact.size:
            constraints.append(rows[exact] @ x == b[exact])
        if upper is not None:
            constraints.append(x <= upper)
        program = cp.Problem(cp.Maximize(values @ x - mu / 2 * cp.sum_squares(x)), constraints)
        self._varying = [part for part in (b, upper) if isinstance(part, cp.Parameter)]
        self._layer = CvxpyLayer(
            program,
            parameters=[values, *self._varying],
            variables=[x],
            solver_args=solver_arguments(threads),
        )
        self._parts: list[tuple[slice, torch.Tensor, torch.Tensor]] = []
        self._solved = torch.ones(0, dtype=torch.bool)

    def solve(self, values: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """See `Layer.solve`."""
        import diffcp
        import torch

        at = self.instances(len(values), rows)
        self._given = self._instance_data(at)
        flat = values.detach().reshape(len(values), -1)[:, self._exists]
        try:
            self._parts = [self._run(slice(None), flat)]
        except diffcp.SolverError:  # one bad instance fails its whole batch: find it
            self._parts = []
            for row in range(len(flat)):
                with contextlib.suppress(diffcp.SolverError):
                    self._parts.append(self._run(slice(row, row + 1), flat))
        x = torch.zeros_like(flat)
        for part, _, solution in self._parts:
            x[part] = solution.detach()
        self._solved = self._feasible(x, at)
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
        (solution,) = self._layer(inputs, *(part[rows] for part in self._given))
        return rows, inputs, solution

    def _instance_data(self, at: Problem) -> list[torch.Tensor]:
        """Return b (K, M) and the upper ends of x (K, options), those of them that vary."""
        import torch

        given = []
        if at.b.ndim == 2:
            given.append(torch.tensor(at.b))
        if at.mask.ndim == 3:
            flat = torch.tensor(at.mask, dtype=torch.float64).reshape(len(at.mask), -1)
            given.append(flat[:, self._exists])
        return given

    def _feasible(self, x: torch.Tensor, at: Problem) -> torch.Tensor:
        """Say which rows are solutions: diffcp does not pass Clarabel's status on."""
        import torch

        full = self._spread(x)
        over = at.structure.usage(full) - torch.tensor(at.b)
        off = over.where(~torch.tensor(at.equality), over.abs())
        picked = ((full.sum(dim=2) - 1.0).abs() < _TOLERANCE).all(dim=1)
        within = (off < _TOLERANCE).all(dim=1)
        outside = full.masked_fill(torch.tensor(at.mask), 0.0).abs().amax(dim=(1, 2))
        positive = (x > -_TOLERANCE).all(dim=1)
        solved: torch.Tensor = picked & within & positive & (outside < _TOLERANCE)
        return solved  # False for NaN

    def _spread(self, existing: torch.Tensor) -> torch.Tensor:
        """Put values of existing options back among the padding, as (K, G, S)."""
        import torch

        full = torch.zeros((len(existing), self._exists.numel()), dtype=existing.dtype)
        full[:, self._exists] = existing
        return full.reshape(len(existing), *self._shape)
