"""OR-Tools answers for any problem: GLOP for the relaxation, exact integer solvers for decisions.

The relaxation of one instance (`dglbench.problem` has the integer problem):

    maximise y·x   subject to   A x ≤ b [λ ≥ 0] or A x = b [λ of either sign] row by row,
                                Σ_{i∈g} x_i = 1 for every group g,   0 ≤ x ≤ 1
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from dglbench.errors import SolverError
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers.base import Bounded, Solver
from dglbench.solvers.ortools_cpsat import CpSatRule, Relaxed
from dglbench.solvers.ortools_flow import FlowRule, PathRule
from dglbench.solvers.ortools_integer import SCIP_ERROR, IntegerRule, KnapsackRule
from dglbench.solvers.ortools_listed import ListRule
from dglbench.solvers.path_duals import PathDuals
from dglbench.structure import Paths
from dglbench.structure.matrices import pick_one

__all__ = ["IntegralRule", "LinearModel", "MipRule", "OrtoolsSolver", "Vertex"]

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
    """The rows of one problem as an OR-Tools model, built once; only its objective changes,
    and where instances differ the bounds of its rows and variables.

    OR-Tools copies the model into a new solver at every solve. Nothing of an earlier solve
    (basis, factorisation, incumbent) survives, so the answer is a pure function of the
    coefficients. pywraplp's own GLOP object keeps its last basis, which moves the duals of three
    instances in four, and Python cannot hand it a starting basis; copying is not slower.
    """

    def __init__(self, problem: Problem, backend: str, parameters: str, *, integer: bool) -> None:
        from ortools.linear_solver.python import model_builder_helper as helper
        from scipy.sparse import csr_matrix, vstack

        groups = problem.groups
        self._groups = groups
        self._backend = backend
        self._indices = list(range(problem.size))
        self._equality = problem.equality
        self._most_use = problem.most_use
        # The first instance stands for all; `_adapt` moves the bounds where others differ.
        self._b = problem.b if problem.b.ndim == 1 else problem.b[0]
        self._mask = problem.mask if problem.mask.ndim == 2 else problem.mask[0]
        # OR-Tools' stubs cannot be matched by any numpy array.
        self._model = cast(Any, helper.ModelBuilderHelper())
        self._model.fill_model_from_sparse_data(
            np.zeros(problem.size),
            self._mask.ravel().astype(np.float64),
            np.zeros(problem.size),
            np.concatenate([np.ones(groups), np.where(problem.equality, self._b, -np.inf)]),
            np.concatenate([np.ones(groups), self._room(self._b)]),
            csr_matrix(vstack([pick_one(problem.shape), problem.matrix])),
        )
        if integer:
            for index in self._indices:
                self._model.set_var_integrality(index, True)
        self._model.set_maximize(True)
        self._solver = cast(Any, helper.ModelSolverHelper(backend))
        self._solver.set_solver_specific_parameters(parameters)
        self._optimal = helper.SolveStatus.OPTIMAL

    def solve(self, values: Array, b: Array, mask: Mask, instance: int) -> Vertex:
        """Solve for coefficients (G, S), b (M,) and mask (G, S); ``instance`` is for the error."""
        if b is not self._b or mask is not self._mask:
            self._adapt(b, mask)
        # One by one: set_objective_coefficients leaves coefficients that become 0 as they were.
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

    def _room(self, b: Array) -> Array:
        """b, infinite where it is huge and no choice could use it up."""
        open_ = (b > MOST_ROOM) & (b > self._most_use) & ~self._equality
        return np.where(open_, np.inf, b)

    def _adapt(self, b: Array, mask: Mask) -> None:
        """Move the bounds that differ from those of the instance before."""
        room = self._room(b)
        for row in np.flatnonzero(b != self._b).tolist():
            self._model.set_constraint_upper_bound(self._groups + row, room[row])
            if self._equality[row]:
                self._model.set_constraint_lower_bound(self._groups + row, b[row])
        if mask is not self._mask:
            for option in np.flatnonzero(mask.ravel() != self._mask.ravel()).tolist():
                self._model.set_var_upper_bound(option, float(mask.ravel()[option]))
        self._b, self._mask = b, mask


class IntegralRule(IntegerRule):
    """Problems whose relaxation has integer vertices: the vertex at which GLOP ends."""

    def __init__(self, problem: Problem) -> None:
        # GLOP's reduced costs are right to 1e-9.
        self.error = problem.groups * 1e-9
        self._model = LinearModel(problem, "glop", GLOP_PARAMETERS, integer=False)

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        found = self._model.solve(values, b, mask, instance).x.reshape(values.shape)
        x: Array = np.rint(found)
        if np.abs(x - found).max() > 1e-6 or (x.sum(axis=1) != 1).any():
            raise SolverError(
                f"instance {instance}: glop did not end at an integer vertex; rescale the values."
            )
        return x


class MipRule(IntegerRule):
    """Any other problem, by SCIP with a gap of 0.

    SCIP and not CP-SAT: A need not be in whole numbers here, and CP-SAT would first round it.
    The objective is scaled by a power of two (exact) to a largest coefficient in [1, 2), far
    above SCIP's absolute tolerances; the rounded answer is checked against the rows.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.error = problem.groups * SCIP_ERROR
        self._model = LinearModel(problem, "scip", SCIP_PARAMETERS, integer=True)

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        # What every option of a group shares cannot change the choice.
        best = np.where(mask, values, -np.inf).max(axis=1, keepdims=True)
        relative = np.where(mask, values - best, 0.0)
        largest = float(np.abs(relative).max())
        if largest > 0:
            relative = np.ldexp(relative, 1 - int(np.frexp(largest)[1]))
        x = np.rint(self._model.solve(relative, b, mask, instance).x).reshape(values.shape)
        over = self._problem.usage(x[None])[0] - b
        off = np.where(self._problem.equality, np.abs(over), over)
        if (off > 1e-9 * np.maximum(1.0, np.abs(b))).any() or (x.sum(axis=1) != 1).any():
            raise SolverError(
                f"instance {instance}: scip's rounded answer breaks a constraint by "
                f"{off.max():.3g}; rescale the rows of A to similar sizes."
            )
        return x


