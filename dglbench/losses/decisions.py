"""Decisions at given prices λ, soft and hard, and whether they keep to the global rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from dglbench.losses.batch import Constraints

__all__ = ["broken_rows", "hard_decisions", "rounding", "soft_decisions"]


def soft_decisions(
    values: torch.Tensor, prices: torch.Tensor, tau: float, constraints: Constraints
) -> torch.Tensor:
    """z̃ = softmax over each group of (values − Aᵀλ)/τ; tends to the argmax as τ → 0."""
    return constraints.padded_scores((values - prices) / tau).softmax(dim=-1)


def hard_decisions(
    values: torch.Tensor, prices: torch.Tensor, constraints: Constraints
) -> torch.Tensor:
    """z = argmax over each group of values − Aᵀλ, as 0 and 1; the first wins a tie."""
    import torch

    scores = constraints.padded_scores(values - prices)
    return torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)


def broken_rows(spare: torch.Tensor, constraints: Constraints) -> torch.Tensor:
    """Say which rows are broken beyond rounding, (B, M), given spare = b − A x.

    A ≤ row is broken by using too much, an = row by any other use than b.
    """
    allowed = rounding(constraints)
    return (spare < -allowed) | (constraints.equality & (spare > allowed))


def rounding(constraints: Constraints) -> torch.Tensor:
    """(M,) or (B, M): how far A x may be off b and still count as equal to it.

    Sums of fractional weights miss b by rounding; a test without this allowance would
    see a row broken that is exactly full.
    """
    return 1e-9 * constraints.b.abs().clamp_min(1.0)
