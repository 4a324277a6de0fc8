"""The family of solvers that answer a whole batch at once; every task may supply its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import OptionError
from dglbench.problem import Problem
from dglbench.solvers.base import Solver, SolverFamily

if TYPE_CHECKING:
    from dglbench.task import Task

__all__ = ["Batched"]


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