class OrtoolsSolver(Solver):
    """Solves instances one by one with OR-Tools; works for every problem, ragged or not.

    `relax` and `duals`: GLOP's dual simplex, one LP per instance, on a model built once. The dual
    rule is ``vertex``: λ is the vertex of the optimal dual face at which GLOP's dual simplex
    ends when it starts from scratch, negatives within tolerance set to 0 on ≤ rows. A vertex
    nearly always leaves some group tied between options; the batched solvers' ``centre`` does not.
    On paths such ties would leave DGL without a signal at nodes of the path, so there λ is the
    mean of two vertices, that of the batched solver (`PathDuals`), from the flow `decide` finds.

    `decide`: min-cost flow for assignment problems with integer b and for paths, dynamic
    programming for knapsacks with integer weights, a list of all choices for other knapsacks that
    have few (`ListRule`), GLOP's vertex where vertices are integer anyway (top-k), the relaxation
    and CP-SAT where rows are whole numbers (scheduling), SCIP for the rest. One solve per
    instance. Where A differs by instance, each has models of its own.

    Reference: OR-Tools, https://developers.google.com/optimization.
    """

    family: ClassVar[str] = "ortools"
    summary: ClassVar[str] = (
        "OR-Tools: GLOP for relaxations and duals, exact integer solvers; any task"
    )
    dual_rule: ClassVar[str] = "vertex"
    varying_rows: ClassVar[bool] = True

    def _ask(self, question: Any, values: Array, at: Problem) -> Array:
        if not at.rows_vary:
            return super()._ask(question, values, at)
        answers = []
        for instance in range(len(values)):
            alone = type(self)(at.alone(instance))
            ask = getattr(alone, question.__name__)
            answers.append(ask(values[instance : instance + 1], alone.problem))
        return np.concatenate(answers)

    def decide_bounded(self, values: Array, rows: Any = None) -> Bounded:
        """See `Solver.decide_bounded`; only a search by CP-SAT stops early."""
        if self.problem.search_limit is None or self.problem.rows_vary:
            return super().decide_bounded(values, rows)
        at = self._instances(values, rows)
        coefficients = self._checked(values, at)
        x, bounds = np.empty(values.shape), np.empty(len(values))
        for instance, (one, b, mask) in enumerate(_one_by_one(coefficients, at)):
            x[instance], bounds[instance] = self._integer_rule.bounded(one, b, mask, instance)
        return Bounded(x, bounds)

    def decision_error(self, values: Array) -> Array:
        """(K,): the integer rule's share of the largest difference inside a group."""
        ever = self.problem.ever
        best = np.where(ever, values, -np.inf).max(axis=2)
        worst = np.where(ever, values, np.inf).min(axis=2)
        # Each instance has a rule of its own where A differs; none is further off than SCIP's.
        varies = self.problem.rows_vary
        share = self.problem.groups * SCIP_ERROR if varies else self._integer_rule.error
        error: Array = share * (best - worst).max(axis=1)
        return error

    @cached_property
    def _relaxation(self) -> LinearModel:
        return LinearModel(self.problem, "glop", GLOP_PARAMETERS, integer=False)

    @cached_property
    def _integer_rule(self) -> IntegerRule:
        for rule in (FlowRule, PathRule, KnapsackRule, ListRule):
            if rule.fits(self.problem):
                return rule(self.problem)
        if self.problem.is_integral:
            return IntegralRule(self.problem)
        if CpSatRule.fits(self.problem):
            return CpSatRule(self.problem, self._relaxed, lambda: MipRule(self.problem))
        return MipRule(self.problem)

    def _relaxed(self, values: Array, b: Array, mask: Mask, instance: int) -> Relaxed:
        vertex = self._relaxation.solve(values, b, mask, instance)
        equality = self.problem.equality
        duals = np.where(equality, vertex.duals, np.maximum(vertex.duals, 0.0))
        return Relaxed(vertex.x.reshape(values.shape), duals)

    def _vertices(self, values: Array, at: Problem) -> Iterator[Vertex]:
        for instance, (coefficients, b, mask) in enumerate(_one_by_one(values, at)):
            yield self._relaxation.solve(coefficients, b, mask, instance)

    def _decide(self, values: Array, at: Problem) -> Array:
        x = np.empty(values.shape)
        for instance, (coefficients, b, mask) in enumerate(_one_by_one(values, at)):
            x[instance] = self._integer_rule.choose(coefficients, b, mask, instance)
        return x

    def _relax(self, values: Array, at: Problem) -> Array:
        x = np.empty(values.shape)
        for instance, vertex in enumerate(self._vertices(values, at)):
            x[instance] = vertex.x.reshape(values.shape[1:])
        return np.clip(x, 0.0, 1.0)

    @cached_property
    def _path_duals(self) -> PathDuals | None:
        paths = self.problem.structure
        if isinstance(paths, Paths) and PathRule.fits(self.problem):
            return PathDuals(paths)
        return None

    def _duals(self, values: Array, at: Problem) -> Array:
        if self._path_duals is not None:
            return self._path_duals.of(values, self._decide(values, at), at)
        return self._vertex_duals(values, at)

    def _vertex_duals(self, values: Array, at: Problem) -> Array:
        duals = np.empty((len(values), at.rows))
        for instance, vertex in enumerate(self._vertices(values, at)):
            duals[instance] = vertex.duals
        # Adding 0 turns minus zero into zero, so that equal answers are equal to the last bit.
        return np.where(at.equality, duals, np.maximum(duals, 0.0)) + 0.0


def _one_by_one(values: Array, at: Problem) -> Iterator[tuple[Array, Array, Mask]]:
    """Yield each instance's coefficients, b and mask; what is shared is the same object."""
    for instance, coefficients in enumerate(values):
        yield (
            coefficients,
            at.b if at.b.ndim == 1 else at.b[instance],
            at.mask if at.mask.ndim == 2 else at.mask[instance],
        )
