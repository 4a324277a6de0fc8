"""Which items are picked: score against feature, where the cubic shows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.picks import Words, draw

__all__ = ["items", "picture"]


def items(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every item with its feature, score and whether it is picked."""
    return pd.DataFrame(
        {
            "feature": dataset.features[shown.row, :, 0],
            "score": shown.labels,
            "picked": shown.decision[:, 0] > 0.5,
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw score against feature; every item counts one, so there is no weight to draw."""
    frame = items(dataset, shown)
    points = frame.assign(x=frame["feature"], y=frame["score"])
    k = dataset.spec.settings.k
    says = f"the best {k} of {len(frame)} items, score {shown.optimum:.4g}" + (
        "" if k == 1 else " in all"
    )
    words = Words("feature of the item", "true score of the item", "picked", "left")
    return draw(dataset, shown, points, words, says)
