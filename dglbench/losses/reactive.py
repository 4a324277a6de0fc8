"""The third form of the dual-guided loss: prices that react to the predictions.

Soft decisions z(ŷ, λ) = softmax((ŷ − Aᵀλ)/τ) at the λ of the *smoothed* problem, max ŷ·x plus
τ times the entropy of x, keep its rows: A z = b on = rows and on ≤ rows with λ > 0 (the rows
F). As ŷ moves, so does that λ, and the gradient of −y·z(ŷ, λ(ŷ)) is

    −J (y − A_Fᵀ w),     w = (A_F J A_Fᵀ)⁻¹ A_F J y,     J = (diag z − z zᵀ)/τ group by group

which is that of the paper's loss with w in place of λ in the worth: what a change of prices
could buy is not worth learning. It costs one M × M system per instance and no solver call.

Near: Gould, Hartley and Campbell, Deep Declarative Networks, 2019, for the sensitivity;
Brauer et al., A Sinkhorn-Newton Method, 2017, for the steps in λ.
"""

from __future__ import annotations

from dglbench.layers.dual_newton import DualPoint, follow, minimise
from dglbench.layers.price_sensitivity import reacting_prices, reacting_rows
from dglbench.layers.regularisers import Entropy, Regulariser, Response
from dglbench.problem import Array, Mask, Problem

__all__ = ["reaction_to", "smoothed_duals", "tracked_duals"]

_ENTROPY: Regulariser = Entropy()


def smoothed_duals(problem: Problem, values: Array, tau: float, start: Array) -> DualPoint:
    """Return λ of the smoothed problem, from multipliers near it such as those of the LP.

    It is unique where it matters, so whichever optimal duals ``start`` are, the end is the same.
    """
    return minimise(problem, values, _ENTROPY, tau, start=start)


def tracked_duals(
    problem: Problem, values: Array, tau: float, start: Array, steps: int
) -> DualPoint:
    """Follow λ by at most ``steps`` Newton steps; the predictions have moved a little since."""
    return follow(problem, values, _ENTROPY, tau, start, most_steps=steps, aim=1e-6)


def reaction_to(problem: Problem, soft: Array, worth: Array, duals: Array) -> Array:
    """Return A_Fᵀ w for soft decisions z at the prices λ (B, M); z, y and the answer (S, B, G)."""
    response = Response(soft.transpose(1, 2, 0), 1.0)  # w is the same whatever τ
    reacting: Mask = reacting_rows(problem, duals)
    prices = reacting_prices(problem.structure, response, worth.transpose(1, 2, 0), reacting)
    return problem.prices(prices).transpose(2, 0, 1)
