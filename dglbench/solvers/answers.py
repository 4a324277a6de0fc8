"""Exact answers about one problem, for numpy and torch alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dglbench.errors import ProblemError
from dglbench.problem import Array, Problem
from dglbench.solvers import Solver, solver_for

if TYPE_CHECKING:
    import torch

__all__ = ["decide", "duals"]


@overload
def decide(
    problem: Problem, values: torch.Tensor, *, rows: Any = None, solver: str | Solver | None = None
) -> torch.Tensor: ...
@overload
def decide(
    problem: Problem, values: Any, *, rows: Any = None, solver: str | Solver | None = None
) -> Array: ...
def decide(
    problem: Problem, values: Any, *, rows: Any = None, solver: str | Solver | None = None
) -> Any:
    """Return the best decisions for values or predictions: 0 and 1, (K, G, S).

    ``values`` have the shape, sense and unit of the problem's labels: (K, G, S) option values
    or (K, P) parameters, or those of one instance without the K. Where b or the options
    differ by instance, ``rows`` says which instances these are. ``solver`` is a family's
    name, a `Solver`, or None for the fastest exact one.
    """
    return _answer("decide", problem, values, rows, solver)


@overload
def duals(
    problem: Problem, values: torch.Tensor, *, rows: Any = None, solver: str | Solver | None = None
) -> torch.Tensor: ...
@overload
def duals(
    problem: Problem, values: Any, *, rows: Any = None, solver: str | Solver | None = None
) -> Array: ...
def duals(
    problem: Problem, values: Any, *, rows: Any = None, solver: str | Solver | None = None
) -> Any:
    """Return the prices λ of the rows of A at an optimum of the LP relaxation, (K, M).

    What one more unit of b is worth, in the unit of the values: ≥ 0 on ≤ rows, of either sign on
    = rows, also where the problem minimises. The arguments are those of `decide`; which of
    several optimal λ is taken is the solver's rule.
    """
    return _answer("duals", problem, values, rows, solver)


def _answer(
    question: str, problem: Problem, values: Any, rows: Any, solver: str | Solver | None
) -> Any:
    given = values if hasattr(values, "detach") else np.asarray(values, dtype=np.float64)
    alone = tuple(given.shape) == problem.label_shape
    if not alone and tuple(given.shape[1:]) != problem.label_shape:
        shape = ", ".join(map(str, problem.label_shape))
        raise ProblemError(
            f"values must have shape (instances, {shape}), or ({shape}) for one instance, "
            f"got {tuple(given.shape)}."
        )
    batch = given[None] if alone else given
    if alone and rows is not None:
        rows = np.atleast_1d(rows)
    answer = getattr(solver_for(problem, solver), question)(problem.values(batch), rows)
    return answer[0] if alone else answer
