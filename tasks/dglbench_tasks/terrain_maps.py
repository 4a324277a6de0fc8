"""Images of terrain with the cost of every tile: made, or the published Warcraft maps.

A made map is a smooth height cut into five kinds of tiles, so that each borders on kinds like it.
A tile of 8 × 8 pixels has the colour of its kind, a pattern of its kind (``texture``), the light
that falls on its part of the map (``light``) and noise on every pixel (``noise``). With ``alike``
the second dearest kind takes on the look of the middle one, until at 1 nobody can tell them apart.

The published maps belong to their owners and are read from a folder of one's own,
``DGLBENCH_WARCRAFT_DIR``: for each of train, val and test the arrays SPLIT_maps.npy (maps, height,
width, 3), SPLIT_vertex_weights.npy (maps, k, k) and, not needed here, SPLIT_shortest_paths.npy.

Reference: Vlastelica et al. (2020), Differentiation of blackbox combinatorial solvers.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import DatasetError
from dglbench.problem import Array
from dglbench.streams import stream

__all__ = ["COSTS", "KINDS", "TILE", "Look", "Maps", "made", "published"]

TILE = 8
"""Pixels on a side of a tile."""
KINDS = ("water", "sand", "grass", "forest", "rock")
"""From low to high; each borders on the kinds beside it."""
COSTS = (9.0, 1.0, 2.0, 4.0, 7.0)
COLOURS = (
    (0.18, 0.38, 0.72),
    (0.82, 0.74, 0.48),
    (0.42, 0.64, 0.26),
    (0.16, 0.40, 0.17),
    (0.48, 0.46, 0.44),
)
ALIKE = (3, 2)
"""Forest takes on the look of grass."""
HILLS = 1.6
"""How many tiles a height stays alike."""

VARIABLE = "DGLBENCH_WARCRAFT_DIR"


class Look(NamedTuple):
    """How hard maps are to read."""

    texture: float
    light: float
    noise: float
    alike: float
    label_noise: float


class Maps(NamedTuple):
    """Images and costs."""

    images: Array
    """(maps, 3, height, width), from 0 to 1."""
    costs: Array
    """(maps, k · k), row by row."""


def made(maps: int, k: int, look: Look, seed: int) -> Maps:
    """Draw maps; more maps of the same seed begin with the same ones."""
    patterns = _patterns(look, seed)
    images = np.empty((maps, 3, TILE * k, TILE * k))
    costs = np.empty((maps, k * k))
    for number in range(maps):
        draws = stream(seed, "terrain", "map", str(number))
        kinds = _kinds(k, draws)
        images[number] = _image(kinds, patterns, look, draws)
        off = look.label_noise * draws.standard_normal(k * k) - look.label_noise**2 / 2
        costs[number] = np.array(COSTS)[kinds.ravel()] * np.exp(off)
    return Maps(images, costs)


def _kinds(k: int, draws: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the kind of each tile, (k, k): a fifth of the map each."""
    from scipy.ndimage import gaussian_filter

    height = gaussian_filter(draws.standard_normal((k, k)), HILLS, mode="reflect")
    rank = np.argsort(np.argsort(height.ravel()))
    kinds: npt.NDArray[np.intp] = (rank * len(KINDS) // (k * k)).reshape(k, k)
    return kinds


def _patterns(look: Look, seed: int) -> Array:
    """Return how each kind's tile is coloured, (kinds, 3, 8, 8)."""
    draws = stream(seed, "terrain", "texture")
    grain = look.texture * draws.standard_normal((len(KINDS), 1, TILE, TILE))
    patterns: Array = np.array(COLOURS)[:, :, None, None] + grain
    one, other = ALIKE
    patterns[one] += look.alike * (patterns[other] - patterns[one])
    return patterns


def _image(
    kinds: npt.NDArray[np.intp], patterns: Array, look: Look, draws: np.random.Generator
) -> Array:
    k = len(kinds)
    tiles = patterns[kinds]  # (k, k, 3, 8, 8)
    image = tiles.transpose(2, 0, 3, 1, 4).reshape(3, TILE * k, TILE * k)
    # Light falls from one side: brighter there, darker on the other.
    angle = draws.uniform(0, 2 * np.pi)
    across = np.linspace(-0.5, 0.5, TILE * k)
    slope = np.cos(angle) * across[None, :] + np.sin(angle) * across[:, None]
    level = 1.0 + look.light * (slope + draws.uniform(-0.5, 0.5))
    noisy = image * level + look.noise * draws.standard_normal(image.shape)
    # Whole steps of 1/255, as in a picture file.
    stepped: Array = np.rint(np.clip(noisy, 0.0, 1.0) * 255.0) / 255.0
    return stepped


def published(k: int, sizes: tuple[int, int, int]) -> Maps:
    """Read the first maps of each split of the published arrays: train, then val, then test."""
    where = os.environ.get(VARIABLE)
    if not where:
        raise DatasetError(
            f"source=warcraft reads the published arrays from a folder; set {VARIABLE} to it, or "
            "use source=made, which needs none."
        )
    images, costs = [], []
    for split, count in zip(("train", "val", "test"), sizes, strict=True):
        pictures = _array(Path(where), f"{split}_maps.npy")
        weights = _array(Path(where), f"{split}_vertex_weights.npy")
        if pictures.ndim != 4 or pictures.shape[3] != 3 or weights.shape[1:] != (k, k):
            raise DatasetError(
                f"the arrays of {split} in {where} have shapes {pictures.shape} and "
                f"{weights.shape}; wanted (maps, height, width, 3) and (maps, {k}, {k}); set n to "
                "the tiles on a side."
            )
        if min(len(pictures), len(weights)) < count:
            raise DatasetError(
                f"{where} has {min(len(pictures), len(weights))} maps of {split}, asked for were "
                f"{count}; set {split}= to fewer."
            )
        images.append(pictures[:count].transpose(0, 3, 1, 2) / 255.0)
        costs.append(weights[:count].reshape(count, -1).astype(np.float64))
    return Maps(np.concatenate(images), np.concatenate(costs))


def _array(folder: Path, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(np.load(folder / name, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{folder / name} cannot be read ({error}); {VARIABLE} must name a folder with the "
            "published arrays."
        ) from error
