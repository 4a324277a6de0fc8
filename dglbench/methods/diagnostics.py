"""What dual-guided runs log beside their regret, all of it untimed.

`dual_health` says how stale the duals in use are and where they mislead;
`regret_bound` and `error_bound` are the right-hand sides of the paper's Theorems 1
and 2. `duals_row` and `bound_rows` make of them what `Method.diagnostics` returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.losses.decisions import broken_rows, hard_decisions, soft_decisions
from dglbench.problem import Array

if TYPE_CHECKING:
    import torch

    from dglbench.losses.batch import Constraints
    from dglbench.methods.base import Snapshot

__all__ = [
    "bound_rows",
    "dual_health",
    "duals_row",
    "error_bound",
    "regret_bound",
    "soft_to_hard_gap",
]


def duals_row(snapshot: Snapshot, duals: torch.Tensor) -> dict[str, float]:
    """Return the row of table ``duals`` for the λ in use, (K, M): one relaxation per instance.

    Where instances are very large, only some are used: `Snapshot.sample`.
    """
    import torch

    everyone = snapshot.predict()
    rows = snapshot.sample(len(everyone))
    predictions, constraints = everyone[: len(rows)], snapshot.constraints
    if len(rows) < len(everyone):
        constraints, duals = constraints.at(torch.tensor(rows)), duals[: len(rows)]
    relaxed = snapshot.solver.relax(predictions, rows=rows)
    optimal = (predictions * relaxed).sum(dim=(1, 2))
    return {
        **dual_health(constraints, predictions, duals, optimal),
        "share_refreshed": snapshot.refreshed / len(everyone),
    }


def bound_rows(
    snapshot: Snapshot, label_duals: torch.Tensor, tau: float
) -> dict[str, dict[str, Any]]:
    """Return ``bound`` and, by instance, ``theorem2`` on validation: one dual solve per instance.

    ``label_duals`` are optimal for the validation labels, (V, M). Where instances are
    very large, only some are used: `Snapshot.sample`.
    """
    import torch

    rows = snapshot.sample(len(snapshot.val_labels))
    constraints, count = snapshot.val_constraints, len(rows)
    if count < len(snapshot.val_labels):
        constraints = constraints.at(torch.tensor(rows))
    labels, predictions = snapshot.val_labels[:count], snapshot.val_predictions[:count]
    predicted_duals = snapshot.val_solver.duals(predictions, rows=rows)
    terms = regret_bound(
        constraints, labels, predictions, label_duals[:count], predicted_duals, tau
    )
    terms |= error_bound(constraints, labels, predictions, predicted_duals, tau)
    regret = snapshot.val_regret[:count]
    above = regret > terms["error_bound"] + 1e-9
    return {
        "bound": {
            "split": "val",
            "regret": float(regret.mean()),
            **{name: float(values.mean()) for name, values in terms.items()},
            "share_above_error_bound": float(above.mean()),
        },
        "theorem2": {
            "regret": regret,
            **{name: terms[name] for name in ("error_term", "adjusted_gap", "correction")},
        },
    }


def dual_health(
    constraints: Constraints,
    predictions: torch.Tensor,
    duals: torch.Tensor,
    optimal: torch.Tensor,
) -> dict[str, float]:
    """Say how stale the duals in use are for the current predictions, and where they mislead.

    ``optimal`` is the value of each relaxation at the predictions; all are of the
    instances that ``constraints`` are of. Any λ ≥ 0 (free on = rows) gives the
    upper bound b·λ + Σ_g max_i (ŷ − Aᵀλ)_i on it, tight for optimal duals and only
    for them: the gap measures staleness by what it costs, and is the same
    whichever of several optimal duals a solver takes.
    """
    prices = constraints.prices(duals)
    best = constraints.padded_scores(predictions - prices).max(dim=-1).values
    upper = (duals * constraints.b).sum(dim=1) + best.sum(dim=1)
    gap = (upper - optimal).clamp_min(0.0) / optimal.abs().clamp_min(1e-12)
    hard = hard_decisions(predictions, prices, constraints)
    broken = broken_rows(constraints.b - constraints.usage(hard), constraints)
    return {
        "dual_gap": float(gap.mean()),
        "share_broken": float(broken.any(dim=1).double().mean()),
    }


def soft_to_hard_gap(scores: torch.Tensor, tau: float, constraints: Constraints) -> torch.Tensor:
    """Bound ‖argmax − softmax‖₁ summed over groups: Σ_g 2(|g| − 1) exp(−Δ_g/τ), as (K,).

    Δ_g is the lead of the best option of group g over the next (the first lemma).
    """
    import torch

    sizes = constraints.mask.sum(dim=-1).to(scores.dtype)
    if scores.shape[-1] == 1:
        return torch.zeros(len(scores), dtype=scores.dtype)
    top = constraints.padded_scores(scores).topk(2, dim=-1).values
    lead = top[..., 0] - top[..., 1]  # +∞ where a group has a single option
    return (2 * (sizes - 1) * torch.exp(-lead / tau)).sum(dim=1)


def regret_bound(
    constraints: Constraints,
    labels: torch.Tensor,
    predictions: torch.Tensor,
    label_duals: torch.Tensor,
    predicted_duals: torch.Tensor,
    tau: float,
) -> dict[str, Array]:
    """Theorem 1 for each instance: regret ≤ loss_gap + margin_predicted + margin_true.

    loss_gap is G·(plain loss at ŷ − plain loss at y), each at its own optimal
    duals; the margins are C times `soft_to_hard_gap`, C the largest |label|.
    All tensors are (K, …) in scaled label units.
    """
    largest = labels.abs().max()
    terms: dict[str, Array] = {}
    soft_value = {}
    for name, values, duals in (
        ("true", labels, label_duals),
        ("predicted", predictions, predicted_duals),
    ):
        prices = constraints.prices(duals)
        soft = soft_decisions(values, prices, tau, constraints)
        soft_value[name] = (labels * soft).sum(dim=(1, 2))
        gap = soft_to_hard_gap(values - prices, tau, constraints)
        terms[f"margin_{name}"] = (largest * gap).numpy()
    terms["loss_gap"] = (soft_value["true"] - soft_value["predicted"]).numpy()
    terms["bound"] = np.asarray(
        terms["loss_gap"] + terms["margin_predicted"] + terms["margin_true"]
    )
    return terms


def error_bound(
    constraints: Constraints,
    labels: torch.Tensor,
    predictions: torch.Tensor,
    predicted_duals: torch.Tensor,
    tau: float,
) -> dict[str, Array]:
    """Theorem 2 for each instance: regret ≤ error_term + adjusted_gap + correction.

    error_term is √(2G)·‖y − ŷ‖, adjusted_gap h†·(z† − z̃) with h† = y − Aᵀλ and z† its argmax,
    correction ‖y − ŷ‖·‖z* − z̃‖ with z* the argmax at ŷ − Aᵀλ. What the proof adds to them,
    ĥ·(z̃ − x̂), is never above 0. It holds for λ optimal at ŷ, (K, M), where the relaxation is
    integral; adjusted_gap stands in place of the theorem's difference of losses.
    """
    prices = constraints.prices(predicted_duals)
    soft = soft_decisions(predictions, prices, tau, constraints)
    adjusted = labels - prices
    best = hard_decisions(labels, prices, constraints)
    error = (labels - predictions).masked_fill(~constraints.mask, 0.0).flatten(1).norm(dim=1)
    off = (hard_decisions(predictions, prices, constraints) - soft).flatten(1).norm(dim=1)
    terms = {
        "error_term": (2 * constraints.groups) ** 0.5 * error,
        "adjusted_gap": (adjusted * (best - soft)).sum(dim=(1, 2)),
        "correction": error * off,
    }
    terms["error_bound"] = terms["error_term"] + terms["adjusted_gap"] + terms["correction"]
    return {name: values.numpy() for name, values in terms.items()}
