"""Shortest paths across maps that are seen as images (Warcraft's task, on made maps)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.layout import Kind, Link
from dglbench.problem import Problem
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, split_sizes_to_rows
from dglbench_tasks.terrain_maps import Look, made, published

__all__ = ["Terrain", "TerrainSettings", "moves"]


@dataclass(frozen=True)
class TerrainSettings:
    """How large maps are, and how hard they are to read."""

    n: Annotated[int, Ge(6), Le(30), Doc("tiles on a side of the map")] = 12
    source: Annotated[
        Literal["made", "warcraft"],
        Doc("made maps, or the published ones in the folder DGLBENCH_WARCRAFT_DIR"),
    ] = "made"
    texture: Annotated[float, Ge(0), Le(1), Doc("how strong the patterns of tiles are")] = 0.1
    light: Annotated[float, Ge(0), Le(1), Doc("how much light differs across a map")] = 0.4
    noise: Annotated[float, Ge(0), Le(1), Doc("noise on every pixel, as a standard deviation")] = (
        0.1
    )
    alike: Annotated[float, Ge(0), Le(1), Doc("how much forest looks like grass; 1: just so")] = 0.0
    label_noise: Annotated[
        float, Ge(0), Le(1), Doc("standard deviation of the logarithm of a tile's cost")
    ] = 0.0
    train: Annotated[int, Ge(1), Doc("maps to train on")] = 100
    val: Annotated[int, Ge(1), Doc("maps to validate on")] = 50
    test: Annotated[int, Ge(1), Doc("maps to test on")] = 50

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Maps in train, val and test."""
        return self.train, self.val, self.test


class Terrain(Task):
    """Go from the top left tile to the bottom right one, by any of eight neighbours each time.

        minimise Σ c_v over the tiles on the path, both ends included

    A group is a tile, which picks a move or *not visited*; rows keep the flow (see
    `Problem.paths`). Moves lead back too, so the graph has cycles. What is predicted is the cost of
    each of the n² tiles; a fixed map gives every move the cost of the tile it enters, and a first
    move that of its start. The relaxation is integral. Costs are above 0 (``softplus``): decisions
    are shortest paths. Where a method asks about negative values, as SPO+ does, an optimum may
    also go round cycles that pay, and min-cost flow finds it.

    Features are one image a map, 8 × 8 pixels a tile (`terrain_maps`); ``cnn`` reads it.

    Reference: Vlastelica et al. (2020), Differentiation of blackbox combinatorial solvers; Mandi
    et al. (2024), Decision-Focused Learning: foundations, state of the art, benchmark and future
    opportunities.
    """

    name: ClassVar[str] = "terrain"
    summary: ClassVar[str] = "cheapest way across a map that is seen as an image (Warcraft's task)"
    sizes: ClassVar[tuple[int, ...]] = (12,)
    Settings: ClassVar[type[Any]] = TerrainSettings
    rows: ClassVar[Kind | None] = "image"
    link: ClassVar[Link] = "softplus"

    def generate(self, settings: TerrainSettings, seed: int) -> Dataset:
        """Draw or read the maps; the first ones train."""
        if settings.source == "warcraft":
            maps = published(settings.n, settings.sizes)
        else:
            look = Look(
                settings.texture,
                settings.light,
                settings.noise,
                settings.alike,
                settings.label_noise,
            )
            maps = made(sum(settings.sizes), settings.n, look, seed)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, {}),
            constants={},
            features=maps.images,
            labels=maps.costs,
            split=split_sizes_to_rows(settings.sizes, np.arange(sum(settings.sizes))),
        )

    def problem(self, settings: TerrainSettings, constants: Mapping[str, Any]) -> Problem:
        """Build the moves between tiles, and what they cost."""
        from scipy.sparse import coo_array

        edges = moves(settings.n)
        tiles, number = settings.n**2, np.arange(len(edges))
        first = np.flatnonzero(edges[:, 0] == 0)
        entered = np.concatenate([number, first])
        of = np.concatenate([edges[:, 1], edges[first, 0]])
        costs = coo_array((np.ones(len(of)), (entered, of)), shape=(len(edges), tiles))
        return Problem.paths(edges, source=0, sink=tiles - 1, parameters=costs.tocsr())

    def label_scale(self, dataset: Dataset) -> float:
        """Return the standard deviation of the train costs."""
        return dataset.label_spread

    def label_axis(self, settings: TerrainSettings) -> LabelAxis:
        """Place each tile by how many moves from the start it is."""
        row, column = np.divmod(np.arange(settings.n**2), settings.n)
        return LabelAxis("moves from the start", np.maximum(row, column))


def moves(n: int) -> npt.NDArray[np.intp]:
    """Return the moves (E, 2) between neighbouring tiles, numbered row by row."""
    row, column = np.divmod(np.arange(n * n), n)
    found = []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            to_row, to_column = row + down, column + right
            inside = (to_row >= 0) & (to_row < n) & (to_column >= 0) & (to_column < n)
            if down or right:
                here = np.flatnonzero(inside)
                found.append(np.stack([here, (to_row * n + to_column)[here]], axis=1))
    edges = np.concatenate(found)
    ordered: npt.NDArray[np.intp] = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return ordered
