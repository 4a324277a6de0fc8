"""Solvers for the shared problem, in families found through the group ``dglbench.solvers``."""

from dglbench.errors import OptionError
from dglbench.plugins import find_solver
from dglbench.problem import Problem
from dglbench.solvers.base import Solver, SolverFamily
from dglbench.task import Task

__all__ = ["Solver", "SolverFamily", "evaluation_solver", "make_solver", "solver_for"]


def make_solver(family: str, task: Task, problem: Problem) -> Solver:
    """Build the solver of a family for one problem, or say why there is none."""
    return find_solver(family).build(task, problem)


def evaluation_solver(task: Task, problem: Problem) -> Solver:
    """Return the fastest exact solver, whatever the run's own family: evaluation is not timed.

    It is the same for every run of a task, so that ties at evaluation are broken alike.
    """
    # Imported here, so that its code is part of every run's hash, whatever the run's family.
    from dglbench.solvers.batched import task_solver
    from dglbench.solvers.ortools import OrtoolsSolver

    return task_solver(task, problem) or OrtoolsSolver(problem)


def solver_for(problem: Problem, solver: str | Solver | None = None) -> Solver:
    """Return a solver of a problem that belongs to no task.

    ``solver`` is a family's name, a `Solver` of this problem, or None for the vectorised one if
    the problem has the structure for it, else OR-Tools.
    """
    from dglbench.solvers.batched import Batched, batched_solver

    if isinstance(solver, Solver):
        return solver
    family = find_solver(solver or "ortools")
    vectorised = batched_solver(problem) if solver is None or family is Batched else None
    if vectorised is not None:
        return vectorised
    if not issubclass(family, Solver):
        raise OptionError(
            f"no solver of the family '{solver}' can be built for this problem alone; "
            "use ortools, or pass a Solver."
        )
    return family(problem)
