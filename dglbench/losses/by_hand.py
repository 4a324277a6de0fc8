"""Soft decisions and gradients worked out by hand: autograd costs more than what it works out."""

from __future__ import annotations

import numpy as np
import torch

from dglbench.layers.regularisers import Entropy, Response, apply_response
from dglbench.problem import Array, Problem
from dglbench.structure.base import options_first

__all__ = ["attached", "by_option", "soft_at", "squared_error", "worth_gradient"]

_ENTROPY = Entropy()


def by_option(values: torch.Tensor) -> Array:
    """Return a tensor's numbers (B, G, S) in double precision, laid out as is fastest here."""
    return options_first(values.detach().to(torch.float64).numpy())


def soft_at(problem: Problem, values: Array, prices: Array, tau: float) -> Array:
    """z̃ = softmax over each group of (values − Aᵀλ)/τ; 0 on padding."""
    scores = values - prices
    if problem.ragged:
        scores = np.where(problem.mask, scores, -np.inf)
    return _ENTROPY.decide(scores, tau)


def worth_gradient(soft: Array, worth: Array, tau: float) -> Array:
    """Return the gradient of −worth·z̃ in the values, (B, G, S), for a worth that stands still."""
    return -apply_response(Response(soft, 1.0 / tau), worth)


def squared_error(problem: Problem, values: Array, labels: Array) -> tuple[float, Array]:
    """Return the mean squared error over what is predicted, and its gradient in the values."""
    counted = problem.counted
    error = values - labels
    number = error.size
    if not counted.all():
        error = np.where(counted, error, 0.0)
        number = int(counted.sum()) * (1 if counted.ndim == error.ndim else len(error))
    return float((error * error).sum()) / number, error * (2.0 / number)


def attached(predictions: torch.Tensor, value: float, gradient: Array) -> torch.Tensor:
    """Return the scalar ``value`` with a gradient in the predictions that is known already."""
    known = torch.from_numpy(np.ascontiguousarray(gradient)).to(predictions.dtype)
    # A dot product is the cheapest thing to differentiate; what it amounts to is taken out.
    carrier = torch.dot(predictions.reshape(-1), known.reshape(-1))
    return carrier + (value - float(carrier.detach()))
