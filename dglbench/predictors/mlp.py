"""A network with hidden layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Lt
from typing_extensions import Doc

from dglbench.layout import Layout
from dglbench.predictors.base import Predictor

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Mlp", "MlpOptions"]

_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "tanh": "Tanh"}


@dataclass(frozen=True)
class MlpOptions:
    """How large the network is."""

    hidden: Annotated[int, Ge(1), Doc("units of each hidden layer")] = 64
    layers: Annotated[int, Ge(1), Doc("hidden layers")] = 1
    dropout: Annotated[
        float, Ge(0), Lt(1), Doc("share of hidden units left out of a training step")
    ] = 0.0
    activation: Annotated[
        Literal["relu", "gelu", "silu", "tanh"], Doc("what follows each hidden layer")
    ] = "relu"


class Mlp(Predictor):
    """Hidden layers, each with its activation and dropout, then a linear layer.

    All outputs of a row share the hidden layers: of a pair, all features of the row go in and
    all its options come out. Weights start as torch's default, the last bias at 0.
    """

    name: ClassVar[str] = "mlp"
    summary: ClassVar[str] = "hidden layers, shared by all outputs of a row"
    Options: ClassVar[type[MlpOptions]] = MlpOptions

    def network(self, layout: Layout) -> nn.Module:
        """Build the layers."""
        from torch import nn

        from dglbench.predictors.modules import last_layer

        chosen: MlpOptions = self.options
        activation = getattr(nn, _ACTIVATIONS[chosen.activation])
        layers: list[nn.Module] = []
        width = layout.features[0]
        for _ in range(chosen.layers):
            layers += [nn.Linear(width, chosen.hidden), activation()]
            layers += [nn.Dropout(chosen.dropout)] if chosen.dropout else []
            width = chosen.hidden
        return nn.Sequential(*layers, last_layer(width, layout.outputs))
