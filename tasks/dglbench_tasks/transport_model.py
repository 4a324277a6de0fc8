"""The transport predictor, apart from the task so that listing tasks needs no torch."""

import torch
from torch import Tensor, nn

from dglbench.problem import Array

__all__ = ["TravelModel"]


class TravelModel(nn.Module):
    """ĉ_ij = |a_i − b_j| · (w_j·z + v_j): lengths are known, how busy j is, is learnt.

    Features (K, n, 2 + p) are a unit's point a_i and the instance's z, costs are (K, n, J).
    z is standardised by the train split; v starts at ``level``, the mean cost of a way of
    length 1.
    """

    mean: Tensor
    spread: Tensor
    destinations: Tensor

    def __init__(self, mean: Array, spread: Array, destinations: Array, level: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))
        self.register_buffer("destinations", torch.as_tensor(destinations, dtype=torch.float64))
        self.busy = nn.Linear(len(mean), len(destinations), dtype=torch.float64)
        nn.init.constant_(self.busy.bias, level)

    def forward(self, features: Tensor) -> Tensor:
        """Predict the cost of every way."""
        steps = features[:, :, None, :2] - self.destinations
        lengths = steps.square().sum(dim=-1).sqrt()
        busy: Tensor = self.busy((features[:, 0, 2:] - self.mean) / self.spread)
        return lengths * busy[:, None, :]
