"""Parts of the bundled networks, apart from their classes so that listing needs no torch."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["PairLinear", "last_layer"]


def last_layer(inputs: int, outputs: int) -> nn.Linear:
    """Return torch's linear layer with bias 0, so that training starts at the labels' mean.

    The weights are torch's default and not 0: from equal predictions every start would be the
    same, and the first decisions all ties.
    """
    layer = nn.Linear(inputs, outputs)
    nn.init.zeros_(layer.bias)
    return layer


class PairLinear(nn.Module):
    """z_ij = w·shared_i + V_j·own_i + c_j.

    The pair input of (i, j) is i's shared features, i's other features in the slots of option j,
    and an indicator of j. A linear model on it has exactly these parameters, so memory is
    O(K·n·features) instead of O(K·n·L·features·L).
    """

    def __init__(self, features: int, shared: int, outputs: int, *, raw: bool = False) -> None:
        super().__init__()
        self.count = shared
        self.shared = nn.Linear(shared, 1, bias=False)
        own = features - shared
        self.own = nn.Linear(own, outputs) if raw else last_layer(own, outputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map rows (…, F) to (…, outputs)."""
        outputs: Tensor = self.shared(inputs[..., : self.count]) + self.own(
            inputs[..., self.count :]
        )
        return outputs
