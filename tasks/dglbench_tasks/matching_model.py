"""The matching predictor."""

import torch
from torch import nn

from dglbench.problem import Array

__all__ = ["PairwiseLogistic"]


class PairwiseLogistic(nn.Module):
    """Logistic regression on pairs: û_ij = sigmoid(w·base_i + V_j·local_i + c_j).

    The pair input of (i, j) is i's base features, i's location features in the
    slots of location j, and an indicator of j. A linear model on it has exactly
    these parameters, so memory is O(K·n·features) instead of O(K·n·L·features·L).
    """

    def __init__(
        self,
        mean: Array,
        std: Array,
        base_features: int,
        locations: int,
        *,
        absent: bool = False,
    ) -> None:
        super().__init__()
        self.base_features, self.absent = base_features, absent
        self.mean: torch.Tensor
        self.std: torch.Tensor
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float64))
        self.register_buffer("std", torch.tensor(std, dtype=torch.float64))
        local_features = len(mean) - base_features
        self.base = nn.Linear(base_features, 1, bias=False, dtype=torch.float64)
        self.local = nn.Linear(local_features, locations, dtype=torch.float64)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Map features (K, n, F) to utilities (K, n, L); being absent, a last option, is 0."""
        inputs = (features - self.mean) / self.std
        base, local = inputs[..., : self.base_features], inputs[..., self.base_features :]
        utilities = torch.sigmoid(self.base(base) + self.local(local))
        return nn.functional.pad(utilities, (0, 1)) if self.absent else utilities
