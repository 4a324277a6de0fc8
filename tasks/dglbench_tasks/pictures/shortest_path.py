"""The grid with what its edges cost, and the shortest path."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotnine as p9

from dglbench.data.plot import BLUE, look, what_is_shown
from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.ways import Way, overlaid
from dglbench_tasks.shortest_path import grid_edges

__all__ = ["comparison", "edges", "picture"]

_NUMBERED = 8  # nodes on a side up to which every edge has room for its cost
_SHADES = ("#E9DCCB", "#D3AC81", "#B07A45", "#7C4A20", "#4A2508")  # of edges, from cheap to dear
_COMPARED = 20  # nodes on a side up to which a comparison shows what edges cost
_ALL_DRAWN = 100  # beyond, edges are finer than a pixel: only the path is drawn


def edges(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every edge with its ends in the plane, its cost, and whether the path takes it."""
    _, width = dataset.spec.settings.grid
    tail, head = grid_edges(*dataset.spec.settings.grid).T
    structure: Any = dataset.problem.structure
    return pd.DataFrame(
        {
            "tail": tail,
            "head": head,
            "x": tail % width,
            "y": -(tail // width),
            "x_end": head % width,
            "y_end": -(head // width),
            "cost": shown.labels,
            "taken": shown.decision.ravel()[structure.option_of] > 0.5,
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw edges the darker the dearer, and the path broad and blue beneath."""
    height, width = dataset.spec.settings.grid
    frame = edges(dataset, shown)
    ends = p9.aes("x", "y", xend="x_end", yend="y_end")
    side = max(height, width)
    corners = pd.DataFrame({"x": [0, width - 1], "y": [0, 1 - height]})
    broad = max(2.0, 30 / side)
    plot = (
        p9.ggplot(frame, ends)
        + p9.geom_segment(data=frame[frame["taken"]], colour="#9CCBEB", size=broad, lineend="round")
        + p9.geom_segment(
            p9.aes(colour="cost"),
            frame if side <= _ALL_DRAWN else frame[frame["taken"]],
            size=max(0.5, 9 / side),
        )
        + p9.geom_point(
            p9.aes("x", "y"), corners, inherit_aes=False, colour=BLUE, size=max(2.0, 24 / side)
        )
        + p9.scale_colour_cmap("copper_r", name="edge cost")
        + p9.coord_fixed()
        + p9.labs(
            title=what_is_shown(dataset),
            subtitle=(
                f"the shortest path (blue, from the top left to the bottom right) costs "
                f"{shown.optimum:.4g}; {int(frame['taken'].sum())} of {len(frame):,} edges"
            ),
        )
        + look(
            6.4,
            1.1 + 4.9 * min(height / width, 1.6),
            panel_grid=p9.element_blank(),
            axis_text=p9.element_blank(),
            axis_title=p9.element_blank(),
        )
    )
    if side <= _NUMBERED:
        middles = frame.assign(
            x=(frame["x"] + frame["x_end"]) / 2,
            y=(frame["y"] + frame["y_end"]) / 2,
            cost=frame["cost"].map("{:.2g}".format),
        )
        plot += p9.geom_label(
            p9.aes("x", "y", label="cost"), middles, size=7, label_size=0, fill="white",
            label_padding=0.12, inherit_aes=False,
        )  # fmt: skip
    return plot


def comparison(dataset: Dataset, best: Shown, taken: Shown) -> str:
    """Draw the edges, the dearer the darker, with the shortest path and the one that was taken."""
    height, width = dataset.spec.settings.grid
    frame = edges(dataset, best)
    frame["rank"] = (frame["cost"].rank(pct=True) * len(_SHADES)).clip(upper=len(_SHADES) - 1)
    ground = f'<rect x="-.5" y="-.5" width="{width}" height="{height}" fill="#F7F4EF"/>'
    for shade, colour in enumerate(_SHADES):
        some = frame[frame["rank"].astype(int) == shade]
        lines = "".join(
            f"M{x} {-y}L{x_end} {-y_end}"
            for x, y, x_end, y_end in zip(
                some["x"], some["y"], some["x_end"], some["y_end"], strict=True
            )
        )
        if max(height, width) <= _COMPARED:
            ground += f'<path d="{lines}" stroke="{colour}" stroke-width=".14"/>'
    ways = (_way(frame), _way(edges(dataset, taken)))
    return overlaid((-0.5, -0.5, width, height), ground, *ways)


def _way(frame: pd.DataFrame) -> Way:
    """Return the nodes of the path; edges only lead on, so their order is that of their tails."""
    path = frame[frame["taken"]].sort_values("tail")
    first = [(float(path["x"].iloc[0]), -float(path["y"].iloc[0]))]
    return first + [
        (float(x), -float(y)) for x, y in zip(path["x_end"], path["y_end"], strict=True)
    ]
