"""Solvers that count and time their own calls: what methods and diagnostics are given."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dglbench.clock import Meter
from dglbench.solvers.base import Solver

if TYPE_CHECKING:
    import torch

__all__ = ["EvaluationSolver", "MeteredSolver"]


class MeteredSolver:
    """A solver that counts and times every call by its purpose; what methods are given."""

    def __init__(self, solver: Solver, meter: Meter) -> None:
        self._solver, self._meter = solver, meter

    @property
    def meter(self) -> Meter:
        """What counts and times it, for work that belongs to its answers."""
        return self._meter

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

    def _metered(self, purpose: str, instances: int) -> AbstractContextManager[None]:
        self._meter.count(purpose, instances)
        return self._meter.phase("refresh" if purpose == "refresh" else "solve")


class EvaluationSolver:
    """The evaluation solver as diagnostics are shown it: every answer counts as ``evaluate``.

    ``rows`` count within one split; ``instances`` are that split's rows of the dataset.
    """

    def __init__(self, solver: Solver, meter: Meter, instances: Any = None) -> None:
        self._solver = MeteredSolver(solver, meter)
        self._split = instances

    def decide(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor:
        """See `Solver.decide`."""
        return self._solver.decide(values, purpose="evaluate", rows=self._instances(rows))

    def relax(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor:
        """See `Solver.relax`."""
        return self._solver.relax(values, purpose="evaluate", rows=self._instances(rows))

    def duals(self, values: torch.Tensor, rows: Any = None) -> torch.Tensor:
        """See `Solver.duals`."""
        return self._solver.duals(values, purpose="evaluate", rows=self._instances(rows))

    def _instances(self, rows: Any) -> Any:
        return rows if rows is None or self._split is None else self._split[list(rows)]
