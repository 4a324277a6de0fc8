"""Which offers are made: the response they bring against what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.task import Dataset, Shown
from dglbench_tasks.pictures.picks import Words, draw, side_by_side

__all__ = ["offers", "picture"]


def offers(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return every offer to every customer: its cost, the response, whether it is made."""
    costs = np.asarray(dataset.constants["costs"])
    customers = len(shown.labels)
    return pd.DataFrame(
        {
            "customer": np.repeat(np.arange(1, customers + 1), len(costs)),
            "offer": np.tile(np.arange(1, len(costs) + 1), customers),
            "cost": np.tile(costs, customers),
            "response": shown.labels[:, 1:].ravel(),
            "picked": shown.decision[:, 1:].ravel() > 0.5,
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw the response against the offers, from cheap to dear."""
    frame = offers(dataset, shown)
    number, response = frame["offer"].to_numpy(), frame["response"].to_numpy()
    made = frame[frame["picked"]]
    points = frame.assign(x=side_by_side(number, response, 0.6), y=response)
    customers = len(shown.labels)
    says = (
        f"{len(made)} of {customers} customers get an offer: {shown.optimum:.4g} responses, cost "
        f"{made['cost'].sum():g} of a budget of {dataset.constants['budget']:g}"
    )
    words = Words(
        "what the offer costs, and how often it is made",
        "true response to the offer",
        "made",
        "not made",
    )
    counts = made.groupby("offer").size()
    titles = [
        f"{cost:g}\n{counts.get(offer, 0)} of {customers}"
        for offer, cost in enumerate(dataset.constants["costs"], start=1)
    ]
    plot = draw(dataset, shown, points, words, says)
    return plot + p9.scale_x_continuous(breaks=list(range(1, len(titles) + 1)), labels=titles)
