"""Exact integer decisions for one instance by relaxation first, CP-SAT where a gap remains.

With multipliers λ of the relaxation, no choice is worth more than

    U = Σ_g max_s r_gs + λ·b,   r = y − Aᵀλ,

and a choice that picks option s in group g at most U − loss_gs, loss_gs = max_t r_gt − r_gs.
So CP-SAT is asked about options of no loss alone. A choice among them that reaches U is the
best. Otherwise what it reaches says which other options can matter at all, and CP-SAT is
asked once more, about those.

Where the search is limited (`Problem.search_limit`), what it found by then is taken, with a bound:
the least of U, of CP-SAT's own and of what options left out could reach. The limit counts CP-SAT's
deterministic seconds, so that the answer does not depend on the machine. Where it is not, CP-SAT
has `TRIAL` of these seconds; then branch and bound over the relaxation takes over, which needs
little where the relaxation is close and many choices are worth nearly the same (matchings with
predictions that hardly differ).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Mask, Problem
from dglbench.problem_checks import allowance
from dglbench.solvers.ortools_integer import (
    SCIP_ERROR,
    IntegerRule,
    rounding_share,
    to_integers,
)

__all__ = ["CpSatRule", "Relaxed", "whole_rows"]

Integers = npt.NDArray[np.int64]

# Scaled costs are no larger than this: sums over a thousand groups stay far below the 2⁶³ at
# which CP-SAT's own arithmetic ends.
LARGEST_COST = 2.0**40
# Losses and gaps up to this share of the largest difference inside a group count as none:
# GLOP's reduced costs are right to 1e-9.
SAME = 1e-9
# Rows whose use is written with up to four decimals are whole numbers after scaling.
DECIMALS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
MOST_UNITS = 2.0**40
# Deterministic seconds of CP-SAT before another rule takes over: about as many on a clock.
TRIAL = 1.0


class Relaxed(NamedTuple):
    """An optimum of one instance's relaxation."""

    x: Array
    """(G, S)"""
    duals: Array
    """(M,): of the right sign."""


class _Found(NamedTuple):
    """How a search among some options ended."""

    choice: Array | None
    """(G, S), or None if none was found."""
    bound: float
    """No choice among these options is worth more."""
    whole: bool
    """Whether the search came to its end."""
    work: float
    """The deterministic seconds it took."""


class _Rows(NamedTuple):
    """A and the factor of each row that makes it whole."""

    matrix: Any
    """(M, G·S), CSR, of whole numbers."""
    factor: Array
    """(M,)"""


