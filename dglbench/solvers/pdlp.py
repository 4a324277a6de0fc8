"""Relaxations and duals of large problems by PDLP, OR-Tools' first-order solver.

The linear program is that of `dglbench.solvers.ortools`. PDLP needs products with the matrix
alone, no factorisation, so that it goes on where the simplex slows down; its answers are right
to a tolerance, not to the last digit.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dglbench.problem import Array, Mask, Problem
from dglbench.solvers.ortools import MOST_ROOM, OrtoolsSolver
from dglbench.structure.matrices import pick_one

__all__ = ["PdlpSolver"]

# Residuals and gap at which PDLP ends, relative to b and the values. They are norms over all rows
# and options, and setting x right in every group can move its value by more: hence the distance
# to `tolerance`, which is what the tests hold it to.
RESIDUAL = 1e-9
MOST_ITERATIONS = 1_000_000


class _Point(NamedTuple):
    x: Array
    """(G, S)"""
    duals: Array
    """(M,)"""


class PdlpSolver(OrtoolsSolver):
    """`relax` and `duals` by PDLP, one solve per instance, always from zero; `decide` is exact.

    Every instance's values are shifted by their best in each group and scaled by a power of
    two, so that the tolerance means the same for all. x is set to sum to 1 in every group,
    λ to its sign; the value of x, the bound of λ and the rows of A are right to `tolerance`,
    as a share of the largest value (of b for rows) times the groups. x is not a vertex where
    several optima exist, and neither is λ: the dual rule is ``first-order``, the optimum to
    which primal-dual steps from zero lead.

    An instance that PDLP gives up is solved by the simplex. Decisions are those of
    `OrtoolsSolver`. General problems of thousands of groups and rows are what it is for;
    assignments, knapsacks and paths have faster solvers.

    Reference: Applegate et al., Practical Large-Scale Linear Programming using Primal-Dual
    Hybrid Gradient (2021).
    """

    family: ClassVar[str] = "pdlp"
    summary: ClassVar[str] = (
        "OR-Tools' first-order PDLP for large relaxations and duals, right to 1e-6; "
        "exact decisions; any task"
    )
    dual_rule: ClassVar[str] = "first-order"
    tolerance: ClassVar[float] = 1e-6

    @cached_property
    def _program(self) -> Any:
        from ortools.pdlp.python import pdlp
        from scipy.sparse import csc_matrix, vstack

        problem = self.problem
        program: Any = pdlp.QuadraticProgram()
        program.resize_and_initialize(problem.size, problem.groups + problem.rows)
        program.constraint_matrix = csc_matrix(vstack([pick_one(problem.shape), problem.matrix]))
        program.variable_lower_bounds = np.zeros(problem.size)
        return program

    @cached_property
    def _parameters(self) -> Any:
        from ortools.pdlp import solvers_pb2

        parameters: Any = solvers_pb2.PrimalDualHybridGradientParams()
        ends = parameters.termination_criteria
        ends.simple_optimality_criteria.eps_optimal_absolute = RESIDUAL
        ends.simple_optimality_criteria.eps_optimal_relative = RESIDUAL
        ends.iteration_limit = MOST_ITERATIONS
        parameters.num_threads = 1
        return parameters

    def _relax(self, values: Array, at: Problem) -> Array:
        x = np.empty(values.shape)
        for instance in range(len(values)):
            x[instance] = self._point(values[instance], at, instance).x
        return x

    def _duals(self, values: Array, at: Problem) -> Array:
        duals = np.empty((len(values), at.rows))
        for instance in range(len(values)):
            duals[instance] = self._point(values[instance], at, instance).duals
        return duals

    def _point(self, values: Array, at: Problem, instance: int) -> _Point:
        """Solve one instance for coefficients (G, S)."""
        from ortools.pdlp import solve_log_pb2
        from ortools.pdlp.python import pdlp

        b = at.b if at.b.ndim == 1 else at.b[instance]
        mask = at.mask if at.mask.ndim == 2 else at.mask[instance]
        relative, unit = _to_unit(values, mask)
        program, ones = self._program, np.ones(at.groups)
        room = np.where((b > MOST_ROOM) & (b > at.most_use) & ~at.equality, np.inf, b)
        program.constraint_lower_bounds = np.append(ones, np.where(at.equality, b, -np.inf))
        program.constraint_upper_bounds = np.append(ones, room)
        program.variable_upper_bounds = mask.ravel().astype(np.float64)
        program.objective_vector = -relative.ravel()
        found = pdlp.primal_dual_hybrid_gradient(program, self._parameters)
        ended = found.solve_log.termination_reason
        if ended != solve_log_pb2.TERMINATION_REASON_OPTIMAL:
            # It can take a program for infeasible that is not; the simplex knows for sure.
            alone = at.take(np.array([instance])) if at.varies else at
            return _Point(
                super()._relax(values[None], alone)[0], super()._duals(values[None], alone)[0]
            )
        x = np.clip(found.primal_solution, 0.0, 1.0).reshape(values.shape) * mask
        # Its duals are those of a minimum: what one more unit of b takes off the cost.
        duals = -unit * found.dual_solution[at.groups :]
        return _Point(
            x / x.sum(axis=1, keepdims=True),
            np.where(at.equality, duals, np.maximum(duals, 0.0)) + 0.0,
        )


def _to_unit(values: Array, mask: Mask) -> tuple[Array, float]:
    """Return values less the best of their group, the largest in [½, 1), and their unit."""
    best = np.where(mask, values, -np.inf).max(axis=1, keepdims=True)
    relative = np.where(mask, values - best, 0.0)
    exponent = int(np.frexp(np.abs(relative).max())[1])
    return np.ldexp(relative, -exponent), float(np.ldexp(1.0, exponent))
