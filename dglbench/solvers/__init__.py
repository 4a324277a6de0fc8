"""Solvers for the shared problem, in families found through the group ``dglbench.solvers``."""

from dglbench.plugins import find_solver
from dglbench.problem import Problem
from dglbench.solvers.base import Solver, SolverFamily
from dglbench.task import Task

__all__ = ["Solver", "SolverFamily", "evaluation_solver", "make_solver"]


def make_solver(family: str, task: Task, problem: Problem) -> Solver:
    """Build the solver of a family for one problem, or say why there is none."""
    return find_solver(family).build(task, problem)


def evaluation_solver(task: Task, problem: Problem) -> Solver:
    """Return the fastest exact solver, whatever the run's own family: evaluation is off the clock.

    It is the same for every run of a task, so that ties at evaluation fall the same way.
    """
    # By import, not by name: its code then counts to every run's, whatever the run's family.
    from dglbench.solvers.ortools import OrtoolsSolver

    return task.batched_solver(problem) or OrtoolsSolver(problem)
