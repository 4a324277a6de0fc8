"""What makes decisions smooth: entropy (softmax) or a square (projection on the simplex).

Within every pick-one group a regulariser Ω turns scores h into

    x(h) = argmax_{x in simplex}  h·x − Ω(x),      Ω*(h) = the value of that maximum

    entropy, strength τ      Ω = τ Σ x log x       x = softmax(h/τ)
    quadratic, strength μ    Ω = (μ/2)‖x‖²         x = projection of h/μ on the simplex

Both move with their scores by a matrix of one shape, J = w (diag z − z zᵀ) group by group:
z = x and w = 1/τ for entropy; z even over the support of x and w = |support|/μ for the square.

All of it is fastest on numbers laid out option by option (`options_first`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from dglbench.problem import Array

__all__ = [
    "Entropy",
    "Quadratic",
    "Regulariser",
    "Response",
    "apply_response",
    "largest_weight",
    "project",
    "softmax_pull",
]

_FEW_OPTIONS = 8
"""Up to this many options are sorted by comparing all pairs, whole arrays at a time."""


class Response(NamedTuple):
    """How decisions move with scores: J = w (diag z − z zᵀ) in every group."""

    z: Array
    """(K, G, S)"""
    weight: Array | float
    """w: (K, G), or one number for all groups."""


def apply_response(response: Response, direction: Array) -> Array:
    """J v for v of shape (K, G, S)."""
    moved = softmax_pull(response.z.transpose(2, 0, 1), direction.transpose(2, 0, 1))
    if not (isinstance(response.weight, float) and response.weight == 1.0):
        moved *= response.weight  # one number, or (K, G)
    return moved.transpose(1, 2, 0)


def softmax_pull(z: Array, direction: Array) -> Array:
    """(diag z − z zᵀ) v in every group, all (S, K, G): torch has it as one call."""
    import torch

    soft, towards = torch.from_numpy(z), torch.from_numpy(direction)
    pull: Array = torch._softmax_backward_data(towards, soft, 0, torch.float64).numpy()
    return pull


def largest_weight(response: Response) -> Array | float:
    """(K,), or one number: the largest w of an instance."""
    weight = response.weight
    if isinstance(weight, float):
        return weight
    largest: Array = weight.max(axis=1)
    return largest


class Regulariser(ABC):
    """Smooth decisions at a strength: τ or μ."""

    symbol: ClassVar[str]

    def choose(self, scores: Array, strength: float) -> tuple[Array, Array]:
        """Return x(h), (K, G, S), and Σ_g Ω*(h_g), (K,); a score of −∞ is never chosen."""
        x = self.decide(scores, strength)
        return x, self.conjugate(scores, x, strength)

    @abstractmethod
    def decide(self, scores: Array, strength: float) -> Array:
        """Return x(h) alone."""

    @abstractmethod
    def conjugate(self, scores: Array, x: Array, strength: float) -> Array:
        """Return Σ_g Ω*(h_g), (K,), for scores h and x = x(h)."""

    @abstractmethod
    def response(self, x: Array, strength: float) -> Response:
        """Return J at decisions that `decide` returned."""


class Entropy(Regulariser):
    """Softmax at temperature τ."""

    symbol: ClassVar[str] = "tau"

    def decide(self, scores: Array, strength: float) -> Array:
        """See `Regulariser.decide`; torch's softmax over the first axis is the fastest there is."""
        import torch

        by_option = torch.from_numpy(scores.transpose(2, 0, 1) / strength)
        return by_option.softmax(0).numpy().transpose(1, 2, 0)

    def conjugate(self, scores: Array, x: Array, strength: float) -> Array:
        """See `Regulariser.conjugate`."""
        best = scores.max(axis=2, keepdims=True)
        total = np.exp((scores - best) / strength).sum(axis=2)
        value: Array = best.sum(axis=(1, 2)) + strength * np.log(total).sum(axis=1)
        return value

    def response(self, x: Array, strength: float) -> Response:
        """See `Regulariser.response`."""
        return Response(x, 1.0 / strength)


class Quadratic(Regulariser):
    """Projection on the simplex (sparsemax) at strength μ."""

    symbol: ClassVar[str] = "mu"

    def decide(self, scores: Array, strength: float) -> Array:
        """See `Regulariser.decide`."""
        # ≤ 0: large scores would cost the projection its last digits.
        return project((scores - scores.max(axis=2, keepdims=True)) / strength)

    def conjugate(self, scores: Array, x: Array, strength: float) -> Array:
        """See `Regulariser.conjugate`."""
        best = scores.max(axis=2, keepdims=True)
        chosen = np.where(x > 0.0, scores - best, 0.0)
        value: Array = (chosen * x - strength / 2 * x * x).sum(axis=(1, 2)) + best.sum(axis=(1, 2))
        return value

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
    sums = np.zeros(points.shape[:-1])
    level = sums - 1.0
    for count, ordered in enumerate(_descending(floored), start=1):
        sums = sums + ordered
        level = np.where(1.0 + count * ordered > sums, (sums - 1.0) / count, level)
    x: Array = np.maximum(floored - level[..., None], 0.0)
    return x


def _descending(points: Array) -> list[Array]:
    """Return the largest entries of all (…, S) rows, then the second largest, …"""
    options = points.shape[-1]
    if options > _FEW_OPTIONS:
        ordered = np.sort(points, axis=-1)
        return [ordered[..., s] for s in range(options - 1, -1, -1)]
    columns = [points[..., s] for s in range(options)]
    for end in range(options - 1, 0, -1):
        for s in range(end):
            left, right = columns[s], columns[s + 1]
            columns[s], columns[s + 1] = np.maximum(left, right), np.minimum(left, right)
    return columns
