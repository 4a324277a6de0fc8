"""Where each method's epoch goes."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.clock import PHASES
from dglbench.report.loading import Report
from dglbench.report.statistics.epochs import EPOCHS
from dglbench.report.style.choice import BEST_ONLY, drawn_runs, is_crowded
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import PHASE_COLOURS, method_order, style
from dglbench.report.style.theme import (
    MUTED,
    SMALL_PT,
    Figure,
    clock_note,
    lines,
    look,
    percent,
    seconds,
    to_table,
    wrap,
)
from dglbench.report.units import one_seed_each

__all__ = ["FIGURE", "data"]


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return seconds per epoch and share of the epoch for each phase, set-up left out.

    Over all epochs of all repeats. Means, not medians: a refresh every U epochs must show up
    with its 1/U.
    """
    units = one_seed_each(report.units)
    runs = drawn_runs(report, [units], best_only=is_crowded(report, layout))
    names = ["setting", "method"]
    means = (
        report.table("timing", runs)
        .with_columns(epochs=EPOCHS)
        .filter(pl.col("epoch") > 0)
        .group_by(names, maintain_order=True)
        .agg((pl.col(f"{phase}_s").sum() / pl.col("epochs").sum()).alias(phase) for phase in PHASES)
    )
    long = means.unpivot(
        index=names, on=list(PHASES), variable_name="phase", value_name="seconds_per_epoch"
    )
    whole = pl.col("seconds_per_epoch").sum().over("setting", "method")
    return long.with_columns(share=pl.col("seconds_per_epoch") / whole, epoch_s=whole)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw one bar per method, divided by phase, with the epoch's seconds at its end."""
    frame = data(report, layout)
    shown = set(frame["setting"].to_list())
    titles, note = clock_note(report, [unit for unit in report.units if unit.label in shown])
    columns = layout.columns(len(titles))
    methods = sorted(set(frame["method"].to_list()), key=method_order)
    rows = math.ceil(len(titles) / columns)
    names = {method: style(method).label for method in reversed(methods)}
    stack = list(PHASE_COLOURS)
    table = to_table(
        frame.with_columns(
            panel=pl.col("setting").replace_strict(titles),
            name=pl.col("method").replace_strict(names),
        ),
        panel=titles.values(),
        name=names.values(),
        phase=reversed(stack),
    )
    ends = table.drop_duplicates(["panel", "name"]).assign(
        text=lambda rows: seconds(float(f"{value:.2g}") for value in rows["epoch_s"])
    )
    ran = set(zip(table["panel"], table["name"], strict=True))
    absent = pl.DataFrame(
        [(panel, name) for panel in titles.values() for name in names.values()
         if (panel, name) not in ran],
        schema={"panel": pl.String, "name": pl.String}, orient="row",
    )  # fmt: skip
    width = layout.inches(columns, 2.5)
    notes = lines([BEST_ONLY] * is_crowded(report, layout) + ([note] if note else []), width)
    return (
        p9.ggplot(table, p9.aes("name", "share", fill="phase"))
        + p9.geom_col(width=0.72, color="white", size=0.25)
        + p9.geom_text(
            p9.aes("name", label="text"), ends, y=1.02, ha="left", va="center",
            size=SMALL_PT, color=MUTED, inherit_aes=False,
        )
        + p9.geom_text(
            p9.aes("name"), to_table(absent, panel=titles.values(), name=names.values()),
            label="not run", y=0.02, ha="left", va="center", size=SMALL_PT, color="#A8A8A8",
            inherit_aes=False,
        )
        + p9.coord_flip()
        + p9.facet_wrap("panel", ncol=columns, labeller=wrap(36))
        + p9.scale_fill_manual(values=PHASE_COLOURS, breaks=stack)
        + p9.scale_y_continuous(
            labels=percent, breaks=[0, 0.25, 0.5, 0.75, 1], limits=(0, 1.25), expand=(0, 0)
        )
        + p9.guides(fill=p9.guide_legend(nrow=2 if columns == 1 else 1))
        + p9.labs(x="", y="share of a training epoch; its mean length at the right",
                  caption="\n".join(notes) or None)
        + look(
            width,
            (0.16 * len(methods) + 0.4) * rows + 0.75 + 0.11 * len(notes),
            panel_grid_major_y=p9.element_blank(),
            axis_text_y=p9.element_text(color="#222222", size=SMALL_PT + 0.3),
        )
    )  # fmt: skip


FIGURE = Figure(
    name="time-split",
    title="Where an epoch's time goes",
    caption=(
        "Mean share of a training epoch spent in each phase, set-up and evaluation left out; the "
        "number is the mean epoch. Greys are the predictor's own work, colours the solver's."
    ),
    draw=draw,
    data=data,
)
