"""The critical-difference diagram: mean ranks, and which methods do not differ."""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.ranking import Ranking, ranking
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import style
from dglbench.report.style.theme import INK, MUTED, SMALL_PT, TEXT_PT, Figure, look
from dglbench.report.style.titles import plural

__all__ = ["FIGURE", "data"]

_ROW, _BAR = 0.16, 0.085
"""Inches between two names, and between two bars."""


def data(report: Report) -> pl.DataFrame:
    """Return mean ranks, best first, and for each method the last one it is joined with."""
    found = _ranking(report)
    joined = dict(found.cliques)
    return pl.DataFrame(
        {
            "method": found.methods,
            "mean_rank": found.mean_ranks,
            "joined_to": [joined.get(method) for method in found.methods],
        },
        schema={"method": pl.String, "mean_rank": pl.Float64, "joined_to": pl.String},
    )


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw the axis on top, names at both sides, a bar under methods that do not differ."""
    found = _ranking(report)
    count = len(found.methods)
    half = math.ceil(count / 2)
    bars = [(found.rank(first), found.rank(last)) for first, last in found.cliques]
    span = count - 1
    # Names stand beside the axis, with their mean rank: this many inches at each side, of which
    # the stems take what `room` says below.
    labels = [
        f"{style(method).label}  {rank:.2f}"
        for method, rank in zip(found.methods, found.mean_ranks, strict=True)
    ]
    side_in = max(map(_inches, labels)) * 1.2 / (1.2 - 0.12 - 0.06) + 0.04
    width = layout.width or max(layout.inches(1), 2 * side_in + 0.09 * count)
    room = span * side_in / (width - 2 * side_in - 0.1) / 1.2
    below = 0.1 + _BAR * len(bars)
    stems, names = [], []
    for place, (method, rank) in enumerate(zip(found.methods, found.mean_ranks, strict=True)):
        left = place < half
        row = place if left else count - 1 - place
        depth = -(below + _ROW * (row + 0.6))
        edge = 1 - 0.12 * room if left else count + 0.12 * room
        colour = style(method).colour
        stems.append({"x": rank, "xend": rank, "y": 0.0, "yend": depth, "method": method})
        stems.append({"x": rank, "xend": edge, "y": depth, "yend": depth, "method": method})
        parts = [style(method).label, f"{rank:.2f}"]
        label = "  ".join(parts if left else reversed(parts))
        names.append({"x": edge, "y": depth, "label": label, "left": left, "colour": colour})
    lines = pl.DataFrame(stems).to_pandas()
    texts = pl.DataFrame(names)
    colours = {method: style(method).colour for method in found.methods}
    deepest = -(below + _ROW * (half + 0.3))
    named = _ticks(count, width - 2 * side_in)
    ticks = pl.DataFrame({"x": [float(rank) for rank in named]}).to_pandas()
    plot = (
        p9.ggplot()
        + p9.annotate("segment", x=1, xend=count, y=0, yend=0, color=INK, size=0.5)
        + p9.geom_segment(p9.aes("x", 0, xend="x", yend=0.05), ticks, color=INK, size=0.5)
        + p9.geom_text(p9.aes("x", 0.13, label="x"), ticks, format_string="{:.0f}",
                       size=SMALL_PT, color=MUTED)
        + p9.annotate("text", x=(1 + count) / 2, y=0.28, label="mean rank over settings",
                      size=TEXT_PT, color=INK)
        + p9.geom_segment(p9.aes("x", "y", xend="xend", yend="yend", color="method"), lines,
                          size=0.55)
    )  # fmt: skip
    for left, side in ((True, "right"), (False, "left")):
        part = texts.filter(pl.col("left") == left)
        if not part.is_empty():
            plot += p9.geom_text(
                p9.aes("x", "y", label="label"), part.to_pandas(), ha=side, va="center",
                size=TEXT_PT, color=INK, nudge_x=(-0.06 if left else 0.06) * room,
            )  # fmt: skip
    for place, (first, last) in enumerate(bars):
        plot += p9.annotate(
            "segment", x=first - 0.04 * span / 7, xend=last + 0.04 * span / 7,
            y=-0.09 - _BAR * place, yend=-0.09 - _BAR * place, color=INK, size=1.5,
        )  # fmt: skip
    plot = _ruler(plot, found, deepest - 0.12) if found.test == "nemenyi" else plot
    notes = _notes(found, len(report.methods) - count)
    bottom = deepest - (0.3 if found.test == "nemenyi" else 0.05)
    return (
        plot
        + p9.scale_color_manual(values=colours, guide=None)
        + p9.scale_x_continuous(limits=(1 - room * 1.2, count + room * 1.2), expand=(0, 0))
        + p9.scale_y_continuous(limits=(bottom, 0.38), expand=(0, 0))
        + p9.labs(x="", y="", caption="\n".join(notes))
        + look(
            width, 0.38 - bottom + 0.27 + 0.11 * len(notes), axis_text=p9.element_blank(),
            panel_grid_major=p9.element_blank(), panel_border=p9.element_blank(),
            axis_title=p9.element_blank(), axis_ticks=p9.element_blank(),
        )
    )  # fmt: skip


def _inches(label: str) -> float:
    """Return how long a name is when it is set."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans")
    return float(TextPath((0, 0), label, size=TEXT_PT, prop=font).get_extents().width) / 72


def _ticks(count: int, axis_in: float) -> list[int]:
    """Return ranks to name on an axis of so many inches: all, or few enough to stand apart."""
    most = max(1.0, axis_in / 0.22)
    step = next(step for step in (1, 2, 5, 10, 20, 50, count) if count / step <= most)
    return [1, *(rank for rank in range(step, count + 1, step) if rank > 1)]


def _ruler(plot: Any, found: Ranking, y: float) -> Any:
    """Draw the critical difference to scale."""
    end = 1 + min(found.difference, len(found.methods) - 1)
    plot += p9.annotate("segment", x=1, xend=end, y=y, yend=y, color=MUTED, size=0.5)
    for x in (1, end):
        plot += p9.annotate("segment", x=x, xend=x, y=y - 0.03, yend=y + 0.03, color=MUTED)
    label = f"critical difference {found.difference:.1f}"
    return plot + p9.annotate(
        "text", x=1, y=y - 0.1, label=label, ha="left", size=SMALL_PT, color=MUTED
    )


def _notes(found: Ranking, left_out: int) -> list[str]:
    test = "Nemenyi" if found.test == "nemenyi" else "Wilcoxon–Holm"
    lines = [
        found.blocks.scope,
        f"left out: {plural(left_out, 'method')} not run in all of them" if left_out else "",
        f"bar: not distinguishable ({test}, 5 %)",
        found.friedman_words.removesuffix("."),
    ]
    return [line for line in lines if line]


def _ranking(report: Report) -> Ranking:
    found = ranking(report)
    if found is None or len(found.methods) < 3:
        raise ReportError(
            "ranks needs three methods with results in at least two settings; `dglbench sweep "
            f"--out {report.folder}` runs the paper's."
        )
    return found


FIGURE = Figure(
    name="ranks",
    title="Mean ranks over settings (critical-difference diagram)",
    caption=(
        "Each setting ranks the methods by test regret, 1 the lowest; shown are mean ranks. A bar "
        "joins methods that the settings cannot distinguish: by Wilcoxon's signed-rank test, "
        "corrected for the number of pairs (Holm), or, where there are too few settings for it to "
        "show anything, by Nemenyi's critical difference. The table ranks has the numbers."
    ),
    draw=draw,
    data=data,
)
