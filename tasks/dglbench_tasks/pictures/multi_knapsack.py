"""Which items are taken: value against weight, a panel for each dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.picks import Words, draw

__all__ = ["items", "picture"]

_PANELS = 6


def items(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every item in every dimension: its weight there, its value, whether it is taken."""
    weights = np.asarray(dataset.constants["weights"])
    dimensions, count = weights.shape
    return pd.DataFrame(
        {
            "dimension": np.repeat(np.arange(1, dimensions + 1), count),
            "item": np.tile(np.arange(1, count + 1), dimensions),
            "weight": weights.ravel(),
            "value": np.tile(shown.labels, dimensions),
            "picked": np.tile(shown.decision[:, 0] > 0.5, dimensions),
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw value against weight in each of the first dimensions."""
    frame = items(dataset, shown)
    capacity = dataset.spec.settings.capacity
    used = frame[frame["picked"]].groupby("dimension")["weight"].sum()
    panels = frame["dimension"].map(
        lambda d: f"dimension {d}: {used.get(d, 0):.4g} of {capacity:g}"
    )
    points = frame.assign(x=frame["weight"], y=frame["value"], panel=panels)
    points = points[points["dimension"] <= _PANELS]
    taken, count = int(shown.decision[:, 0].sum().round()), len(shown.decision)
    dimensions = int(frame["dimension"].max())
    says = (
        f"{taken} of {count} items are taken: value {shown.optimum:,.5g}; capacity {capacity:g} in "
        f"{'each dimension' if dimensions > 1 else 'weight'}"
    )
    words = Words("weight of the item", "true value of the item", "taken", "left")
    return draw(dataset, shown, points, words, says)
