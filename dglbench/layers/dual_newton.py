"""Minimise the smoothed dual of a batch by damped Newton steps in its M multipliers.

    D(λ) = Σ_g Ω*((ŷ − Aᵀλ)_g) + b·λ      over λ ≥ 0 on ≤ rows, λ free on = rows
    ∇D   = b − A x                         x the regulariser's decisions at scores ŷ − Aᵀλ
    H    = A J Aᵀ                          J how x moves with the scores

D is convex and smooth, but almost linear where groups are decided, and its curvature may be
singular (transport, exact fits). So every step solves

    minimise  ∇D·d + ½ dᵀ(H + σI)d   over λ + d ≥ 0,    σ = ν·residual·max H

(Levenberg–Marquardt: σ vanishes with the residual, so convergence stays fast, and a direction
without curvature gets no more than the least step), cuts it where prices would move further
than values differ, and shortens it until D falls. A start that is not near goes down a ladder
of strengths, each solved roughly from the one before. Instances are independent: those that are
done leave the batch.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.layers.curvature import HELD, curvature_of
from dglbench.layers.regularisers import Regulariser, largest_weight
from dglbench.problem import Array, Mask, Problem
from dglbench.structure import Structure
from dglbench.structure.base import options_first, options_less

__all__ = ["ACCEPTED", "DualPoint", "follow", "minimise"]

Index = npt.NDArray[np.intp]

ACCEPTED = 1e-9
"""The residual of a solution: how far rows and prices may be off, beside max(1, |b|)."""
_AIM = 1e-12
"""Where steps end; between the two they go on while they help."""
_WARM_STEPS = 40
_LAST_STEPS = 200
_LADDER = 4.0
_LADDER_STEPS = 20
_LADDER_AIM = 1e-4
_LEAST_SHIFT = 1e-14
_MOST_HALVINGS = 40
_MOST_SWITCHES = 8


class DualPoint(NamedTuple):
    """Multipliers and the decisions at them."""

    duals: Array
    """(K, M): λ."""
    x: Array
    """(K, G, S)"""
    residual: Array
    """(K,): the largest |min(λ, b − A x)| over ≤ rows and |b − A x| over = rows, each beside
    max(1, |b|)."""
    steps: int
    """Newton steps taken, summed over instances."""


def minimise(
    problem: Problem,
    values: Array,
    regulariser: Regulariser,
    strength: float,
    *,
    start: Array | None = None,
) -> DualPoint:
    """Return the minimum of D for values (K, G, S); ``problem`` is that of these K instances.

    ``start`` are multipliers near the minimum, (K, M); without it, or where it leads nowhere,
    instances start from 0 and go down the ladder. Look at ``residual``: an instance that ends
    above `ACCEPTED` was not solved.
    """
    count = len(values)
    values = options_first(np.where(problem.mask, values, 0.0))
    lost = ~np.isfinite(values).all(axis=(1, 2))
    if lost.any():  # solved as if all were alike, and then not counted as solved
        values[lost] = 0.0
    duals = np.zeros((count, problem.rows)) if start is None else start.copy()
    point = DualPoint(duals, np.zeros_like(values), np.full(count, np.inf), 0)
    if start is not None:
        point = follow(problem, values, regulariser, strength, start, most_steps=_WARM_STEPS)
    cold = np.flatnonzero(~(point.residual <= ACCEPTED))
    if cold.size:
        part = _descend(problem.take(cold), values[cold], regulariser, strength)
        for whole, better in zip(point[:3], part[:3], strict=True):
            whole[cold] = better
        point = point._replace(steps=point.steps + part.steps)
    point.residual[lost] = np.inf
    return point


def _descend(
    problem: Problem, values: Array, regulariser: Regulariser, strength: float
) -> DualPoint:
    """Solve from λ = 0, by strengths that fall to the one asked for.

    Far up, λ grows with the strength; far down it stands still. So each rung starts on the
    line through the two before it, and the second where the first would be in proportion.
    """
    spread = float(_spread(problem, values).max(initial=0.0))
    rungs = int(np.ceil(np.log(max(spread / strength, 1.0)) / np.log(_LADDER)))
    above = duals = np.zeros((len(values), problem.rows))
    steps = 0
    for rung in range(rungs, 0, -1):
        rough = follow(
            problem,
            values,
            regulariser,
            strength * _LADDER**rung,
            duals,
            most_steps=_LADDER_STEPS,
            aim=_LADDER_AIM,
        )
        # From λ' at s·r and λ at s, the line leads to λ − (λ' − λ)/r at s/r; from 0 at 0 and
        # λ at s, to λ/r.
        slope = rough.duals / _LADDER if rung == rungs else (above - rough.duals) / (_LADDER - 1)
        shrink = 1.0 - 1.0 / _LADDER
        duals = rough.duals - (rough.duals * shrink if rung == rungs else slope * shrink)
        above, steps = rough.duals, steps + rough.steps
    point = follow(problem, values, regulariser, strength, duals, most_steps=_LAST_STEPS)
    return point._replace(steps=steps + point.steps)


def follow(
    problem: Problem,
    values: Array,
    regulariser: Regulariser,
    strength: float,
    start: Array,
    *,
    most_steps: int,
    aim: float = _AIM,
) -> DualPoint:
    """Take at most ``most_steps`` Newton steps from ``start``; stop where the residual is ≤ aim."""
    search = _Search(problem, values, regulariser, strength, start)
    live = np.flatnonzero(search.residual > aim)
    steps = 0
    for step in range(1, most_steps + 1):
        if not live.size:
            break
        before = search.residual[live]
        moved = search.step(live)
        steps += len(live)
        if step == most_steps:
            break  # no need to find who is done
        after = search.residual[live]
        # Rounding ends what is solved well enough: no step without a gain.
        ended = (after <= aim) | ((after <= ACCEPTED) & (after > 0.9 * before)) | ~moved
        live = live[~ended]
    return DualPoint(search.duals, search.x, search.residual, steps)


class _Search:
    """The state of all instances; `step` moves some of them."""

    def __init__(
        self,
        problem: Problem,
        values: Array,
        regulariser: Regulariser,
        strength: float,
        start: Array,
    ) -> None:
        self.structure = problem.structure
        self.regulariser, self.strength = regulariser, strength
        self.equality, self.least_dual = problem.equality, problem.least_duals
        # (1, M) where all instances share b, else (K, M); see `_shared`.
        self.b = problem.b.reshape(-1, problem.rows)
        self.unit = problem.row_units.reshape(-1, problem.rows)
        self.duals = np.maximum(start, self.least_dual)
        self._problem, self._values = problem, values
        scores = options_less(values, self.structure.prices(self.duals))
        self.scores = np.where(problem.mask, scores, -np.inf) if problem.ragged else scores
        self.x = regulariser.decide(self.scores, strength)
        self.slope = self.b - self.structure.usage(self.x)
        self.residual = self._residual(self.duals, self.slope, self.unit)
        self.least = self.residual.copy()
        self.damping = np.full(len(values), 1e-2)

    def step(self, live: Index) -> Mask:
        """Move the instances ``live`` by one Newton step; say which could be moved."""
        every = len(live) == len(self.duals)
        duals, slope = _part(self.duals, live, every), _part(self.slope, live, every)
        direction = self._direction(_part(self.x, live, every), live, duals, slope)
        prices = self._cut(direction, live)
        downhill = np.vecdot(slope, direction)
        length = np.ones(len(live))
        waiting = np.flatnonzero(downhill < 0.0)
        moved = np.zeros(len(live), dtype=bool)
        for trial in range(_MOST_HALVINGS):
            if not waiting.size:
                break
            # Almost always all move at once, and by the whole step.
            whole = len(waiting) == len(live)
            chosen, by = _part(live, waiting, whole), _part(length, waiting, whole)
            towards = _part(direction, waiting, whole)
            ahead = _part(prices, waiting, whole)
            if trial:
                towards, ahead = by[:, None] * towards, by[:, None, None] * ahead
            scores = _part(self.scores, chosen, every and whole) - ahead
            there = _part(duals, waiting, whole) + towards
            x = self.regulariser.decide(scores, self.strength)
            used = self._of(chosen, every and whole).usage(x)
            slope_there = _shared(self.b, chosen) - used
            residual = self._residual(there, slope_there, _shared(self.unit, chosen))
            onward = np.vecdot(slope_there, _part(direction, waiting, whole))
            # D is convex: where it still falls at the far end, it fell all the way. That, and half
            # the least residual so far, are seen at once and when differences of D are rounding.
            good = (onward <= 0.0) | (residual < 0.5 * _part(self.least, chosen, every and whole))
            if not good.all():
                over = np.flatnonzero(~good)
                before, after = self._values_at(chosen[over], scores[over], x[over], there[over])
                falls = after <= before + 1e-4 * (by * downhill[waiting])[over]
                level = after <= before + 1e-13 * np.abs(before)
                nearer = residual[over] < 0.9 * self.residual[chosen[over]]
                good[over] = falls | (level & nearer)
            if every and whole and good.all():  # as it nearly always is
                self.scores, self.duals, self.x = scores, there, x
                self.slope, self.residual = slope_there, residual
                self.least = np.minimum(self.least, residual)
                self.damping *= 0.2 if trial == 0 else 2.0
                moved[:] = True
                break
            to, of = chosen[good], np.flatnonzero(good)
            self.scores[to], self.duals[to], self.x[to] = scores[of], there[of], x[of]
            self.slope[to], self.residual[to] = slope_there[of], residual[of]
            self.least[to] = np.minimum(self.least[to], residual[of])
            self.damping[to] *= 0.2 if trial == 0 else 2.0
            moved[waiting[good]] = True
            waiting, by, onward = waiting[~good], by[~good], onward[~good]
            # Where the slope along the step would vanish if it changed evenly.
            root = downhill[waiting] / (downhill[waiting] - onward)
            length[waiting] = by * np.clip(root, 0.05, 0.7)
        self.damping = np.minimum(np.maximum(self.damping, 1e-6), 1e2)
        return moved

    def _of(self, index: Index, every: bool) -> Structure:
        """Return A of some instances; ``every`` if that is all of them."""
        return self.structure if every else self.structure.take(index)

    def _values_at(self, at: Index, scores: Array, x: Array, duals: Array) -> Array:
        """(2, K'): D of the instances ``at``, where they stand and at the scores, x and λ given."""
        scores, x = np.concatenate([self.scores[at], scores]), np.concatenate([self.x[at], x])
        conjugate = self.regulariser.conjugate(scores, x, self.strength).reshape(2, -1)
        both = np.concatenate([self.duals[at], duals]).reshape(2, *duals.shape)
        paid: Array = np.vecdot(_shared(self.b, at), both)
        return conjugate + paid

    def _residual(self, duals: Array, slope: Array, unit: Array) -> Array:
        """See `DualPoint.residual`; an = row is as far as can be from its least λ, −∞."""
        off = np.minimum(duals - self.least_dual, slope)
        largest: Array = (np.abs(off) / unit).max(axis=1)
        return largest

    def _cut(self, direction: Array, live: Index) -> Array:
        """Shorten, in place, what moves prices further than values differ; return those prices."""
        prices = self._of(live, len(live) == len(self.duals)).prices(direction)
        furthest = np.abs(direction).max(axis=1) * self.structure.steepest_price
        far = furthest > 10.0 * self.strength
        if far.any():
            # Prices further apart than values are, and some strengths, decide every group.
            reach = self._spread[live] + 10.0 * self.strength
            furthest[far] = np.abs(prices[far]).max(axis=(1, 2))
            cut = np.minimum(1.0, reach / np.maximum(furthest, 1e-300))
            direction *= cut[:, None]
            prices *= cut[:, None, None]
        return prices

    @cached_property
    def _spread(self) -> Array:
        return _spread(self._problem, options_first(self._values))

    def _direction(self, x: Array, live: Index, duals: Array, slope: Array) -> Array:
        """Minimise the damped quadratic model over λ + d ≥ 0, by changing sets of fixed rows."""
        response = self.regulariser.response(x, self.strength)
        every = len(live) == len(self.duals)
        curvature = curvature_of(self._of(live, every), response)
        near = np.minimum(_part(self.residual, live, every), 1.0)
        damping = _part(self.damping, live, every) * near + _LEAST_SHIFT
        # Where every group is decided, what is left of the curvature is rounding.
        rounding = 1e-15 * self.structure.largest_use**2 * largest_weight(response)
        steepest = curvature.diagonal.max(axis=1, initial=0.0)
        shift = (damping * steepest + rounding)[:, None]
        # Held at first: rows without room, and those that would use up theirs if moved alone. To
        # hold a row in vain costs one round more, to let go of it in vain two.
        room = duals - self.least_dual
        fixed = (room <= 0.0) | (room * (curvature.diagonal + shift) < slope)
        downhill, to_zero = -slope, -duals
        for _ in range(_MOST_SWITCHES):
            if some := fixed.any():
                right = downhill - curvature.times(np.where(fixed, to_zero, 0.0))
                direction = curvature.solve(right, np.where(fixed, HELD, shift))
                np.copyto(direction, to_zero, where=fixed)
            else:
                direction = curvature.solve(downhill, shift)
            below = duals + direction < self.least_dual
            if not (some or below.any()):
                return direction
            pull = slope + curvature.times(direction) + shift * direction
            switched = np.where(fixed, pull > 0.0, below)
            changed = switched != fixed
            if not changed.any():
                return np.maximum(direction, self.least_dual - duals)
            fixed = switched
        direction = np.maximum(direction, self.least_dual - duals)
        for row in np.flatnonzero(changed.any(axis=1)).tolist():  # sets that go round in circles
            matrix = curvature.one(row) + shift[row] * np.eye(duals.shape[1])
            direction[row] = _bounded(matrix, slope[row], duals[row], self.equality)
        return direction


def _part(array: Any, index: Index, every: bool) -> Any:
    """Return the entries asked for; the array itself, not a copy, if that is all of them."""
    return array if every else array[index]


def _shared(numbers: Array, index: Index) -> Array:
    """Return the entries asked for of what is (K, M), or (1, M) where all share it."""
    return numbers if len(numbers) == 1 else numbers[index]


def _bounded(matrix: Array, slope: Array, duals: Array, equality: Mask) -> Array:
    """Minimise slope·d + ½ dᵀ matrix d over λ + d ≥ 0 as least squares in λ + d, by active sets."""
    from scipy.optimize import nnls

    try:
        factor = np.linalg.cholesky(matrix).T
        target = factor @ duals - np.linalg.solve(factor.T, slope)
        # A free multiplier is the difference of two that are not.
        signed = np.concatenate([factor, -factor[:, equality]], axis=1)
        parts, _ = nnls(signed, target)
    except (np.linalg.LinAlgError, RuntimeError):
        # A gradient step that no curvature can spoil.
        step: Array = -slope / np.abs(matrix).sum(axis=1)
        return np.where(equality, step, np.maximum(step, -duals))
    there = parts[: len(duals)]
    there[equality] -= parts[len(duals) :]
    found: Array = there - duals
    return found


def _spread(problem: Problem, values: Array) -> Array:
    """(K,): how far the values of an instance lie apart, options that do not exist left out."""
    high, low = values, values
    if problem.ragged:
        high = np.where(problem.mask, values, -np.inf)
        low = np.where(problem.mask, values, np.inf)
    spread: Array = high.max(axis=2).max(axis=1) - low.min(axis=2).min(axis=1)
    return spread
