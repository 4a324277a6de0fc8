"""Which slots are taken: what they earn against what they weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.picks import Words, draw, side_by_side

__all__ = ["picture", "slots"]


def slots(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every slot with its weight, value and whether it is taken."""
    return pd.DataFrame(
        {
            "weight": np.asarray(dataset.constants["weights"]),
            "value": shown.labels[:, 0],
            "picked": shown.decision[:, 0] > 0.5,
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw value against weight."""
    import plotnine as p9

    frame = slots(dataset, shown)
    weight, capacity = frame["weight"].to_numpy(), dataset.constants["capacity"]
    ticks = np.unique(weight)
    narrowest = float(np.diff(ticks).min(initial=2))
    points = frame.assign(
        x=side_by_side(weight, frame["value"].to_numpy(), 0.5 * narrowest), y=frame["value"]
    )
    taken = frame[frame["picked"]]
    says = (
        f"{len(taken)} of {len(frame)} slots are taken: value {shown.optimum:,.5g}, weight "
        f"{taken['weight'].sum():g} of a capacity of {capacity:g}"
    )
    words = Words("weight of the slot", "true value of the slot", "taken", "left")
    plot = draw(dataset, shown, points, words, says) + p9.expand_limits(y=0)
    return plot + p9.scale_x_continuous(breaks=ticks.tolist()) if len(ticks) <= 12 else plot
