"""What a layer is: smooth decisions x(y) for a batch, and gradients pulled back through them.

A method names the layers it uses (`Method.layers`) and gets them, counted and
timed, from ``training.layer(name, mu=…)``. Register a subclass of `Layer` under the
entry-point group ``dglbench.layers`` and every method can ask for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import ProblemError, SolverError
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

    from dglbench.clock import Meter

__all__ = ["Layer", "MeteredLayer"]


class Layer(ABC):
    """Smooth decisions over the LP relaxation, from values of shape (K, G, S).

    Built once per run from the problem, the run's threads, and options of its own such as
    μ or τ, all by keyword. Padding is ignored in what comes in and 0 in what goes out.
    An instance that cannot be solved gets x = 0 and a zero gradient, and is counted in
    `failures`.
    """

    summary: ClassVar[str] = ""
    """One line for ``dglbench list``."""
    warm_starts: ClassVar[bool] = False
    """Whether it starts an instance from where it ended last time, and so needs its row."""

    varying_rows: ClassVar[bool] = False
    """Whether it serves problems whose A differs by instance."""

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """Say in one sentence why this layer cannot serve the problem; None if it can."""
        if problem.rows_vary and not cls.varying_rows:
            return (
                f"{cls.__name__} needs one A for all instances, and here A differs by instance; "
                "use the layers dual-quadratic or dual-entropy (such as in qptl-dual)."
            )
        return None

    def __init__(self, problem: Problem, *, threads: int = 1) -> None:
        if reason := self.refuses(problem):
            raise ProblemError(reason)
        self.problem, self.threads = problem, threads
        self.failures = 0

    @abstractmethod
    def solve(self, values: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Return x(y), (K, G, S), without gradient; see `pull_back`.

        ``rows`` says which instances these are, where the problem's differ: see `instances`.
        """

    def instances(self, count: int, rows: torch.Tensor | None) -> Problem:
        """Return the problem of ``count`` instances; refuse if it is not said which they are."""
        if not self.problem.varies:
            return self.problem
        if rows is None or len(rows) != count:
            raise SolverError(
                "the rows, capacities or options of this problem differ by instance, so the layer "
                "must know which instances these are; pass rows=, such as batch.rows."
            )
        return self.problem.take(rows.numpy())

    @abstractmethod
    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """Return (∂x/∂y)ᵀ direction for the batch last solved; both are (K, G, S)."""


class MeteredLayer:
    """A layer that counts its solves and times both directions; what methods are given."""

    def __init__(self, layer: Layer, meter: Meter) -> None:
        self._layer, self._meter = layer, meter

    @property
    def failures(self) -> int:
        """How many instances could not be solved so far."""
        return self._layer.failures

    def solve(
        self, values: torch.Tensor, *, purpose: str = "train", rows: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `Layer.solve`; ``rows`` are training instances, such as ``batch.rows``."""
        self._meter.count(purpose, len(values))
        with self._meter.phase("solve"):
            if self._layer.problem.varies or self._layer.warm_starts:
                return self._layer.solve(values, rows)
            return self._layer.solve(values)

    def pull_back(self, direction: torch.Tensor) -> torch.Tensor:
        """See `Layer.pull_back`."""
        with self._meter.phase("differentiate"):
            return self._layer.pull_back(direction)
