"""The tuning curve: what a search had chosen after k trials, and after so many seconds."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.tuning import curve, searches
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import (
    Figure,
    legend_in,
    legend_rows,
    lines,
    log_breaks,
    look,
    method_scales,
    number,
    regret_breaks,
    regret_labels,
    to_table,
    wrap,
)

__all__ = ["FIGURE", "data"]

_LEAST = 1e-4
"""A regret of 0 has no place on a log axis: it is drawn here."""
_TRIALS, _SECONDS = "number of trials", "seconds of all trials"
_KINDS = {
    True: "solid: what to expect of so many random trials",
    False: "steps: as the search went, each trial after those before",
}
_APPROXIMATE = "approximate before the last point: only the best of all trials were trained again"
_MARKED = frozenset(2**power for power in range(12))
_PANEL_IN = 1.75


def data(report: Report) -> pl.DataFrame:
    """Return test regret of the choice by number of trials and seconds, for every search."""
    parts = [
        curve(search).with_columns(
            setting=pl.lit(search.setting),
            method=pl.lit(search.method),
            search=pl.lit(search.kind),
            expected=pl.lit(search.at_random),
        )
        for search in searches(report)
    ]
    if not parts:
        raise ReportError(
            "tuning needs the runs of a search; `dglbench sweep --search random --trials 12 "
            f"--out {report.folder}` makes some."
        )
    return pl.concat(parts)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a row per setting: regret against trials at the left, against seconds at the right."""
    frame = data(report).with_columns(
        pl.col("test_regret").clip(lower_bound=_LEAST),
        kind=pl.col("expected").replace_strict(_KINDS, return_dtype=pl.String),
    )
    long = pl.concat(
        frame.with_columns(axis=pl.lit(name), x=pl.col(column).cast(pl.Float64))
        for name, column in ((_TRIALS, "trials"), (_SECONDS, "seconds"))
    )
    settings = list(dict.fromkeys(frame["setting"].to_list()))
    panels = [f"{setting}: {axis}" for setting in settings for axis in (_TRIALS, _SECONDS)]
    long = long.with_columns(panel=pl.col("setting") + ": " + pl.col("axis"))
    marked = long.filter(pl.col("trials").is_in(_MARKED))
    methods = frame["method"].unique().to_list()
    kinds = [kind for kind in _KINDS.values() if kind in set(frame["kind"].to_list())]
    rerun = any(trial.again for search in searches(report) for trial in search.trials)
    width = layout.inches(2)
    written = lines(
        [
            "of the configuration that validation has chosen so far; markers: 1, 2, 4, … trials",
            *kinds,
            *([_APPROXIMATE] if rerun else []),
        ],
        width,
    )
    expected, realised = (long.filter(pl.col("expected") == kind) for kind in (True, False))
    plot = p9.ggplot(to_table(long, panel=panels), p9.aes("x", "test_regret", color="method"))
    if not expected.is_empty():
        plot += p9.geom_line(data=to_table(expected, panel=panels), size=0.75)
    if not realised.is_empty():
        plot += p9.geom_step(data=to_table(realised, panel=panels), size=0.6, alpha=0.9)
    return (
        plot
        + p9.geom_point(p9.aes(shape="method"), to_table(marked, panel=panels), size=1.6,
                        stroke=0.3)
        + p9.facet_wrap("panel", ncol=2, scales="free", labeller=wrap(44))
        + p9.scale_x_log10(labels=number, breaks=log_breaks, minor_breaks=[])
        + p9.scale_y_log10(labels=regret_labels, breaks=regret_breaks, minor_breaks=[])
        + method_scales(methods, legend=True)
        + legend_rows(methods, width)
        + p9.labs(x="", y="test regret of the choice", caption="\n".join(written))
        + look(
            width,
            (_PANEL_IN + 0.2) * math.ceil(len(panels) / 2) + 0.5 + legend_in(methods, width)
            + 0.11 * len(written),
        )
    )  # fmt: skip


FIGURE = Figure(
    name="tuning",
    title="What tuning is worth",
    caption=(
        "Test regret of the configuration that a search has chosen after so many trials, and "
        "after so many training seconds. Of a random search it is the exact expectation over the "
        "order of its trials; of a search in which each trial depends on those before, the "
        "path that was taken, as steps. Where the best trials were trained again with new training "
        "seeds, these runs alone decide, the regret is theirs, and their seconds count. Before the "
        "last point this is approximate, because only the best of all trials were trained again."
    ),
    draw=draw,
    data=data,
)
