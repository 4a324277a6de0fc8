"""Theorem 1 at work: its right-hand side beside the regret it bounds."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.figures.base import (
    COLUMN_IN,
    Figure,
    columns_for,
    dgl_table,
    legend_rows,
    log_breaks,
    look,
    method_scales,
    number,
    sparse,
    to_table,
    wrap,
)
from dglbench.report.load import Report

__all__ = ["FIGURE", "data"]

_QUANTITIES = {"bound": "Theorem 1's bound", "regret": "regret"}


def data(report: Report) -> pl.DataFrame:
    """Return regret and bound per epoch of the chosen DGL runs, one seed of every setting."""
    bound = dgl_table(report, "bound", "regret-bound")
    return bound.select(
        "run_id", "setting", "method", "epoch", "split", "regret", "bound",
        "loss_gap", "margin_predicted", "margin_true",
    )  # fmt: skip


def draw(report: Report) -> Any:
    """Draw both on one axis, a panel per setting: logarithmic where all values allow it."""
    frame = data(report)
    settings = frame["setting"].unique(maintain_order=True).to_list()
    columns = columns_for(len(settings))
    long = frame.unpivot(
        index=["setting", "method", "epoch"], on=list(_QUANTITIES), variable_name="quantity"
    )
    long = long.with_columns(pl.col("quantity").replace_strict(_QUANTITIES))
    orders = {"setting": settings, "quantity": list(_QUANTITIES.values())}
    table = to_table(long, **orders)
    shown = to_table(sparse(long, ["setting", "quantity", "method"]), **orders)
    positive = bool((table["value"] > 0).all())
    rows = math.ceil(len(settings) / columns)
    width = COLUMN_IN if columns == 1 else 2.6 * columns
    return (
        p9.ggplot(table, p9.aes("epoch", "value", color="method"))
        + p9.geom_line(p9.aes(linetype="quantity"), size=0.55)
        + p9.geom_point(p9.aes(shape="method"), shown, size=1.2, stroke=0.3)
        + p9.facet_wrap("setting", ncol=columns, scales="free_y", labeller=wrap(36))
        + (
            p9.scale_y_log10(breaks=log_breaks, minor_breaks=[], labels=number)
            if positive
            else p9.scale_y_continuous()
        )
        + p9.scale_linetype_manual(values=["dashed", "solid"])
        + method_scales(table["method"], legend=True)
        + legend_rows(frame["method"].n_unique(), width)
        + p9.labs(x="epoch", y="validation regret, scaled label units")
        + look(width, 1.8 * rows + 0.85, legend_box="vertical", legend_box_margin=0)
    )


FIGURE = Figure(
    name="regret-bound",
    title="Theorem 1's bound beside the regret",
    caption=(
        "Mean validation regret (solid) and the right-hand side of Theorem 1 (dashed): the gap in "
        "the plain loss plus what softmax loses against argmax, in scaled label units. The theorem "
        "assumes an integral relaxation, which matching has and the knapsack has not."
    ),
    draw=draw,
    data=data,
)
