"""The restart curve: what regret to expect for the training time one has.

A point is best of r: r repeats are trained, and the one with the lowest validation regret is kept.
To the left one run, to the right ever more of them, at r times the cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.intervals import FEWEST_SEEDS
from dglbench.report.statistics.paired import Pairs
from dglbench.report.style.choice import BEST_ONLY, best_of_each_family, is_crowded
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import (
    Figure,
    legend_in,
    legend_rows,
    lines,
    log_breaks,
    look,
    method_scales,
    plain,
    regret_breaks,
    regret_labels,
    to_table,
    wrap,
)

__all__ = ["FIGURE", "data"]

_LEAST = 1e-4
"""A regret of 0 has no place on a log axis: it is drawn here."""
_SEEDS, _THESE = "data seeds", "these data only"
_BEYOND = 1.5
"""A panel ends at most this factor beyond its lines: t intervals of three seeds are wide."""
_MARGIN = 0.05
"""What a panel leaves free above and below, as a share of its height."""
_MARKED = frozenset(2**power for power in range(12))
"""The r that have a marker."""
_PANEL_IN = 2.15
_FRONT = "#E6E1D5"


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return regret and total training seconds of best of r, r = 1 … R, by setting and method.

    ``low`` and ``high`` are the ends of a 95 % interval for r up to R/2; beyond, one draw of best
    of r is no estimate. ``over`` says of what: data seeds (t, of three or more), or these data.
    """
    pairs = Pairs(report)
    rows = [
        row
        for comparison in by_setting(report)
        for result in _drawn(report, comparison, layout)
        for row in _curve(comparison, result, pairs)
    ]
    if not rows:
        raise ReportError(
            "restarts needs a setting with a finished run; `dglbench sweep --repeats 8 "
            f"--out {report.folder}` makes some."
        )
    return pl.DataFrame(rows)


def _drawn(report: Report, comparison: Comparison, layout: Layout) -> Sequence[Result]:
    if not is_crowded(report, layout):
        return comparison.results
    kept = best_of_each_family(report, comparison.units)
    return [result for result in comparison.results if result.method in kept]


def _curve(comparison: Comparison, result: Result, pairs: Pairs) -> list[dict[str, Any]]:
    one = float(np.mean([cell.train_s for cell in result.cells]))
    rows = []
    for r in range(1, result.repeats + 1):
        interval = pairs.interval(result, r) if r <= result.most else None
        rows.append(
            {
                "setting": comparison.label,
                "panel": f"{comparison.title}, {_over(comparison)}",
                "method": result.method,
                "r": r,
                "seconds": r * one,
                "test_regret": result.regret(r),
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "estimate": r <= result.most,
                "over": _SEEDS if len(result.cells) >= FEWEST_SEEDS else _THESE,
            }
        )
    return rows


