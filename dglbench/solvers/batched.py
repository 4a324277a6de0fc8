"""The family of solvers that answer a whole batch at once, by the problem's structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import OptionError
from dglbench.problem import Problem
from dglbench.solvers.base import Solver, SolverFamily

if TYPE_CHECKING:
    from dglbench.task import Task

__all__ = ["Batched", "batched_solver", "task_solver"]


def task_solver(task: Task, problem: Problem) -> Solver | None:
    """Return the task's own batched solver, else the one that fits the problem's structure."""
    return task.batched_solver(problem) or batched_solver(problem)


def batched_solver(problem: Problem) -> Solver | None:
    """Return the batched solver that fits the problem, or None if its structure has none."""
    from dglbench.solvers.batched_knapsack import BatchedKnapsack
    from dglbench.solvers.batched_matching import BatchedMatching
    from dglbench.solvers.batched_paths import BatchedPaths
    from dglbench.solvers.batched_top_k import BatchedTopK
    from dglbench.solvers.batched_ways import BatchedWays

    candidates: tuple[type[Solver], ...] = (
        BatchedPaths,
        BatchedWays,
        BatchedTopK,
        BatchedMatching,
        BatchedKnapsack,
    )
    fitting = (solver for solver in candidates if solver.refuses(problem) is None)
    chosen = next(fitting, None)
    return None if chosen is None else chosen(problem)


class Batched(SolverFamily):
    """The task's own solver, else the one that fits the problem's structure.

    There are `BatchedPaths` (acyclic graphs), `BatchedWays` (graphs with cycles), `BatchedTopK`,
    `BatchedMatching` and `BatchedKnapsack`.
    """

    summary: ClassVar[str] = "exact solvers vectorised over the batch, by the problem's structure"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def build(cls, task: Task, problem: Problem) -> Solver:
        """Return the solver, or refuse."""
        solver = task_solver(task, problem)
        if solver is None:
            raise OptionError(f"task {task.name} has no batched solver; use --solver ortools.")
        if solver.dual_rule != cls.dual_rule:
            raise OptionError(
                f"the batched solver of task {task.name} takes duals by the rule "
                f"'{solver.dual_rule}', the family promises '{cls.dual_rule}'; register it as a "
                "family of its own under dglbench.solvers, or use --solver ortools."
            )
        return solver