class CpSatRule(IntegerRule):
    """Problems whose rows are whole numbers, or become so with a few decimals.

    Costs are losses against the best option of a group, scaled by a power of two to at most
    2⁴⁰ and rounded. One LP per instance, then one CP-SAT search in most cases: a single worker
    whose limits count work and not time, so that an answer is a function of the instance alone.
    """

    def __init__(
        self,
        problem: Problem,
        relax: Callable[[Array, Array, Mask, int], Relaxed],
        take_over: Callable[[], IntegerRule],
    ) -> None:
        rows = whole_rows(problem)
        if rows is None:
            raise SolverError("CP-SAT needs rows that are whole numbers.")
        self._rows, self._problem, self._relax = rows, problem, relax
        self._take_over = cache(take_over)
        self._limit = problem.search_limit
        # Twice: once for accepting a value as good as U, once for options of no loss.
        own = rounding_share(problem.groups, LARGEST_COST) + 2 * problem.groups * SAME
        self.error = own if self._limit is not None else max(own, problem.groups * SCIP_ERROR)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the rows are whole numbers, if need be after scaling."""
        return whole_rows(problem) is not None

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        return self.bounded(values, b, mask, instance)[0]

    def bounded(self, values: Array, b: Array, mask: Mask, instance: int) -> tuple[Array, float]:
        """See `IntegerRule.bounded`."""
        x, duals = self._relax(values, b, mask, instance)
        if self._is_whole(x, b):
            return np.rint(x), _worth(values, np.rint(x))
        reduced = np.where(mask, values - self._problem.prices(duals[None])[0], -np.inf)
        best = reduced.max(axis=1, keepdims=True)
        loss = best - reduced
        bound = float(best.sum() + duals @ b)
        existing = np.where(mask, values, -np.inf).max(axis=1)
        spread = float((existing - np.where(mask, values, np.inf).min(axis=1)).max())
        same = SAME * max(spread, np.finfo(float).tiny) * self._problem.groups
        within, chosen = same, None
        left = TRIAL if self._limit is None else self._limit
        while True:
            found = self._search(values, b, mask & (loss <= within), left)
            left -= found.work
            if self._limit is None and not found.whole:
                return self._take_over().bounded(values, b, mask, instance)
            if found.choice is not None and (
                chosen is None or _worth(values, found.choice) > _worth(values, chosen)
            ):
                chosen = found.choice
            if chosen is not None:
                gap = bound - _worth(values, chosen)
                if found.whole and gap <= max(within, same):
                    return chosen, _worth(values, chosen)
                if self._limit is not None and (not found.whole or left <= 0):
                    inside = -np.inf if found.whole else found.bound
                    most = min(bound, max(inside, bound - within))
                    return chosen, max(most, _worth(values, chosen))
                within = gap + same
            elif not found.whole:
                # The limit is for the best choice, not for the first one.
                chosen = self._search(values, b, mask, np.inf, any_will_do=True).choice
                if chosen is None:
                    raise _infeasible(instance)
                return chosen, max(bound, _worth(values, chosen))
            elif (loss <= within)[mask].all():
                raise _infeasible(instance)
            else:
                # Nothing fits yet: let in the cheaper half of the options that are left out.
                outside_loss = loss[mask & (loss > within)]
                within = float(np.quantile(outside_loss, 0.5, method="higher"))

    def _is_whole(self, x: Array, b: Array) -> bool:
        """Whether an optimum of the relaxation is a choice of one option per group already."""
        near = np.rint(x)
        if np.abs(x - near).max() > 1e-6:
            return False
        over = self._problem.usage(near[None])[0] - b
        off = np.where(self._problem.equality, np.abs(over), over)
        return bool((near.sum(axis=1) == 1).all() and (off <= allowance(b)).all())

    def _search(
        self, values: Array, b: Array, allowed: Mask, limit: float, *, any_will_do: bool = False
    ) -> _Found:
        """Look for the best choice among allowed options, or for any that meets the rows."""
        from ortools.sat.python import cp_model

        group, option = np.nonzero(allowed)
        if len(np.unique(group)) < len(allowed):
            return _Found(None, -np.inf, True, 0.0)
        model, x = self._model(b, group, group * allowed.shape[1] + option)
        worth = values[group, option]
        best = np.where(allowed, values, -np.inf).max(axis=1)
        loss = best[group] - worth
        costs = to_integers(loss, LARGEST_COST)
        if not any_will_do:
            model.minimize(cp_model.LinearExpr.weighted_sum(x, costs.tolist()))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        # Its own handler replaces Python's for good: Ctrl-C would be lost from here on.
        solver.parameters.catch_sigint_signal = False
        if np.isfinite(limit):
            solver.parameters.max_deterministic_time = max(limit, 0.0)
        status = solver.solve(model)
        work = float(solver.deterministic_time)
        if status == cp_model.INFEASIBLE:
            return _Found(None, -np.inf, True, work)
        stopped = np.isfinite(limit) and status in (cp_model.FEASIBLE, cp_model.UNKNOWN)
        if status != cp_model.OPTIMAL and not stopped:
            raise SolverError(f"CP-SAT ended {solver.status_name(status)}, not OPTIMAL.")
        unit = float(costs.max(initial=0))
        scale = float(loss.max(initial=0.0)) / unit if unit else 0.0
        bound = float(best.sum()) - scale * float(solver.best_objective_bound)
        if status == cp_model.UNKNOWN:
            return _Found(None, bound, False, work)
        choice = np.zeros(values.shape)
        choice[group, option] = [solver.boolean_value(one) for one in x]
        return _Found(choice, bound, not stopped, work)

    def _model(self, b: Array, group: Any, flat: Any) -> tuple[Any, list[Any]]:
        """Return the rows as a CP-SAT model of these options, and its variables."""
        from ortools.sat.python import cp_model

        model: Any = cp_model.CpModel()
        x = [model.new_bool_var("") for _ in flat]
        starts = np.searchsorted(group, np.arange(int(group[-1]) + 2))
        for first, last in itertools.pairwise(starts.tolist()):
            model.add_exactly_one(x[first:last])
        rows = self._rows.matrix[:, flat]
        room = b * self._rows.factor
        for row in range(rows.shape[0]):
            entries = slice(rows.indptr[row], rows.indptr[row + 1])
            places, use = rows.indices[entries], rows.data[entries]
            exact = bool(self._problem.equality[row])
            if not exact and use[use > 0].sum() <= room[row]:
                continue
            uses = cp_model.LinearExpr.weighted_sum(
                [x[place] for place in places], use.astype(np.int64).tolist()
            )
            limit = room[row] + allowance(b[row : row + 1])[0] * self._rows.factor[row]
            if exact:
                model.add(uses == round(room[row]))
            else:
                model.add(uses <= int(np.floor(limit)))
        return model, x


def _worth(values: Array, choice: Array) -> float:
    return float((values * choice).sum())


def _infeasible(instance: int) -> SolverError:
    return SolverError(
        f"instance {instance}: no choice of one option per group meets all rows; change b."
    )


def whole_rows(problem: Problem) -> _Rows | None:
    """Return A in whole numbers, row by row with the fewest decimals; None if it has more."""
    matrix = problem.matrix.copy()
    if not len(matrix.data):
        return _Rows(matrix, np.ones(problem.rows))
    owner = np.repeat(np.arange(problem.rows), np.diff(matrix.indptr))
    factor = np.zeros(problem.rows)
    b = np.atleast_2d(problem.b)
    for scale in DECIMALS:
        scaled = matrix.data * scale
        off = np.abs(scaled - np.rint(scaled)) > 1e-9 * scale
        fits = np.bincount(owner, off, minlength=problem.rows) == 0
        # Whole use leaves a fraction of a ≤ row's room unused; an = row must be whole itself.
        whole = (np.abs(b * scale - np.rint(b * scale)) <= 1e-9 * scale).all(axis=0)
        fits &= whole | ~problem.equality
        factor = np.where((factor == 0) & fits, scale, factor)
    if (factor == 0).any() or np.abs(matrix.data * factor[owner]).max() > MOST_UNITS:
        return None
    matrix.data = np.rint(matrix.data * factor[owner])
    return _Rows(matrix, factor)