def _over(comparison: Comparison) -> str:
    """Say what is averaged, as short as a panel's title must be."""
    seeds = f"{len(comparison.units)} seeds × " if len(comparison.units) > 1 else ""
    return f"{seeds}{comparison.repeats} {'run' if comparison.repeats == 1 else 'runs'}"


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per setting: a line per method, with a marker at r = 1, 2, 4, 8, …"""
    frame = data(report, layout)
    panels = list(dict.fromkeys(frame["panel"].to_list()))
    columns = layout.columns(len(panels))
    rows = math.ceil(len(panels) / columns)
    width = layout.inches(columns)
    known = _within(frame.with_columns(pl.col("test_regret").clip(lower_bound=_LEAST)))
    banded = known.filter(pl.col("low").is_not_null())
    solid = known.filter("estimate")
    beyond = known.filter(pl.col("r") >= pl.col("r").filter("estimate").max().over(_LINE))
    marked = solid.filter(pl.col("r").is_in(_MARKED))
    alone = banded.filter(pl.col("r").filter("estimate").max().over(_LINE) == 1)
    front = pl.concat([_front(part) for part in solid.partition_by("panel", maintain_order=True)])
    tables = [to_table(part, panel=panels) for part in (solid, beyond, marked, alone, banded)]
    notes = _notes(report, known, layout)
    written = lines(notes, width)
    methods = frame["method"].unique().to_list()
    return (
        p9.ggplot(tables[0], p9.aes("seconds", "test_regret", color="method"))
        + p9.geom_path(p9.aes("seconds", "test_regret"), to_table(front, panel=panels),
                       color=_FRONT, size=2.2, inherit_aes=False, lineend="round")
        + p9.geom_ribbon(p9.aes(ymin="low", ymax="high", fill="method"), tables[4], color="none",
                         alpha=0.13, show_legend=False)
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), tables[3], alpha=0.5, size=0.6,
                            show_legend=False)
        + p9.geom_line(data=tables[1], linetype="dotted", size=0.45, alpha=0.8,
                       show_legend=False)
        + p9.geom_line(size=0.75)
        + p9.geom_point(p9.aes(shape="method"), tables[2], size=1.7, stroke=0.3)
        + p9.facet_wrap("panel", ncol=columns, scales="free",
                        labeller=wrap(int(12.5 * width / columns)))
        + p9.scale_x_log10(labels=plain, breaks=log_breaks, minor_breaks=[])
        + p9.geom_blank(p9.aes("seconds", "bottom"), tables[0], inherit_aes=False)
        + p9.geom_blank(p9.aes("seconds", "top"), tables[0], inherit_aes=False)
        + p9.scale_y_log10(labels=regret_labels, breaks=regret_breaks, minor_breaks=[],
                           expand=(0, 0))
        + method_scales(methods, legend=True, fill=True)
        + legend_rows(methods, width)
        + p9.guides(fill=None)
        + p9.labs(x="training time of all r runs, seconds", y="expected test regret of best of r",
                  caption="\n".join(written))
        + look(width, _PANEL_IN * rows + 0.4 + legend_in(methods, width) + 0.11 * len(written))
    )  # fmt: skip


_LINE = ["panel", "method"]
_OVER = {
    _SEEDS: "95 % over data seeds (t), cut where it leaves the panel",
    _THESE: "95 % over repeats and test instances, these data only",
}


def _within(frame: pl.DataFrame) -> pl.DataFrame:
    """Add each panel's ``bottom`` and ``top``, and fit the bands into it, so that lines fill it.

    A band that leaves the panel at one end is cut at its frame; one that does so at both ends, for
    some r, would only be a block behind the others: it is left out, for all r.
    """
    frame = frame.with_columns(
        lowest=pl.col("test_regret").min().over("panel") / _BEYOND,
        highest=pl.col("test_regret").max().over("panel") * _BEYOND,
    )
    wide = (pl.col("low") < pl.col("lowest")) & (pl.col("high") > pl.col("highest"))
    frame = frame.with_columns(wide=wide.any().over(_LINE))
    frame = frame.with_columns(pl.when(~pl.col("wide")).then(pl.col("low", "high")))
    least = pl.min_horizontal("test_regret", "low").min().over("panel").clip("lowest")
    most = pl.max_horizontal("test_regret", "high").max().over("panel").clip(None, "highest")
    free = ((most / least) ** _MARGIN).clip(lower_bound=1.02)
    frame = frame.with_columns(
        bottom=pl.when(least == pl.col("lowest")).then(least).otherwise(least / free),
        top=pl.when(most == pl.col("highest")).then(most).otherwise(most * free),
    )
    return frame.with_columns(pl.col("low", "high").clip(pl.col("bottom"), pl.col("top")))


def _front(part: pl.DataFrame) -> pl.DataFrame:
    """Return the lowest regret for the time, as steps: what the best choice of method has."""
    steps = part.sort("seconds", "test_regret").with_columns(lowest=pl.col("test_regret").cum_min())
    steps = steps.filter(pl.col("test_regret") == pl.col("lowest")).unique("lowest", keep="first")
    steps = steps.sort("seconds")
    xs, ys = steps["seconds"].to_list(), steps["lowest"].to_list()
    across, down = [xs[0]], [ys[0]]
    for x, before, y in zip(xs[1:], ys[:-1], ys[1:], strict=True):
        across += [x, x]
        down += [before, y]
    across.append(float(str(part["seconds"].max())))
    down.append(ys[-1])
    return pl.DataFrame({"seconds": across, "test_regret": down}).with_columns(
        panel=pl.lit(part["panel"][0])
    )


def _notes(report: Report, frame: pl.DataFrame, layout: Layout) -> list[str]:
    most = int(str(frame["r"].max()))
    band = "; ".join(_OVER[over] for over in _OVER if over in set(frame["over"].to_list()))
    notes = [f"markers: r = 1, 2, 4, 8, …; band: {band}; grey: the lowest for the time"]
    if most == 1:
        notes = [f"one run each: a line needs repeats (--repeats 8); bar: {band}"]
    elif frame.filter(~pl.col("estimate")).height:
        notes.append("dotted: beyond half the repeats, where one draw decides too much")
    if frame["wide"].any():
        readings = "one run" if report.best_of == 1 else f"one run and best of {report.best_of}"
        notes.append(
            f"bands wider than their panel are left out; for {readings} table leaderboard has them"
        )
    if is_crowded(report, layout):
        notes.append(BEST_ONLY)
    return notes


FIGURE = Figure(
    name="restarts",
    title="What to expect for the time one has",
    caption=(
        "Expected test regret of best of r against the training seconds of all r runs: r repeats "
        "are trained from starts of their own, and the one with the lowest validation regret is "
        "kept; exact for every r from the repeats that were run. The first marker is one run, the "
        "next two, four, eight. Over several data seeds their mean. The band ends at half the "
        "repeats; over three data seeds or more it is their 95 % t interval, and speaks of further "
        "data, with fewer it is over repeats and test instances of these data only. The grey line "
        "is the lowest regret for the time. The warm start and tuning are not in these seconds "
        "(table total)."
    ),
    draw=draw,
    data=data,
)
