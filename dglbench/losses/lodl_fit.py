"""Fit the low-rank quadratics of LODL, those of all labels at once."""

from __future__ import annotations

from typing import NamedTuple

import torch

__all__ = ["Quadratics", "features", "fit_quadratics"]

_STEPS = 100
_RATE = 0.05
"""Of Adam, beside the roots of the weights that it starts with."""
_HELD_OUT = 0.2


def features(error: torch.Tensor, shape: str) -> torch.Tensor:
    """(n, d): the errors; in the directed form (n, 2d), their parts above and below 0."""
    if shape == "quadratic":
        return error
    return torch.cat([error.clamp_min(0.0), error.clamp_max(0.0)], dim=1)


class Quadratics(NamedTuple):
    """For each of K labels, the loss ‖Lᵀu‖² + w·u² of an input u (D,)."""

    factors: torch.Tensor
    """(K, D, r): L."""
    weights: torch.Tensor
    """(K, D): w ≥ 0."""


def fit_quadratics(
    inputs: torch.Tensor, losses: torch.Tensor, allowed: torch.Tensor, start: torch.Tensor
) -> tuple[Quadratics, float]:
    """Return quadratics near the losses (K, n) at the inputs (n, D), and how good they are.

    Squared error by Adam, from even weights that meet each label's mean loss and a small factor
    ``start`` (D, r). Samples held out say at which step each label stops. All is 0 where
    ``allowed`` (K, D) says that nothing is predicted. The number returned is the squared error
    held out, as a share of that of the best even weights.
    """
    count, width, rank = len(losses), *start.shape
    held = max(1, int(_HELD_OUT * len(inputs)))
    mask = allowed.T.to(start)  # (D, K)
    squares = inputs.square()
    even = mask / (squares[held:] @ mask).mean(dim=0).clamp_min(1e-300)
    scale = losses[:, held:].mean(dim=1)
    targets = (losses / scale.clamp_min(1e-300)[:, None]).T  # (n, K)
    targets[:, scale == 0.0] = 0.0
    factors = (start[:, None, :] * mask[:, :, None] * even.sqrt()[:, :, None]).requires_grad_()
    roots = even.sqrt().requires_grad_()
    adam = torch.optim.Adam([factors, roots], lr=_RATE * float(even.sqrt().mean()))
    best = [torch.zeros_like(factors), torch.zeros_like(roots)]
    least = torch.full((count,), torch.inf).to(start)
    for step in range(_STEPS + 1):
        masked = (factors * mask[:, :, None]).reshape(width, count * rank)
        weights = roots.square() * mask
        fitted = (inputs @ masked).reshape(-1, count, rank).square().sum(dim=2)
        wrong = (fitted + squares @ weights - targets).square()
        with torch.no_grad():
            now = wrong[:held].mean(dim=0)
            if step == 0:
                plain = (squares[:held] @ even - targets[:held]).square().mean(dim=0)
            better = now < least
            least = torch.where(better, now, least)
            best[0] = torch.where(better[None, :, None], masked.reshape(factors.shape), best[0])
            best[1] = torch.where(better[None, :], weights, best[1])
        adam.zero_grad()
        # Summed over labels: each is a fit of its own, and Adam works entry by entry.
        torch.autograd.backward(wrong[held:].mean(dim=0).sum())
        adam.step()
    real = scale > 0
    share = float(least[real].sum() / plain[real].sum()) if real.any() else 0.0
    found = best[0] * scale.sqrt()[None, :, None], best[1] * scale
    return Quadratics(*(part.transpose(0, 1).contiguous() for part in found)), share
