"""Papers on two sides, the citations between them, and who is matched with whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from dglbench.data.plot import BLUE, look, what_is_shown
from dglbench.task import Dataset, Shown

__all__ = ["pairs", "picture"]

_FIELDS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")


def pairs(dataset: Dataset, shown: Shown) -> pd.DataFrame:
    """Return each pair that is linked or matched, with the places of its papers.

    Papers stand in the order of their fields.
    """
    n = dataset.spec.settings.n
    fields = np.array(dataset.constants["fields"][shown.row])
    left, right = (np.argsort(np.argsort(side, kind="stable"), kind="stable") for side in fields)
    linked, matched = shown.labels[:, :n] > 0.5, shown.decision[:, :n] > 0.5
    one, other = np.nonzero(linked | matched)
    return pd.DataFrame(
        {
            "y": left[one],
            "y_end": right[other],
            "linked": linked[one, other],
            "matched": matched[one, other],
            "one_field": fields[0][one] == fields[1][other],
        }
    )


def picture(dataset: Dataset, shown: Shown) -> Any:
    """Draw citations as thin lines, matched pairs as broad ones, fields as colours."""
    n = dataset.spec.settings.n
    frame = pairs(dataset, shown)
    fields = np.sort(np.array(dataset.constants["fields"][shown.row]), axis=1)
    papers = pd.DataFrame(
        {
            "x": np.repeat([0.0, 1.0], n),
            "y": np.tile(np.arange(n), 2),
            "field": [str(field + 1) for field in fields.ravel()],
        }
    )
    matched = frame[frame["matched"]]
    good, other = matched[matched["linked"]], matched[~matched["linked"]]
    alike = float(matched["one_field"].mean()) if len(matched) else 0.0

    def lines(data: pd.DataFrame, **how: Any) -> Any:
        return p9.geom_segment(
            p9.aes(x=0, xend=1, y="y", yend="y_end"), data, inherit_aes=False, **how
        )

    return (
        p9.ggplot(papers, p9.aes("x", "y"))
        + lines(frame[frame["linked"]], colour="#BBBBBB", size=0.25)
        + lines(other, colour="#D55E00", size=0.7, linetype="dashed")
        + lines(good, colour=BLUE, size=0.8)
        + p9.geom_point(p9.aes(fill="field"), size=2.2, colour="white", stroke=0.2)
        + p9.scale_fill_manual(
            dict(zip(map(str, range(1, len(_FIELDS) + 1)), _FIELDS, strict=True))
        )
        + p9.scale_x_continuous(breaks=[0, 1], labels=["left", "right"], limits=(-0.05, 1.05))
        + p9.scale_y_reverse(breaks=[])
        + p9.labs(
            x="",
            y=f"{n} papers a side, by field",
            title=what_is_shown(dataset),
            subtitle=(
                f"{len(good)} of {int(frame['linked'].sum())} citations (grey) are matched (blue)\n"
                f"of {len(matched)} pairs {len(other)} have none (dashed), {alike:.0%} one field"
            ),
        )
        + look(6.4, 6.4, panel_grid=p9.element_blank())
    )
