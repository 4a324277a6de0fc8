"""What losses through a layer share: one program per instance and step."""

from __future__ import annotations

from typing import Any

from dglbench.layers import Layer, MeteredLayer
from dglbench.losses.base import DecisionLoss
from dglbench.plugins import find_layer

__all__ = ["Layered"]


class Layered(DecisionLoss):
    """A loss with a layer, which counts and times itself."""

    layer: MeteredLayer
    steps: int
    """Instances solved for training so far."""

    @property
    def failures(self) -> int:
        """How many programs could not be solved so far."""
        return self.layer.failures

    def _take_layer(self, layer: str | Layer | MeteredLayer, **options: Any) -> None:
        """Keep a layer; a name stands for that layer, built with the options."""
        if isinstance(layer, str):
            layer = find_layer(layer)(self.problem, **options)
        self.layer = MeteredLayer(layer, self._meter) if isinstance(layer, Layer) else layer
        self.steps = 0
