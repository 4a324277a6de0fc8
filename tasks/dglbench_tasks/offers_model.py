"""The offers' predictor, apart from the task so that listing tasks needs no torch."""

import torch
from torch import Tensor, nn

from dglbench.problem import Array

__all__ = ["ResponseModel"]


class ResponseModel(nn.Module):
    """Logistic regression: r̂_is = sigmoid(w_s·x_i + c_s), and 0 for *no offer*.

    (K, n, F) features, standardised by the train split, to (K, n, 1 + offers); c starts at
    the logit of each offer's mean response.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, mean: Array, spread: Array, response: Array) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))
        self.linear = nn.Linear(len(mean), len(response), dtype=torch.float64)
        with torch.no_grad():
            self.linear.bias.copy_(torch.logit(torch.as_tensor(response), eps=1e-6))

    def forward(self, features: Tensor) -> Tensor:
        """Predict the response to every option."""
        response = torch.sigmoid(self.linear((features - self.mean) / self.spread))
        return torch.cat([torch.zeros_like(response[..., :1]), response], dim=-1)
