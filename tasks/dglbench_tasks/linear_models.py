"""Linear predictors that several tasks share, apart from them so that listing needs no torch."""

import torch
from torch import Tensor, nn

from dglbench.problem import Array

__all__ = ["SharedLinear", "WholeLinear"]


class _Standardised(nn.Module):
    """Features shifted and scaled by the train split, in double precision."""

    mean: Tensor
    spread: Tensor

    def __init__(self, mean: Array, spread: Array) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))

    def standardised(self, features: Tensor) -> Tensor:
        """Return (features - mean) / spread."""
        return (features - self.mean) / self.spread


class WholeLinear(_Standardised):
    """ŷ = W x + c: features (K, F) of a whole instance to (K, P), c starting at ``level``.

    The linear model of Elmachtoub and Grigas (2022), and of PyEPO's examples.
    """

    def __init__(self, mean: Array, spread: Array, outputs: int, level: float = 0.0) -> None:
        super().__init__(mean, spread)
        self.linear = nn.Linear(len(mean), outputs, dtype=torch.float64)
        nn.init.constant_(self.linear.bias, level)

    def forward(self, features: Tensor) -> Tensor:
        """Predict all P numbers of every instance."""
        predictions: Tensor = self.linear(self.standardised(features))
        return predictions


class SharedLinear(_Standardised):
    """ŷ_i = w·x_i + c shared by all items: features (K, P, F) to (K, P).

    ``hidden`` adds a layer of that many ReLU units; the model is then no longer linear.
    """

    def __init__(self, mean: Array, spread: Array, hidden: int = 0, level: float = 0.0) -> None:
        super().__init__(mean, spread)
        last = nn.Linear(hidden or len(mean), 1, dtype=torch.float64)
        nn.init.constant_(last.bias, level)
        first = (nn.Linear(len(mean), hidden, dtype=torch.float64), nn.ReLU()) if hidden else ()
        self.layers = nn.Sequential(*first, last)

    def forward(self, features: Tensor) -> Tensor:
        """Predict one number per item."""
        predictions: Tensor = self.layers(self.standardised(features))[..., 0]
        return predictions
