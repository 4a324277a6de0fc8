"""A convolutional network for images of tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge
from typing_extensions import Doc

from dglbench.layout import Kind, Layout
from dglbench.predictors.base import Predictor

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Cnn", "CnnOptions", "tiles"]


@dataclass(frozen=True)
class CnnOptions:
    """How large the network is."""

    channels: Annotated[int, Ge(1), Doc("channels of every layer")] = 64


class Cnn(Predictor):
    """The first block of ResNet18, then one number for each tile of the image.

    7×7 convolution, batch norm, ReLU, max-pool, two residual layers, adaptive max-pool to the
    tiles, mean over channels: z = a · mean + c, with a starting at 1 and c at 0. All other weights
    start as torch's default.

    Reference: Vlastelica et al. (2020), Differentiation of blackbox combinatorial solvers; Mandi
    et al. (2024), Decision-Focused Learning: foundations, state of the art, benchmark and future
    opportunities.
    """

    name: ClassVar[str] = "cnn"
    summary: ClassVar[str] = "first block of ResNet18, for images of tiles (the survey's)"
    Options: ClassVar[type[CnnOptions]] = CnnOptions
    kinds: ClassVar[tuple[Kind, ...]] = ("image",)

    def refuses_layout(self, layout: Layout) -> str | None:
        """Refuse outputs that are no grid of tiles in the image's proportions."""
        _, height, width = layout.features
        if tiles(layout) is None:
            return (
                f"its {layout.outputs} outputs are no grid of tiles in the proportions of images "
                f"of {height} × {width} pixels"
            )
        return None

    def network(self, layout: Layout) -> nn.Module:
        """Build the layers."""
        from dglbench.predictors.residual import TileNetwork

        grid = tiles(layout)
        assert grid is not None  # `refuses_layout` comes first
        return TileNetwork(layout.features[0], self.options.channels, grid)


def tiles(layout: Layout) -> tuple[int, int] | None:
    """Return tiles down and across an image, one for each output; None if they do not fit."""
    _, height, width = layout.features
    down = math.isqrt(layout.outputs * height // width)
    across = layout.outputs // down if down else 0
    fits = down * across == layout.outputs and down * width == across * height
    return (down, across) if fits else None
