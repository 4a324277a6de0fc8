"""The knapsack's predictor, apart from the task so that listing tasks needs no torch."""

import torch
from torch import Tensor, nn

from dglbench.problem import Array

__all__ = ["SlotModel"]


class SlotModel(nn.Module):
    """One linear layer shared by all slots: ŷ_i = w·(x_i - mean)/std + c for *take*, 0 for *leave*.

    (K, n, F) features to (K, n, 2) values in label units, in double precision; c
    starts at ``level``, the mean train value.
    Reference: the linear model of Mandi et al. (2020), Smart predict-and-optimize
    for hard combinatorial optimization problems.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, mean: Array, spread: Array, level: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))
        self.linear = nn.Linear(len(mean), 1, dtype=torch.float64)
        # Adam moves a weight by about the rate per step: from 0 it would spend hundreds of
        # steps on climbing to the level of the values before it learnt anything else.
        nn.init.constant_(self.linear.bias, level)

    def forward(self, features: Tensor) -> Tensor:
        """Predict the values of both options of every slot."""
        take: Tensor = self.linear((features - self.mean).div_(self.spread))
        return nn.functional.pad(take, (0, 1))
