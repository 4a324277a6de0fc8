"""LAVA: the best decision should beat its neighbours, and no solver is called in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dglbench.errors import ProblemError
from dglbench.losses.adjacent import adjacent_directions
from dglbench.losses.analytic_gradients import attached
from dglbench.losses.base import DecisionLoss, check_number
from dglbench.losses.batch import Batch
from dglbench.losses.limits import too_large
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver

__all__ = ["LAVA"]


class LAVA(DecisionLoss):
    """Loss via adjacent vertices: x*(y) should look better at ŷ than every vertex next to it,

        Σ_{v next to x*(y)}  max(0, ε + ŷ·(v − x*(y)))

    which at ε = 0 is 0 exactly where x*(y) solves the LP relaxation at ŷ. (The paper writes
    max(−ε, ŷ·(v − x*)), the same up to a constant.) The vertices v come from pivots, once per row
    at its first visit; degenerate vertices have too many bases to visit, and the search ends
    after ``bases`` of them (`dglbench.losses.adjacent`).
    Solver calls: x*(y) once per row, none after.
    Reference: Berden et al., Solver-Free Decision-Focused Learning for Linear Optimization
    Problems, arXiv 2505.22224, 2025.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        margin: float = 0.1,
        bases: int = 50,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        check_number("margin", margin, margin >= 0, "a number ≥ 0")
        check_number("bases", bases, bases >= 1, "a whole number ≥ 1")
        if reason := too_large(problem):
            raise ProblemError(f"vertices of this problem cannot be enumerated: {reason}")
        self.margin, self.bases = margin, bases
        self._next: dict[int, Any] = {}
        """By row: v − x*(y) for all v, a scipy CSR array (n, G·S)."""
        self._same: dict[bytes, Any] = {}

    def batch_loss(self, batch: Batch) -> torch.Tensor:
        """See `DecisionLoss.batch_loss`."""
        listed = batch.rows.tolist()
        if new := [k for k, row in enumerate(listed) if row not in self._next]:
            self.find_neighbours(batch.labels[new], batch.rows[new])
        scores = batch.predictions.detach().numpy().reshape(len(listed), -1)
        gradient, total = np.empty_like(scores), 0.0
        for k, row in enumerate(listed):
            directions = self._next[row]
            short = self.margin + directions @ scores[k]
            active = short > 0.0
            total += float(short[active].sum())
            gradient[k] = directions.T @ active.astype(np.float64)
        slope = torch.from_numpy(gradient).reshape(batch.predictions.shape) / len(listed)
        return attached(batch.predictions, total / len(listed), slope)

    def find_neighbours(self, values: torch.Tensor, rows: torch.Tensor) -> None:
        """Solve the labels of distinct rows, and find the vertices next to their optima."""
        best = self.solver.relax(values, purpose="label", rows=rows).numpy()
        meter = self.solver.meter
        with meter.phase("vertices"):
            for x, row in zip(best, rows.tolist(), strict=True):
                self._next[row] = self._neighbours(x, row)
        meter.count("vertices", sum(self._next[row].shape[0] for row in rows.tolist()))

    def _neighbours(self, x: Any, row: int) -> Any:
        from scipy.sparse import csr_array

        if self.problem.varies:
            return csr_array(adjacent_directions(self.problem.take([row]), x, self.bases))
        key = (x.round(9) + 0.0).tobytes()
        if key not in self._same:
            self._same[key] = csr_array(adjacent_directions(self.problem, x, self.bases))
        return self._same[key]

    def neighbours(self, row: int) -> torch.Tensor:
        """(n, G, S): v − x*(y) for the vertices next to the optimum of a row seen before."""
        dense = self._next[row].toarray()
        return torch.from_numpy(dense).reshape(-1, *self.problem.shape)
