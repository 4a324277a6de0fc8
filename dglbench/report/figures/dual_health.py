"""Are the duals still worth following? Staleness, refreshes and broken constraints."""

from __future__ import annotations

from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.figures.base import (
    COLUMN_IN,
    Figure,
    dgl_table,
    legend_rows,
    look,
    method_scales,
    percent,
    sparse,
    to_table,
    wrap,
)
from dglbench.report.load import Report

__all__ = ["FIGURE", "data"]

_MEASURES = {
    "dual_gap": "staleness:\nduality gap",
    "share_refreshed": "instances\nrefreshed",
    "share_broken": "instances with a\nbroken constraint",
}


def data(report: Report) -> pl.DataFrame:
    """Return the three measures per epoch of the chosen DGL runs, one seed of every setting."""
    duals = dgl_table(report, "duals", "dual-health")
    long = duals.unpivot(
        index=["run_id", "setting", "method", "epoch"],
        on=list(_MEASURES),
        variable_name="measure",
        value_name="share",
    )
    # The first duals are the set-up of every variant; as a refresh they would say nothing.
    return long.filter((pl.col("measure") != "share_refreshed") | (pl.col("epoch") > 0))


def draw(report: Report) -> Any:
    """Draw a row per measure and a column per setting."""
    frame = data(report)
    settings = frame["setting"].unique(maintain_order=True).to_list()
    frame = frame.with_columns(
        pl.col("share").clip(upper_bound=1.0), panel=pl.col("measure").replace_strict(_MEASURES)
    )
    worth = frame.filter((pl.col("measure") != "share_refreshed") | (pl.col("share") > 0))
    shown = sparse(worth, ["measure", "setting", "method"])
    orders = {"setting": settings, "panel": list(_MEASURES.values())}
    table, shown_table = to_table(frame, **orders), to_table(shown, **orders)
    width = COLUMN_IN if len(settings) == 1 else 0.8 + 1.75 * len(settings)
    return (
        p9.ggplot(table, p9.aes("epoch", "share", color="method"))
        + p9.geom_line(size=0.5)
        + p9.geom_point(p9.aes(shape="method"), shown_table, size=1.3, stroke=0.3)
        + p9.facet_grid("panel ~ setting", scales="free_y", labeller=p9.labeller(cols=wrap(24)))
        + p9.scale_y_continuous(labels=percent)
        + method_scales(table["method"], legend=True)
        + legend_rows(frame["method"].n_unique(), width)
        + p9.labs(x="epoch", y="")
        + look(width, 4.3, strip_text_y=p9.element_text(ha="center", weight="normal"))
    )


FIGURE = Figure(
    name="dual-health",
    title="How well the duals in use still fit",
    caption=(
        "At the end of each epoch: how far the dual value of the duals in use lies above the "
        "optimum at the current predictions (cut at 100 %), the share of instances whose duals "
        "were renewed, and the share whose argmax decision under the duals in use breaks a "
        "constraint. Epoch 0 is the set-up, not counted as a refresh."
    ),
    draw=draw,
    data=data,
)
