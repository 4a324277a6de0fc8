"""The family of solvers that answer a whole batch at once; every task may supply its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import OptionError
from dglbench.problem import Problem
from dglbench.solvers.base import Solver, SolverFamily

if TYPE_CHECKING:
    from dglbench.task import Task

__all__ = ["Batched", "batched_solver"]


class Batched(SolverFamily):
    """Asks the task: vectorising needs structure that only a task knows to be there.

    The bundled tasks answer with `BatchedMatching` and `BatchedKnapsack`.
    """

    summary: ClassVar[str] = "exact solvers vectorised over the batch; tasks that supply one"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def build(cls, task: Task, problem: Problem) -> Solver:
        """Return the task's own solver, or refuse."""
        solver = task.batched_solver(problem)
        if solver is None:
            raise OptionError(f"task {task.name} has no batched solver; use --solver ortools.")
        if solver.dual_rule != cls.dual_rule:
            raise OptionError(
                f"the batched solver of task {task.name} takes duals by the rule "
                f"'{solver.dual_rule}', the family promises '{cls.dual_rule}'; register it as a "
                "family of its own under dglbench.solvers, or use --solver ortools."
            )
        return solver


def batched_solver(problem: Problem) -> Solver | None:
    """Return the batched solver that fits the problem, or None if its structure has none."""
    from dglbench.solvers.batched_knapsack import BatchedKnapsack
    from dglbench.solvers.batched_matching import BatchedMatching
    from dglbench.solvers.ortools_integer import FlowRule

    if problem.is_knapsack:
        return BatchedKnapsack(problem)
    fits = FlowRule.fits(problem) and bool(problem.mask.all())
    return BatchedMatching(problem) if fits else None
