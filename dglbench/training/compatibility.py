"""Whether a run's solver and method can handle its problem, checked before any work is done."""

from __future__ import annotations

from dglbench.errors import OptionError
from dglbench.plugins import find_method, find_task
from dglbench.problem import Problem
from dglbench.solvers import make_solver
from dglbench.training.spec import RunSpec

__all__ = ["check_fit"]


def check_fit(spec: RunSpec, problem: Problem) -> None:
    """Raise a `DglbenchError` of one sentence if the solver or the method refuses the problem."""
    make_solver(spec.solver, find_task(spec.data.task), problem)
    for method in (spec.method, *([spec.lead_in.method] if spec.lead_in else [])):
        reason = find_method(method).cls.refuses(problem)
        if reason:
            raise OptionError(f"method {method} cannot handle {spec.data.setting_name}: {reason}")
