"""SPO+ with solution caching: most batches look among decisions that were optimal before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dglbench.errors import ProblemError
from dglbench.losses.base import check_number
from dglbench.losses.limits import no_cache
from dglbench.losses.spo_plus import SPOPlus
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver
from dglbench.streams import stream

__all__ = ["CachedSPOPlus"]


class CachedSPOPlus(SPOPlus):
    """SPO+ over a cache V of feasible decisions, with a solver only now and then:

        max_{x ∈ V} (2ŷ − y)·x  −  2ŷ·x*(y)  +  y·x*(y)   ≥ 0

    V begins with x*(y) of the labels. For each batch one number is drawn: with probability
    ``solve_ratio`` the batch is solved as in `SPOPlus` and its optima join V, else the best of V
    is taken, an inner approximation of the feasible set. ``solve_ratio=1`` is SPO+ itself.
    Solver calls: x*(y) once per row, then ``solve_ratio`` per instance and step on average.
    ``draws`` is where the numbers come from, or a seed. Needs one feasible set for all instances.
    Reference: Mulamba et al., Contrastive Losses and Solution Caching for
    Predict-and-Optimize, 2021.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        solve_ratio: float = 0.05,
        oracle: str = "relax",
        draws: np.random.Generator | int = 0,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, oracle=oracle, solver=solver, label_scale=label_scale)
        check_number("solve_ratio", solve_ratio, 0 <= solve_ratio <= 1, "a number from 0 to 1")
        if reason := no_cache(problem):
            raise ProblemError(f"this problem cannot be trained with a cache: {reason}")
        self.solve_ratio = solve_ratio
        self._draws = stream(draws, "solution cache") if isinstance(draws, int) else draws
        self._known: set[bytes] = set()
        self._pool = torch.empty((0, problem.size), dtype=torch.float64)
        self._used = 0

    @property
    def cached(self) -> torch.Tensor:
        """(n, G, S): the distinct decisions in the cache, in the order they were found."""
        return self._pool[: self._used].reshape(-1, *self.problem.shape)

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` saves: every row's x*(y), and the cache."""
        return {**super().get_extra_state(), "cached": self.cached.clone()}

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over what was saved, in place of all that is known."""
        super().set_extra_state(state)
        self._known, self._used = set(), 0
        self._add(state["cached"].cpu().flatten(1))

    def _worst(self, spread: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        if self._draws.random() < self.solve_ratio:
            return super()._worst(spread, rows)
        meter = self.solver.meter
        meter.count("cache", len(rows))
        with meter.phase("cache"):
            pool = self._pool[: self._used]
            return pool[(spread.flatten(1) @ pool.T).argmax(dim=1)].reshape(spread.shape)

    def _optima(self, values: torch.Tensor, rows: torch.Tensor, purpose: str) -> torch.Tensor:
        found = super()._optima(values, rows, purpose)
        self._add(found.flatten(1))
        return found

    def _add(self, found: torch.Tensor) -> None:
        """Keep what is new; solvers differ in the last digits of one and the same vertex."""
        new = []
        for position, decision in enumerate(found.numpy().round(9) + 0.0):  # no −0
            key = decision.tobytes()
            if key not in self._known:
                self._known.add(key)
                new.append(position)
        end = self._used + len(new)
        if end > len(self._pool):
            larger = self._pool.new_empty((2 * end, self.problem.size))
            larger[: self._used] = self._pool[: self._used]
            self._pool = larger
        self._pool[self._used : end] = found[new]
        self._used = end
