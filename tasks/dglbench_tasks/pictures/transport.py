"""Units and destinations in the plane, and who goes where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.data.plot import BLUE, look, what_is_shown
from dglbench.task import Dataset, Shown

__all__ = ["picture", "ways"]


def ways(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return the way of every unit: where it begins and ends, its destination and its cost."""
    units = dataset.features[shown.row, :, :2]
    goes_to = shown.decision.argmax(axis=1)
    ends = np.asarray(dataset.constants["destinations"])[goes_to]
    return pd.DataFrame(
        {
            "unit": np.arange(len(units)),
            "destination": goes_to,
            "x": units[:, 0],
            "y": units[:, 1],
            "x_end": ends[:, 0],
            "y_end": ends[:, 1],
            "cost": shown.labels[np.arange(len(units)), goes_to],
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw a line for every way, the darker the dearer, and the demand at each destination."""
    frame = ways(dataset, shown)
    x, y = np.asarray(dataset.constants["destinations"]).T
    demand = np.asarray(dataset.constants["demand"], dtype=np.int64)
    places = pd.DataFrame({"x": x, "y": y, "demand": demand})
    one_each = dataset.spec.settings.demand == "one"
    plot = (
        p9.ggplot(frame, p9.aes("x", "y"))
        + p9.geom_segment(p9.aes(xend="x_end", yend="y_end", colour="cost"), size=0.9)
        + p9.geom_point(colour="#444444", size=1.4)
        + p9.geom_point(data=places, colour=BLUE, shape="s", size=3 if one_each else 7)
        + p9.scale_colour_cmap("copper_r", name="cost of\nthe way")
        + p9.coord_fixed(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), expand=False)
        + p9.labs(
            x="",
            y="",
            title=what_is_shown(dataset),
            subtitle=(
                f"{len(frame):,} units (dots) go to {len(places):,} destinations (squares, "
                f"{'one unit each' if one_each else 'with their demand'}) at a cost of "
                f"{shown.optimum:.4g}"
            ),
        )
        + look(6.6, 6.0)
    )
    if not one_each:
        plot += p9.geom_text(p9.aes(label="demand"), places, colour="white", size=8)
    return plot
