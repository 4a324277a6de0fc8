"""Solvers for the shared problem: ``ortools`` for any task, ``batched`` where structure allows."""

from dglbench.errors import OptionError
from dglbench.problem import Problem
from dglbench.solvers.base import Solver
from dglbench.task import Task

__all__ = ["DUAL_RULES", "FAMILIES", "Solver", "evaluation_solver", "make_solver"]

FAMILIES = {
    "ortools": "OR-Tools: GLOP for relaxations and duals, exact integer solvers; any task",
    "batched": "exact solvers vectorised over the batch; tasks that supply one",
}

DUAL_RULES = {"ortools": "vertex", "batched": "centre"}
"""Which dual optimum a family takes where there are several; its solvers explain theirs."""


def make_solver(family: str, task: Task, problem: Problem) -> Solver:
    """Build the solver of a family for one problem."""
    if family == "ortools":
        from dglbench.solvers.ortools import OrtoolsSolver

        return OrtoolsSolver(problem)
    if family == "batched":
        solver = task.batched_solver(problem)
        if solver is None:
            raise OptionError(f"task {task.name} has no batched solver; use --solver ortools.")
        return solver
    raise OptionError(f"there is no solver '{family}'; there are {', '.join(FAMILIES)}.")


def evaluation_solver(task: Task, problem: Problem) -> Solver:
    """Return the fastest exact solver, whatever the run's own family: evaluation is off the clock.

    It is the same for every run of a task, so that ties at evaluation fall the same way.
    """
    return task.batched_solver(problem) or make_solver("ortools", task, problem)
