"""A dot for every run: in which basins does a method end, and how often?"""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.style.choice import BEST_ONLY, best_of_each_family, is_crowded
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import family, style
from dglbench.report.style.theme import (
    INK,
    MUTED,
    Figure,
    lines,
    look,
    method_scales,
    regret_breaks,
    regret_labels,
    to_table,
    wrap,
)

__all__ = ["FIGURE", "data"]

_LEAST = 1e-4
"""A regret of 0 has no place on a log axis: it is drawn here."""
_ROW_IN = 0.062
"""Between the rows of two data seeds."""
_BETWEEN = 1.4
"""Rows between two methods."""


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return test regret of every run of the chosen cells, and which of a cell validation keeps."""
    comparisons = by_setting(report)
    kept = set(report.methods)
    if is_crowded(report, layout):  # the same in every panel: they share their rows
        kept = best_of_each_family(report, [unit for each in comparisons for unit in each.units])
    rows = []
    for comparison in comparisons:
        # A setting whose methods have other predictors has rows of its own.
        known = {family(method) for method in kept & set(comparison.methods)}
        own = best_of_each_family(report, comparison.units)
        drawn = kept | {method for method in own if family(method) not in known}
        for result in comparison.results:
            if result.method not in drawn:
                continue
            for place, cell in enumerate(result.cells):
                best = int(cell.validation.argmin())
                for at, run in enumerate(cell.runs):
                    rows.append(
                        {
                            "setting": comparison.label,
                            "panel": comparison.title,
                            "method": result.method,
                            "seed": cell.unit.seed,
                            "place": place,
                            "seeds": len(result.cells),
                            "repeat": run.repeat,
                            "val_regret": run.val_regret,
                            "test_regret": run.test_regret,
                            "kept": at == best,
                        }
                    )
    if not rows:
        raise ReportError(
            f"spread needs a finished run; `dglbench sweep --repeats 8 --out {report.folder}` "
            "makes some."
        )
    return pl.DataFrame(rows)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per setting, a group of rows per method, a row per data seed."""
    frame = data(report, layout)
    panels = list(dict.fromkeys(frame["panel"].to_list()))
    order = [method for method in report.methods if method in set(frame["method"].to_list())]
    most = int(str(frame["seeds"].max()))
    step = most - 1 + _BETWEEN
    base = {method: -step * at for at, method in enumerate(order)}
    middle = (most - pl.col("seeds")) / 2
    frame = frame.with_columns(
        y=pl.col("method").replace_strict(base, return_dtype=pl.Float64) - pl.col("place") - middle,
        test_regret=pl.col("test_regret").clip(lower_bound=_LEAST),
    )
    cells = frame.group_by("panel", "method", "y", maintain_order=True).agg(
        mean=pl.col("test_regret").mean()
    )
    kept = frame.filter("kept")
    columns = layout.columns(len(panels))
    width = layout.inches(columns, 2.6)
    rows = math.ceil(len(panels) / columns)
    repeated = bool((frame.group_by("panel", "method", "seed").len()["len"] > 1).any())
    notes = [
        "a dot: a run; ring: the run with the lowest validation regret; tick: mean"
        if repeated
        else "one run each: `--repeats 8` shows the spread",
        *(["a row: a data seed"] if most > 1 else []),
        *([BEST_ONLY] if is_crowded(report, layout) else []),
    ]
    written = lines(["; ".join(notes)], width)
    half = 0.38
    ticks = cells.with_columns(top=pl.col("y") + half, bottom=pl.col("y") - half)
    table = to_table(frame, panel=panels)
    named = {base[method] - (most - 1) / 2: style(method).label for method in order}
    plot = p9.ggplot(table, p9.aes("test_regret", "y", color="method"))
    if repeated:
        plot = (
            plot
            + p9.geom_segment(p9.aes("mean", "bottom", xend="mean", yend="top"),
                              to_table(ticks, panel=panels), size=0.5, alpha=0.9)
            + p9.geom_point(data=to_table(kept, panel=panels), size=2.1, stroke=0.3, shape="o",
                            fill="none", color=MUTED)
        )  # fmt: skip
    return (
        plot
        + p9.geom_point(size=1.35, alpha=0.6, stroke=0)
        + p9.facet_wrap("panel", ncol=columns, scales="free_x",
                        labeller=wrap(int(12.5 * width / columns)))
        + p9.scale_x_log10(labels=regret_labels, breaks=regret_breaks, minor_breaks=[])
        + p9.scale_y_continuous(breaks=list(named), labels=list(named.values()),
                                expand=(0, 0.9))
        + method_scales(order)
        + p9.labs(x="test regret", y="", caption="\n".join(written))
        + look(
            width, (_ROW_IN * step * len(order) + 0.55) * rows + 0.4 + 0.11 * len(written),
            panel_grid_major_y=p9.element_blank(),
            panel_spacing_x=0.3 / width,  # labels at the ends of two axes would touch
            axis_text_y=p9.element_text(color=INK),
        )
    )  # fmt: skip


FIGURE = Figure(
    name="spread",
    title="Every run, by method: how far repeats differ",
    caption=(
        "Test regret of every repeat, one row per data seed. Groups of dots are basins: the same "
        "method with the same options ends in one or the other by its initial weights alone. The "
        "ring is the run that validation would keep, the tick the mean."
    ),
    draw=draw,
    data=data,
)
