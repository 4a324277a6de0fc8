"""The values for which a decision is optimal, as a cone, and projections onto it.

At a decision x the constraints that bind are rows A x = b, groups Σ_s x_gs = 1 and bounds
x_gs ≥ 0. The values whose relaxation x solves are the combinations of their normals,

    N(x) = { Aᵀλ + μ − ν :  λ_m ≥ 0 on ≤ rows that bind, of either sign on = rows, 0 on others;
                            μ one number per group;  ν ≥ 0, 0 where x_gs > 0 }

Where a group has an option of known value (*leave*, *not visited*), values are measured from it:
only differences within a group decide, and that option is then no coordinate, as in the usual
statement of a knapsack or a path. For given λ the nearest point is known group by group
(`NormalCone._fit`), so the projection is a smooth convex problem in λ alone,

    min_λ  f(λ) = Σ_gs r_gs²,   r what is left of the values,   ∇f = −2 A r

and Newton's method with an active set for λ ≥ 0 solves it in a few steps, all instances of a
batch at once. Each step ends in the cone. It is the non-negative least squares problem of
projecting onto the normals, without a matrix of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dglbench.problem import Array, Mask, Problem

__all__ = ["NormalCone", "Projection", "row_lengths"]

_ZERO = 1e-6
"""Decisions and rows nearer than this to a bound are at it."""
_DONE = 1e-10
"""A projection ends where the slope is below this share of what it was at λ = 0."""
_EXACT = 1e-7
"""It is exact where rounding keeps the slope from that, but not from this."""
_MOST_STEPS = 100
_HALVINGS = 30
_ROUNDING = 1e-15
_KNOWN_WEIGHT = 1e-6
"""Share of an option in a group measured from its known option: the curvature is exact as → 0."""
_RIDGE = 1e-9


class Projection(NamedTuple):
    """The nearest points of the cones, for a batch of values, both as differences (B, G, S)."""

    point: Array
    """In the cone; the nearest one where ``exact``."""
    residual: Array
    """The values less the point."""
    exact: Mask
    """(B,)"""


class NormalCone:
    """N(x) for decisions x (B, G, S), optima of a relaxation or of the integer problem.

    ``problem`` is of these instances where they differ.
    """

    def __init__(self, problem: Problem, x: Array) -> None:
        self.problem = problem
        exists = np.broadcast_to(problem.mask, x.shape)
        known = exists & ~problem.predicted
        self._base = known.argmax(axis=2)[:, :, None]
        self._based: Mask = np.asarray(known.any(axis=2))
        """(B, G): the groups that are measured from an option of known value."""
        self.coordinates = exists.copy()
        """(B, G, S): the options that are coordinates."""
        at_base = np.take_along_axis(self.coordinates, self._base, axis=2)
        np.put_along_axis(self.coordinates, self._base, at_base & ~self._based[:, :, None], axis=2)
        self.held = (x > _ZERO) & self.coordinates
        """(B, G, S): where no bound binds."""
        self.full = (x > 1 - _ZERO) & self.coordinates
        picked = np.take_along_axis(x, self._base, axis=2)[:, :, 0] > _ZERO
        self._fixed = self._based & picked
        self._above = self._based & ~picked
        slack = problem.b - problem.usage(x)
        self.binding = problem.equality | (np.abs(slack) <= _ZERO * problem.row_units)
        """(B, M): the rows that bind."""
        self.at_least = np.where(problem.equality, -np.inf, 0.0)

    def differences(self, values: Array) -> Array:
        """Return values (B, G, S) measured from their group's known option, 0 off coordinates."""
        base = np.take_along_axis(values, self._base, axis=2) * self._based[:, :, None]
        found: Array = np.where(self.coordinates, values - base, 0.0)
        return found

    def gradient(self, slope: Array) -> Array:
        """Return the gradient in values of something with this slope in their differences."""
        return self._balanced(slope)

    def average(self, lengths: Array) -> Array:
        """(B, G, S): the mean unit normal of what binds.

        Bounds are x ≥ 0 and x ≤ 1 of every coordinate. An = row, and a group that is not measured
        from a known option, binds from both sides: its two normals cancel, but count as two of
        those averaged. ``lengths`` are those of `row_lengths`.
        """
        bounds = np.where(self.full, 1.0, np.where(self.held, 0.0, -1.0))
        bounds[~self.coordinates] = 0.0
        tight = self.binding & ~self.problem.equality & (lengths > 0)
        weights = np.divide(1.0, lengths, out=np.zeros(tight.shape), where=tight)
        both = self.problem.equality.sum() + (self.coordinates.any(axis=2) & ~self._based).sum(
            axis=1
        )
        number = np.abs(bounds).sum(axis=(1, 2)) + tight.sum(axis=1) + 2 * both
        total = bounds + self.differences(self.problem.prices(weights))
        mean: Array = total / np.maximum(number, 1.0)[:, None, None]
        return mean

    def project(self, values: Array, most_steps: int | None = None) -> Projection:
        """Project values (B, G, S); with ``most_steps`` the result may be a point further inside.

        Whatever the number of steps, the point is in the cone.
        """
        wanted = self.differences(values)
        size = np.sqrt(np.square(wanted).sum(axis=(1, 2)))
        scaled = wanted / np.where(size > 0, size, 1.0)[:, None, None]
        duals = np.zeros((len(values), self.problem.rows))
        residual, curved, weight = self._fit(scaled, duals)
        objective = np.square(residual).sum(axis=(1, 2))
        slope = -2.0 * self._slope(residual)
        unit = np.maximum(np.abs(slope).max(axis=1, initial=0.0), 1.0)
        steepest = self._steepest(duals, slope) / unit
        for _ in range(_MOST_STEPS if most_steps is None else most_steps):
            left = steepest > _DONE
            if not left.any():
                break
            free = self.binding & ~((duals <= self.at_least) & (slope > 0)) & left[:, None]
            step = self._newton(slope, free, curved, weight)
            duals, moved = self._line_search(scaled, duals, step, slope, objective)
            residual, curved, weight = self._fit(scaled, duals)
            objective = np.square(residual).sum(axis=(1, 2))
            slope = -2.0 * self._slope(residual)
            steepest = self._steepest(duals, slope) / unit
            if not moved.any():
                break
        residual *= size[:, None, None]
        return Projection(wanted - residual, residual, steepest <= _EXACT)

    def _steepest(self, duals: Array, slope: Array) -> Array:
        """(B,): the steepest slope along which λ may change; 0 at the nearest point."""
        wrong = np.where(duals > self.at_least, np.abs(slope), np.maximum(-slope, 0.0))
        worst: Array = np.where(self.binding, wrong, 0.0).max(axis=1, initial=0.0)
        return worst

    def _newton(self, slope: Array, free: Mask, curved: Array, weight: Array) -> Array:
        """(B, M): the Newton step in the free rows."""
        hessian = 2.0 * self.problem.structure.curvature(curved, weight)
        hessian *= free[:, :, None] & free[:, None, :]
        diagonal = np.einsum("bmm->bm", hessian)  # a view
        downhill = np.where(free, -slope, 0.0)
        # Where the residual falls in a straight line there is no curvature; a ridge as large as
        # the slope bounds the step there and vanishes at the optimum.
        ridge = np.maximum(_RIDGE, 0.1 * np.abs(downhill).max(axis=1, initial=0.0))[:, None]
        diagonal += np.where(free, ridge, 1.0)
        return np.asarray(np.linalg.solve(hessian, downhill[:, :, None])[:, :, 0], dtype=np.float64)

    def _line_search(
        self, wanted: Array, duals: Array, step: Array, slope: Array, objective: Array
    ) -> tuple[Array, Mask]:
        """Go along the step, cut at λ ≥ 0, as far as the residual becomes smaller."""
        length = np.ones(len(duals))
        best, moved = duals.copy(), np.zeros(len(duals), dtype=bool)
        for _ in range(_HALVINGS):
            tried = np.maximum(duals + length[:, None] * step, self.at_least)
            residual, *_ = self._fit(wanted, tried)
            fallen = objective - np.square(residual).sum(axis=(1, 2))
            promised = (slope * (duals - tried)).sum(axis=1)
            good = ~moved & (fallen >= 1e-4 * promised - _ROUNDING * objective) & (promised > 0)
            best[good], moved = tried[good], moved | good
            if (moved | (promised <= 0)).all():
                break
            length = np.where(moved, length, length / 2)
        return best, moved

    def _fit(self, wanted: Array, duals: Array) -> tuple[Array, Array, Array]:
        """Return what is left (B, G, S) with the best μ and ν for these λ, and its curvature.

        The curvature is z and w of `Structure.curvature`: how what is left moves with λ.
        """
        left = wanted - self.differences(self.problem.prices(duals))
        left[~self.coordinates] = -np.inf
        level = self._levels(left)
        clipped = self._fixed | (self._above & (level <= 0))
        level = np.where(clipped, 0.0, level)
        left -= level[:, :, None]
        active = self.held | (left > 0)
        residual: Array = np.where(active & self.coordinates, left, 0.0)
        number = active.sum(axis=2)
        share = np.where(clipped, _KNOWN_WEIGHT, 1.0 / np.maximum(number, 1))
        curved: Array = np.where(active, share[:, :, None], 0.0)
        rest = np.where(clipped, 1.0 - number * _KNOWN_WEIGHT, 0.0)[:, :, None]
        at_base = np.take_along_axis(curved, self._base, axis=2)
        np.put_along_axis(curved, self._base, at_base + rest, axis=2)
        return residual, curved, 1.0 / share

    def _levels(self, left: Array) -> Array:
        """(B, G): the μ that leaves least, Σ_held (t − μ)² + Σ_others max(0, t − μ)²."""
        held = self.held.sum(axis=2, keepdims=True)
        total = np.where(self.held, left, 0.0).sum(axis=2, keepdims=True)
        others = -np.sort(-np.where(self.held, -np.inf, left), axis=2)
        sums = total + np.cumsum(np.where(np.isfinite(others), others, 0.0), axis=2)
        means = sums / (held + np.arange(1, left.shape[2] + 1))
        above = (others > means) & (held > 0)
        number = above.sum(axis=2, keepdims=True)  # those above the mean come first
        chosen = np.take_along_axis(sums, np.maximum(number - 1, 0), axis=2)
        best = np.where(number > 0, chosen, total) / np.maximum(held + number, 1)
        levels: Array = best[:, :, 0]
        return levels

    def _balanced(self, differences: Array) -> Array:
        """Give each group's known option the negative sum of the others."""
        balanced = differences.copy()
        own = np.take_along_axis(balanced, self._base, axis=2)
        known = np.where(self._based[:, :, None], -differences.sum(axis=2, keepdims=True), own)
        np.put_along_axis(balanced, self._base, known, axis=2)
        return balanced

    def _slope(self, residual: Array) -> Array:
        """A r, (B, M), r measured from the known options."""
        return self.problem.usage(self._balanced(residual))


def row_lengths(problem: Problem) -> Array:
    """(1, M) or (K, M): the Euclidean length of each row over the coordinates of `NormalCone`."""
    some = np.zeros((problem.instances or 1, *problem.shape))
    cone = NormalCone(problem, some)
    squares = [
        np.square(cone.differences(problem.prices(np.tile(unit, (len(some), 1)))))
        for unit in np.eye(problem.rows)
    ]
    lengths: Array = np.sqrt(np.stack([each.sum(axis=(1, 2)) for each in squares], axis=1))
    return lengths
