"""OR-Tools answers for any problem: GLOP for the relaxation, exact integer solvers for decisions.

The relaxation of one instance (`dglbench.problem` has the integer problem):

    maximise y·x   subject to   A x ≤ b [λ ≥ 0],   Σ_{i∈g} x_i = 1 for every group g,   0 ≤ x ≤ 1
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from dglbench.errors import SolverError
from dglbench.problem import Array, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.ortools_integer import FlowRule, IntegerRule, KnapsackRule

__all__ = ["LinearModel", "MipRule", "OrtoolsSolver", "Vertex"]

# The dual simplex starts from x at its bounds, which the pick-one rows are quick to repair:
# half the time of the primal from 50 groups on. Presolve finds nothing to remove in such rows.
# The tolerances are tight so that values agree with exact solvers to about nine digits.
GLOP_PARAMETERS = (
    "use_dual_simplex:true use_preprocessing:false "
    "primal_feasibility_tolerance:1e-9 dual_feasibility_tolerance:1e-9"
)
# A row that cannot bind and has more room than this is left open: beyond 1e30 GLOP ends ABNORMAL.
MOST_ROOM = 1e20
SCIP_PARAMETERS = "limits/gap = 0\nlimits/absgap = 0\nnumerics/feastol = 1e-9\n"


class Vertex(NamedTuple):
    """An optimum of one instance: x as (G·S,) and, from a linear solver, λ as (M,)."""

    x: Array
    duals: Array


class LinearModel:
    """The rows of one problem as an OR-Tools model, built once; only its objective changes.

    OR-Tools copies the model into a new solver at every solve. Nothing of an earlier solve
    (basis, factorisation, incumbent) survives, so the answer is a pure function of the
    coefficients. pywraplp's own GLOP object keeps its last basis, which moves the duals of three
    instances in four, and Python cannot hand it a starting basis; copying is not slower.
    """

    def __init__(self, problem: Problem, backend: str, parameters: str, *, integer: bool) -> None:
        from ortools.linear_solver.python import model_builder_helper as helper
        from scipy.sparse import csr_matrix, eye_array, kron, vstack

        groups, size = problem.groups, problem.mask.size
        pick_one = kron(eye_array(groups), np.ones((1, problem.options)))
        self._groups = groups
        self._backend = backend
        self._indices = list(range(size))
        # OR-Tools' stubs cannot be matched by any numpy array.
        self._model = cast(Any, helper.ModelBuilderHelper())
        self._model.fill_model_from_sparse_data(
            np.zeros(size),
            problem.mask.ravel().astype(np.float64),
            np.zeros(size),
            np.concatenate([np.ones(groups), np.full(problem.rows, -np.inf)]),
            np.concatenate([np.ones(groups), _finite_room(problem)]),
            csr_matrix(vstack([pick_one, csr_matrix(problem.flat_A)])),
        )
        if integer:
            for index in self._indices:
                self._model.set_var_integrality(index, True)
        self._model.set_maximize(True)
        self._solver = cast(Any, helper.ModelSolverHelper(backend))
        self._solver.set_solver_specific_parameters(parameters)
        self._optimal = helper.SolveStatus.OPTIMAL

    def solve(self, values: Array, instance: int) -> Vertex:
        """Solve for coefficients of shape (G, S); ``instance`` is for the error message."""
        set_coefficient = self._model.set_var_objective_coefficient
        for index, value in zip(self._indices, values.ravel().tolist(), strict=True):
            set_coefficient(index, value)
        self._solver.solve(self._model)
        status = self._solver.status()
        if status != self._optimal:
            raise SolverError(
                f"instance {instance}: {self._backend} ended {status.name}, not OPTIMAL; "
                "check the capacities and the size of the coefficients."
            )
        return Vertex(self._solver.variable_values(), self._solver.dual_values()[self._groups :])


class MipRule(IntegerRule):
    """Any other problem, by SCIP with a gap of 0.

    SCIP and not CP-SAT: A need not be integer, and CP-SAT would first round it to integers.
    The objective is scaled by a power of two (exact) to a largest coefficient in [1, 2), far
    above SCIP's absolute tolerances; the rounded answer is checked against A x ≤ b.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        # SCIP proves its bound on LPs whose reduced costs are right to 1e-7 (its own default).
        self.error = problem.groups * 1e-7
        self._model = LinearModel(problem, "scip", SCIP_PARAMETERS, integer=True)

    def choose(self, values: Array, instance: int) -> Array:
        """Return the best 0/1 choice for coefficients of shape (G, S)."""
        problem = self._problem
        # What every option of a group shares cannot change the choice.
        relative = np.where(problem.mask, values - _group_best(problem, values), 0.0)
        largest = float(np.abs(relative).max())
        if largest > 0:
            relative = np.ldexp(relative, 1 - int(np.frexp(largest)[1]))
        x = np.rint(self._model.solve(relative, instance).x).reshape(values.shape)
        over = problem.usage(x[None])[0] - problem.b
        if (over > 1e-9 * np.maximum(1.0, np.abs(problem.b))).any() or (x.sum(axis=1) != 1).any():
            raise SolverError(
                f"instance {instance}: scip's rounded answer breaks a constraint by "
                f"{over.max():.3g}; rescale the rows of A to similar sizes."
            )
        return x


