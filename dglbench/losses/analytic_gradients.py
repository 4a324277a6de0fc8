"""Soft decisions and gradients in closed form: autograd would cost more than they do.

Numbers lie option by option, (S, B, G): groups have few options, and a softmax over a short last
axis takes seven times as long. A batch is small, so that each call counts, and one of numpy costs
less than one of torch; what torch has as a single call is left to it.
"""

from __future__ import annotations

import numpy as np
import torch

from dglbench.problem import Array, Problem

__all__ = ["attached", "below", "by_option", "soft_at", "squared_error"]


def by_option(numbers: Array) -> Array:
    """Return (B, G, S) numbers as (S, B, G), a view."""
    return numbers.transpose(2, 0, 1)


def below(prices: Array, values: Array) -> Array:
    """Return prices − values, (S, B, G), for both of shape (B, G, S)."""
    return np.subtract(by_option(prices), by_option(values), order="C")


def soft_at(problem: Problem, values: Array, prices: Array, tau: float) -> Array:
    """z̃ = softmax over each group of (values − Aᵀλ)/τ, (S, B, G); 0 on padding."""
    scores = below(prices, values)
    scores /= -tau
    if problem.ragged:
        np.copyto(scores.transpose(1, 2, 0), -np.inf, where=~problem.mask)
    soft: Array = torch.from_numpy(scores).softmax(0).numpy()
    return soft


def squared_error(
    problem: Problem, values: Array, labels: Array, weight: float
) -> tuple[float, Array]:
    """Return weight · MSE over what is predicted, and its gradient in the values."""
    error = values - labels
    number = error.size
    if not problem.all_counted:
        counted = problem.counted
        np.copyto(error, 0.0, where=~counted)
        number = int(counted.sum()) * (1 if counted.ndim == error.ndim else len(error))
    value = weight * float(np.vdot(error, error)) / number
    error *= 2.0 * weight / number
    return value, error


def attached(predictions: torch.Tensor, value: float, gradient: torch.Tensor) -> torch.Tensor:
    """Return the scalar ``value`` with a gradient in the predictions that is known already."""
    known = gradient.to(predictions.dtype)
    # A dot product is the cheapest thing to differentiate; its own value is of no interest.
    loss = torch.dot(predictions.reshape(-1), known.reshape(-1))
    loss.detach().fill_(value)
    return loss
