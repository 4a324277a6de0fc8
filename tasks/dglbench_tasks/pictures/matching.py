"""Who goes where: individuals by locations, coloured by utility, the assignment marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.data.plot import look, what_is_shown
from dglbench.task import Dataset, Shown

__all__ = ["pairs", "picture"]

_TALLEST_IN, _WIDEST_IN = 9.0, 16.0


def pairs(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every pair of a present individual and a location, its utility, whether it is picked.

    Individuals are ordered by where they go and then by what that is worth.
    """
    locations = dataset.spec.settings.locations
    picked = shown.decision[:, :locations] > 0.5
    present = np.flatnonzero(picked.any(axis=1))
    goes_to = picked[present].argmax(axis=1)
    gain = shown.labels[present, goes_to]
    ordered = present[np.lexsort((-gain, goes_to))]
    return pd.DataFrame(
        {
            "individual": np.repeat(ordered + 1, locations),
            "place": np.repeat(np.arange(1, len(ordered) + 1), locations),
            "location": np.tile(np.arange(1, locations + 1), len(ordered)),
            "utility": shown.labels[ordered, :locations].ravel(),
            "picked": picked[ordered].ravel(),
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw a row for each individual; a dot marks where they go."""
    frame = pairs(dataset, shown)
    locations = dataset.spec.settings.locations
    b = dataset.problem.b
    room = (b[shown.row] if b.ndim == 2 else b)[:locations].astype(np.int64)
    heads = frame[frame["picked"]].groupby("location").size().reindex(range(1, locations + 1))
    titles = [
        f"{place}\n{int(filled)} of {free}"
        for place, filled, free in zip(heads.index, heads.fillna(0), room, strict=True)
    ]
    people = int(frame["place"].max())
    height = min(_TALLEST_IN, 1.4 + 0.13 * people)
    return (
        p9.ggplot(frame, p9.aes("location", "place"))
        + p9.geom_tile(p9.aes(fill="utility"))
        + p9.geom_point(
            data=frame[frame["picked"]],
            fill="white",
            colour="#222222",
            stroke=0.4,
            size=float(np.clip(14 * height / people, 0.4, 2.2)),
        )
        + p9.scale_fill_cmap("viridis", name="utility", limits=(0, 1))
        + p9.scale_x_continuous(
            breaks=list(range(1, locations + 1)), labels=titles, expand=(0.01, 0)
        )
        + p9.scale_y_reverse(breaks=[], expand=(0.01, 0))
        + p9.labs(
            x="location, and how many of its places are taken",
            y=f"{people:,} individuals, by where they go",
            title=what_is_shown(dataset),
            subtitle=f"the assignment (dots) of the highest total utility, {shown.optimum:.4g}",
        )
        + look(
            float(np.clip(1.6 + 0.62 * locations, 5.4, _WIDEST_IN)),
            max(3.8, height),
            panel_grid=p9.element_blank(),
        )
    )
