"""What makes decisions smooth: entropy (softmax) or a square (projection on the simplex).

Within every pick-one group a regulariser Ω turns scores h into

    x(h) = argmax_{x in simplex}  h·x − Ω(x),      Ω*(h) = the value of that maximum

    entropy, strength τ      Ω = τ Σ x log x       x = softmax(h/τ)
    quadratic, strength μ    Ω = (μ/2)‖x‖²         x = projection of h/μ on the simplex

Both move with their scores by a matrix of one shape, J = w (diag z − z zᵀ) group by group:
z = x and w = 1/τ for entropy; z even over the support of x and w = |support|/μ for the square.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from dglbench.problem import Array

__all__ = ["Entropy", "Quadratic", "Regulariser", "Response", "apply_response", "project"]


class Response(NamedTuple):
    """How decisions move with scores: J = w (diag z − z zᵀ) in every group."""

    z: Array
    """(K, G, S)"""
    weight: Array
    """(K, G): w."""


def apply_response(response: Response, direction: Array) -> Array:
    """J v for v of shape (K, G, S)."""
    z, weight = response
    weighted = z * direction
    lean = weighted.sum(axis=2, keepdims=True)
    moved: Array = (weighted - z * lean) * weight[:, :, None]
    return moved


class Regulariser(ABC):
    """Smooth decisions at a strength: τ or μ."""

    symbol: ClassVar[str]

    @abstractmethod
    def choose(self, scores: Array, strength: float) -> tuple[Array, Array]:
        """Return x(h), (K, G, S), and Σ_g Ω*(h_g), (K,); a score of −∞ is never chosen."""

    @abstractmethod
    def response(self, x: Array, strength: float) -> Response:
        """Return J at decisions that `choose` returned."""


class Entropy(Regulariser):
    """Softmax at temperature τ."""

    symbol: ClassVar[str] = "tau"

    def choose(self, scores: Array, strength: float) -> tuple[Array, Array]:
        """See `Regulariser.choose`."""
        best = scores.max(axis=2, keepdims=True)
        weights = np.exp((scores - best) / strength)
        total = weights.sum(axis=2, keepdims=True)
        value = (best + strength * np.log(total)).sum(axis=(1, 2))
        return weights / total, value

    def response(self, x: Array, strength: float) -> Response:
        """See `Regulariser.response`."""
        return Response(x, np.full(x.shape[:2], 1.0 / strength))


class Quadratic(Regulariser):
    """Projection on the simplex (sparsemax) at strength μ."""

    symbol: ClassVar[str] = "mu"

    def choose(self, scores: Array, strength: float) -> tuple[Array, Array]:
        """See `Regulariser.choose`."""
        best = scores.max(axis=2, keepdims=True)
        lead = scores - best  # ≤ 0: large scores would cost the projection its last digits
        x = project(lead / strength)
        chosen = np.where(x > 0.0, lead, 0.0)
        value = (chosen * x - strength / 2 * x * x).sum(axis=(1, 2)) + best.sum(axis=(1, 2))
        return x, value

    def response(self, x: Array, strength: float) -> Response:
        """See `Regulariser.response`; at a tie of the projection, one of its derivatives."""
        support = x > 0.0
        size = support.sum(axis=2)
        return Response(support / size[:, :, None], size / strength)


def project(points: Array) -> Array:
    """Project each (…, S) row on the simplex; its largest entry must be 0, −∞ stays outside.

    The support are the k largest entries, k the last at which 1 + k·p_(k) > Σ_{j≤k} p_(j)
    (Held, Wolfe and Crowder 1974).
    """
    # Whatever lies 1 or more under the largest is outside, however far.
    floored = np.maximum(points, -2.0)
    ordered = -np.sort(-floored, axis=-1)
    sums = np.cumsum(ordered, axis=-1)
    count = np.arange(1, points.shape[-1] + 1)
    size = (1.0 + count * ordered > sums).sum(axis=-1, keepdims=True)
    level = (np.take_along_axis(sums, size - 1, axis=-1) - 1.0) / size
    x: Array = np.maximum(floored - level, 0.0)
    return x