def _finite_room(problem: Problem) -> Array:
    """b, infinite where it is huge and no choice could use it up."""
    return np.where((problem.b > MOST_ROOM) & (problem.b > problem.most_use), np.inf, problem.b)


def _group_best(problem: Problem, values: Array) -> Array:
    best: Array = np.where(problem.mask, values, -np.inf).max(axis=1, keepdims=True)
    return best


class OrtoolsSolver(Solver):
    """Solves instances one by one with OR-Tools; works for every problem, ragged or not.

    `relax` and `duals`: GLOP's dual simplex, one LP an instance, on a model built once. The dual
    rule is ``vertex``: λ is the vertex of the optimal dual face at which GLOP's dual simplex
    ends when it starts from scratch, negatives within tolerance set to 0. A vertex
    nearly always leaves some group tied between options; the batched solvers' ``centre`` does not.

    `decide`: min-cost flow for assignment problems with integer b, dynamic programming for
    knapsacks with integer weights, SCIP for the rest (`FlowRule`, `KnapsackRule`, `MipRule`).
    One solve an instance.

    Reference: OR-Tools, https://developers.google.com/optimization.
    """

    family: ClassVar[str] = "ortools"
    summary: ClassVar[str] = (
        "OR-Tools: GLOP for relaxations and duals, exact integer solvers; any task"
    )
    dual_rule: ClassVar[str] = "vertex"

    def decision_error(self, values: Array) -> Array:
        """(K,): the integer rule's share of the largest difference inside a group."""
        mask = self.problem.mask
        best = np.where(mask, values, -np.inf).max(axis=2)
        worst = np.where(mask, values, np.inf).min(axis=2)
        error: Array = self._integer_rule.error * (best - worst).max(axis=1)
        return error

    @cached_property
    def _relaxation(self) -> LinearModel:
        return LinearModel(self.problem, "glop", GLOP_PARAMETERS, integer=False)

    @cached_property
    def _integer_rule(self) -> IntegerRule:
        for rule in (FlowRule, KnapsackRule):
            if rule.fits(self.problem):
                return rule(self.problem)
        return MipRule(self.problem)

    def _vertices(self, values: Array) -> Iterator[Vertex]:
        for instance, coefficients in enumerate(values):
            yield self._relaxation.solve(coefficients, instance)

    def _decide(self, values: Array) -> Array:
        x = np.empty(values.shape)
        for instance, coefficients in enumerate(values):
            x[instance] = self._integer_rule.choose(coefficients, instance)
        return x

    def _relax(self, values: Array) -> Array:
        x = np.empty(values.shape)
        for instance, vertex in enumerate(self._vertices(values)):
            x[instance] = vertex.x.reshape(values.shape[1:])
        return np.clip(x, 0.0, 1.0)

    def _duals(self, values: Array) -> Array:
        duals = np.empty((len(values), self.problem.rows))
        for instance, vertex in enumerate(self._vertices(values)):
            duals[instance] = vertex.duals
        # Adding 0 turns minus zero into zero, so that equal answers are equal to the last bit.
        return np.maximum(duals, 0.0) + 0.0
