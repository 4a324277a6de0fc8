"""Which solver is vectorised over instances for a problem's structure."""

from __future__ import annotations

from dglbench.problem import Problem
from dglbench.solvers.base import Solver

__all__ = ["batched_solver"]


def batched_solver(problem: Problem) -> Solver | None:
    """Return the batched solver that fits the problem, or None if its structure has none."""
    from dglbench.solvers.batched_knapsack import BatchedKnapsack
    from dglbench.solvers.batched_matching import BatchedMatching
    from dglbench.solvers.batched_paths import BatchedPaths
    from dglbench.solvers.batched_top_k import BatchedTopK

    candidates: tuple[type[Solver], ...] = (
        BatchedPaths,
        BatchedTopK,
        BatchedMatching,
        BatchedKnapsack,
    )
    fitting = (solver for solver in candidates if solver.refuses(problem) is None)
    chosen = next(fitting, None)
    return None if chosen is None else chosen(problem)
