"""The layers of `dglbench.predictors.cnn`, apart so that listing needs no torch."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["TileNetwork"]


class _Residual(nn.Module):
    """relu(x + conv(relu(conv(x)))), each convolution 3×3 with batch norm."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Keep the shape."""
        return nn.functional.relu(inputs + self.layers(inputs))


class TileNetwork(nn.Module):
    """Images (K, C, H, W) to a number for each tile, (K, tiles), row by row."""

    def __init__(self, images: int, channels: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(images, channels, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
            _Residual(channels),
            _Residual(channels),
            nn.AdaptiveMaxPool2d(grid),
        )
        # The mean of ReLUs is never below 0, and a label in its own unit is as often as not.
        self.last = nn.Linear(1, 1)
        nn.init.ones_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Predict all tiles."""
        found: Tensor = self.layers(inputs).mean(dim=1).flatten(1)
        tile: Tensor = self.last(found[..., None])[..., 0]
        return tile
