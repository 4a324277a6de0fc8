"""How prices react when values move, and what they leave to be gained.

Decisions x(y) at their own prices λ(y) keep the rows F used up: the = rows, and the ≤ rows
with λ > 0. A push of the values towards v then moves decisions by

    J (v − A_Fᵀ w),     w = (A_F J A_Fᵀ)⁻¹ A_F J v

w is the weighted least-squares fit of v by prices, weighted by how undecided each group is:
only what a change of prices cannot buy moves decisions. Where A_F J A_Fᵀ is singular
(transport, exact fits, decided groups) w is the fit of least norm, and 0 where J is 0.
References: Gould, Hartley and Campbell, Deep Declarative Networks, 2019 (the constrained
sensitivity).
"""

from __future__ import annotations

import numpy as np

from dglbench.layers.curvature import HELD, curvature_of
from dglbench.layers.regularisers import Response, apply_response, largest_weight
from dglbench.problem import Array, Mask, Problem
from dglbench.structure import Structure

__all__ = ["reacting_prices", "reacting_rows"]

_SHIFT = 1e-11
"""Added to the curvature, as a share of its largest entry, so that it has an inverse."""
_ROUNDS = 3
"""Each round takes out what the shift left: curvature of 1e-11 is met to 1/8, 1e-9 to 1e-6."""


def reacting_rows(problem: Problem, duals: Array) -> Mask:
    """(K, M): F, the rows whose prices react: = rows, and ≤ rows that cost something."""
    rows: Mask = problem.equality | (duals > 0.0)
    return rows


def reacting_prices(
    structure: Structure, response: Response, towards: Array, reacting: Mask
) -> Array:
    """Return w, (K, M), for v (K, G, S): 0 outside F, and of least norm (by proximal rounds)."""
    curvature = curvature_of(structure, response)
    pull = structure.usage(apply_response(response, towards))
    steepest = np.where(reacting, curvature.diagonal, 0.0).max(axis=1, initial=0.0)
    # Where every group is decided, what is left of the curvature is rounding.
    rounding = 1e-15 * structure.largest_use**2 * largest_weight(response)
    shift = np.where(reacting, (_SHIFT * steepest + rounding)[:, None], HELD)
    return np.where(reacting, curvature.solve(pull, shift, rounds=_ROUNDS), 0.0)
