"""Fit the low-rank quadratics of LODL, those of all labels at once."""

from __future__ import annotations

import torch

__all__ = ["features", "fit_factors"]

_STEPS = 150
_RATE = 0.05
"""Of Adam, beside the size that entries of a factor start with."""
_HELD_OUT = 0.2


def features(error: torch.Tensor, shape: str) -> torch.Tensor:
    """(n, d): the errors; in the directed form (n, 2d), their parts above and below 0."""
    if shape == "quadratic":
        return error
    return torch.cat([error.clamp_min(0.0), error.clamp_max(0.0)], dim=1)


def fit_factors(
    inputs: torch.Tensor, losses: torch.Tensor, allowed: torch.Tensor, start: torch.Tensor
) -> tuple[torch.Tensor, float]:
    """Return L (K, D, r) with ‖Lᵀu‖² near the losses (K, n), for inputs u (n, D).

    Squared error by Adam from ``start`` (D, r), scaled so that each label begins with its own
    mean loss. Samples held out say at which step each label stops. L is 0 where ``allowed``
    (K, D) says that nothing is predicted. Also returned: the squared error held out, as a share
    of what the mean of each label's training samples leaves there.
    """
    count, width, rank = len(losses), *start.shape
    held = max(1, int(_HELD_OUT * len(inputs)))
    scale = losses[:, held:].mean(dim=1)
    targets = (losses / scale.clamp_min(1e-300)[:, None]).T  # (n, K)
    targets[:, scale == 0.0] = 0.0
    mask = allowed.T[:, :, None].to(start)  # (D, K, 1)
    factors = (start[:, None, :] * mask).requires_grad_()
    size = float(start.square().mean().sqrt())
    adam = torch.optim.Adam([factors], lr=_RATE * size)
    best, least = torch.zeros_like(factors), torch.full((count,), torch.inf).to(start)
    for _ in range(_STEPS + 1):
        masked = (factors * mask).reshape(width, count * rank)
        fitted = (inputs @ masked).reshape(-1, count, rank).square().sum(dim=2)
        wrong = (fitted - targets).square()
        with torch.no_grad():
            now = wrong[:held].mean(dim=0)
            better = now < least
            least = torch.where(better, now, least)
            best = torch.where(better[None, :, None], factors.detach() * mask, best)
        adam.zero_grad()
        # Summed over labels: each is a fit of its own, and Adam works entry by entry.
        torch.autograd.backward(wrong[held:].mean(dim=0).sum())
        adam.step()
    plain = (targets[:held] - 1.0).square().mean(dim=0)[scale > 0]
    share = float(least[scale > 0].sum() / plain.sum()) if len(plain) else 0.0
    return (best * scale.sqrt()[None, :, None]).transpose(0, 1).contiguous(), share
