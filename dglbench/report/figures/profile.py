"""Performance profiles: in what share of settings is a method within a factor of the quickest?"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.profiles import not_everywhere, times_to_target
from dglbench.report.style.choice import BEST_ONLY, best_of_each_family, is_crowded
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import (
    Figure,
    legend_in,
    legend_rows,
    lines,
    look,
    method_scales,
    number,
    percent,
    to_table,
)

__all__ = ["FIGURE", "data"]


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return the steps of every method's profile: factor, and share of settings within it."""
    times = times_to_target(report)
    if len(times.settings) < 2 or len(times.methods) < 2:
        raise ReportError(
            "profile needs two methods in at least two settings, each timed under equal "
            f"conditions; `dglbench sweep --out {report.folder}` runs the paper's."
        )
    factors = times.factors
    finite = factors[np.isfinite(factors)]
    end = max(10.0, float(finite.max()) * 1.3)
    kept = set(times.methods)
    if is_crowded(report, layout):
        kept = best_of_each_family(report, report.units)
    rows: list[dict[str, Any]] = []
    for at, method in enumerate(times.methods):
        if method not in kept:
            continue
        own = np.sort(factors[:, at])
        share, known = 0.0, own[np.isfinite(own)]
        steps = [(1.0, float((known <= 1 + 1e-9).sum()) / len(own))]
        for place, factor in enumerate(known):
            share = (place + 1) / len(own)
            steps.append((float(factor), share))
        steps.append((end, share))
        rows += [
            {"method": method, "factor": factor, "share": level}
            for factor, level in dict(sorted(steps)).items()
        ]
    return pl.DataFrame(rows)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw step lines; a line that starts high is quick, one that ends high gets there."""
    frame = data(report, layout)
    table = to_table(frame)
    width = layout.inches(1)
    methods = frame["method"].unique().to_list()
    notes = [BEST_ONLY] if is_crowded(report, layout) else []
    drawn = [method for method in report.methods if method in methods]
    notes = lines([*notes, *not_everywhere(times_to_target(report), drawn)], width)
    high = float(table["factor"].max())
    steps = (1, 2, 5) if high <= 100 else (1,)
    ticks = [s * 10.0**power for power in range(10) for s in steps if s * 10.0**power <= high]
    return (
        p9.ggplot(table, p9.aes("factor", "share", color="method"))
        + p9.geom_step(size=0.6)
        + p9.geom_point(p9.aes(shape="method"), size=1.4, stroke=0.3)
        + p9.scale_x_log10(
            breaks=ticks, minor_breaks=[],
            labels=lambda values: [f"{value}×" for value in number(values)],
        )
        + p9.scale_y_continuous(labels=percent, limits=(0, 1), breaks=[0, 0.25, 0.5, 0.75, 1])
        + method_scales(table["method"], legend=True)
        + legend_rows(methods, width)
        + p9.labs(x="times the quickest method's time", y="settings within 5 % of the best",
                  caption="\n".join(notes) or None)
        + look(width, 2.3 + legend_in(methods, width) + 0.125 * len(notes))
    )  # fmt: skip


FIGURE = Figure(
    name="profile",
    title="Performance profile",
    caption=(
        "Share of settings in which a method came within 5 % of the setting's lowest test regret "
        "in at most so many times the training time of the method that was quickest to do so "
        "(Dolan and Moré). High at the left: often quick. High at the right: often gets there."
    ),
    draw=draw,
    data=data,
)
