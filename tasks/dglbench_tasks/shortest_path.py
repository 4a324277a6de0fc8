"""Shortest path on a grid, with the data of PyEPO and of Elmachtoub and Grigas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.layout import Kind
from dglbench.problem import Array, Problem
from dglbench.task import Dataset, LabelAxis, TaskSpec, split_sizes_to_rows
from dglbench_tasks.polynomial import draws_of, features_and_costs, rounded_to_single
from dglbench_tasks.published import (
    PathSource,
    PublishedTask,
    draw_run,
    imply_sizes,
    published_split,
)

__all__ = ["ShortestPath", "ShortestPathSettings", "grid_edges"]


@dataclass(frozen=True)
class ShortestPathSettings:
    """Which grid, and how its costs depend on the features."""

    n: Annotated[int, Ge(2), Le(1000), Doc("nodes on a side of the grid")] = 5
    width: Annotated[
        int | None, Ge(2), Le(1000), Doc("nodes across, if not n; n are then the nodes down")
    ] = None
    features: Annotated[int, Ge(1), Doc("features of an instance")] = 5
    degree: Annotated[
        int, Ge(1), Doc("degree of the polynomial; beyond 1 a linear predictor cannot fit it")
    ] = 6
    noise: Annotated[float, Ge(0), Le(1), Doc("costs are multiplied by 1 ± this, uniformly")] = 0.5
    train: Annotated[int, Ge(1), Doc("training instances")] = 1000
    val: Annotated[int, Ge(0), Doc("validation instances")] = 250
    test: Annotated[int, Ge(1), Doc("test instances")] = 1000
    source: PathSource = "generated"

    def __post_init__(self) -> None:
        """Take the sizes that published runs fix."""
        imply_sizes(self)

    @property
    def grid(self) -> tuple[int, int]:
        """Nodes down and across."""
        return self.n, self.width or self.n


class ShortestPath(PublishedTask):
    """Walk from the north-west to the south-east corner, only ever east or south.

        minimise Σ c_e x_e   over the paths of a grid with h × w nodes

    A group is a node, which picks an edge or *not visited*; rows keep the flow (see
    `Problem.paths`). The relaxation is integral. Edge costs are a polynomial of the features
    of the whole instance, times noise (`polynomial.features_and_costs`). The predictor is
    linear: at degree 1 it is right, and least squares is hard to beat; the higher the degree,
    the more it has to choose which errors to make.

    Instances are those of one call of PyEPO's ``shortestpath.genData`` with train + val +
    test data points and the same seed, split in that order, equal to the last bit. With
    another source they are those of one run of published experiments (`published`).

    Reference: Elmachtoub and Grigas (2022), Smart "Predict, then Optimize"; Tang and Khalil
    (2024), PyEPO.
    """

    name: ClassVar[str] = "shortest-path"
    summary: ClassVar[str] = "cheapest way across a grid whose edge costs are predicted (PyEPO's)"
    sizes: ClassVar[tuple[int, ...]] = (5,)
    Settings: ClassVar[type[Any]] = ShortestPathSettings
    rows: ClassVar[Kind | None] = "instance"

    def generate(self, settings: ShortestPathSettings, seed: int) -> Dataset:
        """Draw as PyEPO does."""
        sizes = (settings.train, settings.val, settings.test)

        def draw(state: np.random.RandomState) -> tuple[Array, Array]:
            edges = len(grid_edges(*settings.grid))
            number, shape = sum(sizes), (settings.features, edges)
            return features_and_costs(state, number, *shape, settings.degree, settings.noise)

        if settings.source != "generated":
            split_by, (features, costs) = draw_run(self.name, settings.source, seed, draw)
            split = published_split(split_by, sum(sizes))
        else:
            features, costs = draw(draws_of(self.name, seed))
            costs = rounded_to_single(costs)
            split = split_sizes_to_rows(sizes, np.arange(sum(sizes)))
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, {}),
            constants={},
            features=features,
            labels=costs,
            split=split,
        )

    def problem(self, settings: ShortestPathSettings, constants: Mapping[str, Any]) -> Problem:
        """Build the paths of the grid."""
        height, width = settings.grid
        return Problem.paths(grid_edges(height, width), source=0, sink=height * width - 1)

    def label_axis(self, settings: ShortestPathSettings) -> LabelAxis:
        """Place each edge by how many steps from the source it begins."""
        height, width = settings.grid
        tail = grid_edges(height, width)[:, 0]
        return LabelAxis("steps from the source", tail // width + tail % width)


def grid_edges(height: int, width: int) -> npt.NDArray[np.intp]:
    """Return the edges (E, 2) in PyEPO's order; nodes are numbered row by row.

    For each row its edges to the east, then its edges to the south.
    """
    nodes = np.arange(height * width).reshape(height, width)
    edges = []
    for row in range(height):
        edges.append(np.stack([nodes[row, :-1], nodes[row, 1:]], axis=1))
        if row + 1 < height:
            edges.append(np.stack([nodes[row], nodes[row + 1]], axis=1))
    return np.concatenate(edges)
