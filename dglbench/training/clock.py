"""The honest clock: where training seconds go, and how often the solver was called.

The clock runs only between `Clock.start` and `Clock.stop`, around training
work; evaluation and logging happen while it stands still. At any moment exactly
one phase is charged, so the phases add up to the whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dglbench.runs.schemas import PHASES, PURPOSES
from dglbench.solvers.base import Solver

if TYPE_CHECKING:
    import torch

    from dglbench.layers.cvxpylayers import QuadraticLayer

__all__ = ["Clock", "Ledger", "MeteredLayer", "MeteredSolver"]


class Clock:
    """A stopwatch with named phases; a disabled one measures only the total."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._phase = "other"
        self._started = self._mark = 0.0

    def start(self) -> None:
        """Begin a lap with every phase at zero."""
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._phase = "other"
        self._started = self._mark = time.perf_counter()

    def stop(self) -> float:
        """End the lap and return its length in seconds."""
        now = time.perf_counter()
        self.seconds[self._phase] += now - self._mark
        return now - self._started

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Charge the block to a phase, then go back to the phase it interrupted."""
        if not self.enabled:
            yield
            return
        interrupted = self._switch(name)
        try:
            yield
        finally:
            self._switch(interrupted)

    def _switch(self, name: str) -> str:
        now = time.perf_counter()
        before = self._phase
        self.seconds[before] += now - self._mark
        self._phase, self._mark = name, now
        return before


class Ledger:
    """Counts solved instances by purpose, in total and since the last lap."""

    def __init__(self) -> None:
        self.total = dict.fromkeys(PURPOSES, 0)
        self._lap = dict.fromkeys(PURPOSES, 0)

    def count(self, purpose: str, instances: int) -> None:
        """Enter ``instances`` solves."""
        self.total[purpose] += instances
        self._lap[purpose] += instances

    def lap(self) -> dict[str, int]:
        """Return the counts since the last lap and begin a new one."""
        lap, self._lap = self._lap, dict.fromkeys(PURPOSES, 0)
        return lap


class MeteredSolver:
    """A solver that counts and times every call by its purpose; what methods are handed."""

    def __init__(self, solver: Solver, clock: Clock, ledger: Ledger) -> None:
        self._solver, self._clock, self._ledger = solver, clock, ledger

    def decide(self, values: torch.Tensor, *, purpose: str, rows: Any = None) -> torch.Tensor:
        """See `Solver.decide`; ``rows`` are training instances, such as ``batch.rows``."""
        with self._metered(purpose, len(values)):
            return self._solver.decide(values, rows)

    def relax(self, values: torch.Tensor, *, purpose: str, rows: Any = None) -> torch.Tensor:
        """See `Solver.relax`; ``rows`` are training instances, such as ``batch.rows``."""
        with self._metered(purpose, len(values)):
            return self._solver.relax(values, rows)

    def duals(self, values: torch.Tensor, *, purpose: str, rows: Any = None) -> torch.Tensor:
        """See `Solver.duals`; ``rows`` are training instances, such as ``batch.rows``."""
        with self._metered(purpose, len(values)):
            return self._solver.duals(values, rows)

    @contextmanager
    def _metered(self, purpose: str, instances: int) -> Iterator[None]:
        self._ledger.count(purpose, instances)
        with self._clock.phase("refresh" if purpose == "refresh" else "solve"):
            yield


class MeteredLayer:
    """A differentiable layer that counts its solves and times both directions."""

    def __init__(self, layer: QuadraticLayer, clock: Clock, ledger: Ledger) -> None:
        self._layer, self._clock, self._ledger = layer, clock, ledger

    @property
    def failures(self) -> int:
        """How many instances could not be solved so far."""
        return self._layer.failures

    def solve(
        self, values: torch.Tensor, *, purpose: str = "train", rows: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `QuadraticLayer.solve`."""
        self._ledger.count(purpose, len(values))
        with self._clock.phase("solve"):
            return self._layer.solve(values, rows)

    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """See `QuadraticLayer.pull_back`."""
        with self._clock.phase("differentiate"):
            return self._layer.pull_back(direction)
