"""Soft decisions and gradients worked out by hand: autograd costs more than what it works out."""

from __future__ import annotations

import numpy as np
import torch

from dglbench.layers.regularisers import Entropy
from dglbench.problem import Array, Problem
from dglbench.structure.base import options_first

__all__ = ["attached", "by_option", "soft_at", "squared_error", "worth_of"]

_ENTROPY = Entropy()
_FEW_OPTIONS = 6


def by_option(values: torch.Tensor) -> Array:
    """Return a tensor's numbers (B, G, S) in double precision, laid out as is fastest here."""
    return options_first(values.detach().to(torch.float64).numpy())


def soft_at(problem: Problem, values: Array, prices: Array, tau: float) -> Array:
    """z̃ = softmax over each group of (values − Aᵀλ)/τ; 0 on padding."""
    scores = values - prices
    if problem.ragged:
        scores = np.where(problem.mask, scores, -np.inf)
    return _ENTROPY.decide(scores, tau)


def worth_of(worth: Array, soft: Array) -> float:
    """Return worth·z̃ of the whole batch."""
    return float(np.vdot(worth.transpose(2, 0, 1), soft.transpose(2, 0, 1)))


def squared_error(
    problem: Problem, values: Array, labels: Array, weight: float
) -> tuple[float, Array]:
    """Return weight · MSE over what is predicted, and its gradient in the values."""
    error = values - labels
    number = error.size
    if not problem.all_counted:
        counted = problem.counted
        error = np.where(counted, error, 0.0)
        number = int(counted.sum()) * (1 if counted.ndim == error.ndim else len(error))
    return weight * worth_of(error, error) / number, error * (2.0 * weight / number)


def attached(
    predictions: torch.Tensor, value: float, gradient: Array | torch.Tensor
) -> torch.Tensor:
    """Return the scalar ``value`` with a gradient in the predictions that is known already."""
    if not isinstance(gradient, torch.Tensor):
        gradient = torch.from_numpy(_by_group(gradient))
    known = gradient.to(predictions.dtype)
    # A dot product is the cheapest thing to differentiate; its own value is of no interest.
    loss = torch.dot(predictions.reshape(-1), known.reshape(-1))
    loss.detach().fill_(value)
    return loss


def _by_group(values: Array) -> Array:
    """Undo `options_first`."""
    if values.shape[2] > _FEW_OPTIONS:
        return np.ascontiguousarray(values)
    together = np.empty(values.shape)
    for option in range(values.shape[2]):  # twice as fast, while they are few
        together[:, :, option] = values[:, :, option]
    return together
