"""Are the duals still worth following? Staleness, refreshes and broken constraints."""

from __future__ import annotations

from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.loading import Report
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import (
    COLUMN_IN,
    Figure,
    dgl_table,
    legend_rows,
    look,
    method_scales,
    number,
    percent,
    sparse,
    to_table,
    wrap,
)
from dglbench.report.style.titles import plural, title
from dglbench.report.units import one_seed_each

__all__ = ["FIGURE", "data"]

_MEASURES = {
    "dual_gap": "staleness:\nduality gap",
    "share_refreshed": "refreshes so far\n(passes over data)",
    "share_broken": "instances with a\nbroken constraint",
}
_MARGIN_IN, _PANEL_IN, _LEAST_PANEL_IN = 0.8, 1.4, 1.15
_LETTERS_AN_INCH = 12.5
_MOST_SETTINGS = 6
"""Side by side; their three rows leave no place to go on below."""


def data(report: Report) -> pl.DataFrame:
    """Return the three measures per epoch of the chosen DGL runs, one seed of every setting.

    Duals are looked at where a run is evaluated, which need not be at every epoch; refreshes are
    counted at every epoch by the clock, so that none is missed when they are added up.
    """
    duals = dgl_table(report, "duals", "dual-health")
    looked_at = [name for name in _MEASURES if name != "share_refreshed"]
    names = ["run_id", "setting", "method", "epoch"]
    long = duals.unpivot(index=names, on=looked_at, variable_name="measure", value_name="share")
    runs = [run for run in report.done if run.run_id in set(duals["run_id"].to_list())]
    instances = {run.run_id: run.train_instances for run in runs}
    per_instance = pl.col("solves_refresh") / pl.col("run_id").replace_strict(instances)
    refreshed = report.table("timing", runs).select(
        *names, pl.lit("share_refreshed").alias("measure"), per_instance.alias("share")
    )
    # The first duals are the set-up of every variant; as a refresh they would say nothing.
    return pl.concat([long, refreshed.filter(pl.col("epoch") > 0)], how="vertical_relaxed")


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a row per measure and a column per setting, or per task where there is no room."""
    frame = data(report)
    titles = {unit.label: title(unit) for unit in report.units}
    kept = _settings(report, frame["setting"].unique(maintain_order=True).to_list(), layout)
    left_out = frame["setting"].n_unique() - len(kept)
    frame = frame.filter(pl.col("setting").is_in(kept))
    so_far = pl.col("share").cum_sum().over("run_id", "measure")
    share = pl.col("share").clip(upper_bound=1.0)
    frame = frame.with_columns(
        setting=pl.col("setting").replace_strict(titles),
        share=pl.when(pl.col("measure") == "share_refreshed").then(so_far).otherwise(share),
        panel=pl.col("measure").replace_strict(_MEASURES),
    )
    settings = frame["setting"].unique(maintain_order=True).to_list()
    shown = sparse(frame, ["measure", "setting", "method"], marks=5)
    orders = {"setting": settings, "panel": list(_MEASURES.values())}
    table, shown_table = to_table(frame, **orders), to_table(shown, **orders)
    width = layout.width or max(COLUMN_IN, _MARGIN_IN + _PANEL_IN * len(settings))
    fitting = wrap(int(_LETTERS_AN_INCH * (width - _MARGIN_IN) / len(settings)))
    note = f"{plural(left_out, 'further setting')}: see the data, or ask for --tasks"
    return (
        p9.ggplot(table, p9.aes("epoch", "share", color="method"))
        + p9.geom_line(size=0.5)
        + p9.geom_point(p9.aes(shape="method"), shown_table, size=1.3, stroke=0.3)
        + p9.facet_grid("panel ~ setting", scales="free_y", labeller=p9.labeller(cols=fitting))
        + p9.scale_y_continuous(labels=_share_or_count)
        + method_scales(table["method"], legend=True)
        + legend_rows(frame["method"].unique(), width)
        + p9.labs(x="epoch", y="", caption=note if left_out else None)
        + look(width, 4.3, strip_text_y=p9.element_text(ha="center", weight="normal"))
    )


def _settings(report: Report, labels: list[str], layout: Layout) -> list[str]:
    """Return the settings there is room for: all, or the largest of each task, or some of these."""
    room = _MOST_SETTINGS
    if layout.width is not None:
        room = max(1, int((layout.width - _MARGIN_IN) / _LEAST_PANEL_IN))
    if len(labels) <= room:
        return labels
    largest = {
        unit.task: unit.label for unit in one_seed_each(report.units) if unit.label in labels
    }
    return list(largest.values())[:room]


def _share_or_count(values: list[float]) -> list[str]:
    """Write a row's ticks: shares end at 1, passes over the data go on."""
    return number(values) if max(values, default=0) > 1.5 else percent(values)


FIGURE = Figure(
    name="dual-health",
    title="How well the duals in use still fit",
    caption=(
        "At the end of each epoch: how far the dual value of the duals in use lies above the "
        "optimum at the current predictions (cut at 100 %), how often the duals of all instances "
        "were renewed so far (their share, added up), and the share whose argmax decision under "
        "the duals in use breaks a constraint. Epoch 0 is the set-up, not counted as a refresh."
    ),
    draw=draw,
    data=data,
)
