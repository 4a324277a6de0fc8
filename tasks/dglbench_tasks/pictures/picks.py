"""What is picked: value against weight, the picked ones marked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotnine as p9

from dglbench.data.plot import BLUE, look, what_is_shown
from dglbench.task import Dataset, Shown

__all__ = ["Words", "draw", "side_by_side"]

GREY = "#9A9A9A"


class Words(NamedTuple):
    """What the axes and the two kinds of points are called."""

    x: str
    y: str
    picked: str
    left: str


def draw(dataset: Dataset, shown: Shown, frame: pd.DataFrame, words: Words, says: str) -> Any:
    """Draw ``frame`` with columns x, y and picked; a panel for each of its ``panel``, if any."""
    names = np.where(frame["picked"], words.picked, words.left)
    order = pd.CategoricalDtype([words.picked, words.left], ordered=True)
    frame = frame.assign(kind=pd.Series(names, index=frame.index).astype(order))
    # Picked points lie on top of the others.
    frame = frame.sort_values("picked", kind="stable")
    panels = frame["panel"].nunique() if "panel" in frame else 1
    plot = (
        p9.ggplot(frame, p9.aes("x", "y", fill="kind", shape="kind"))
        + p9.geom_point(size=2.4, colour="white", stroke=0.3)
        + p9.scale_fill_manual({words.picked: BLUE, words.left: GREY})
        + p9.scale_shape_manual({words.picked: "o", words.left: "D"})
        + p9.labs(x=words.x, y=words.y, title=what_is_shown(dataset), subtitle=says)
        + look(
            max(6.2, 1.4 + 2.9 * min(panels, 3)),
            4.0,
            legend_position="bottom",
            legend_title=p9.element_blank(),
        )
    )
    if panels > 1:
        rows = -(-panels // 3)
        plot += p9.facet_wrap("panel", ncol=3)
        plot += p9.theme(figure_size=(1.4 + 2.9 * min(panels, 3), 1.6 + 2.4 * rows))
    return plot


def side_by_side(x: npt.NDArray[Any], y: npt.NDArray[Any], width: float) -> npt.NDArray[np.float64]:
    """Spread points that share an x evenly over ``width``, by y, so that none hides another."""
    spread = np.asarray(x, dtype=np.float64).copy()
    for value in np.unique(x):
        same = np.flatnonzero(x == value)
        if len(same) > 1:
            # Neighbours in y go to far places: steps of the golden ratio.
            rank = np.argsort(np.argsort(y[same], kind="stable"), kind="stable")
            spread[same] += width * ((rank * 0.6180339887) % 1.0 - 0.5)
    return spread
