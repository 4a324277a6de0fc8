"""Panels of regret curves: shared by the figures against time, solves and seeds.

In each panel a method is a solid step line (test regret of the epoch that is
best on validation so far) over its faint raw curve; where several runs are drawn
together (repeats, or three data seeds or more), their mean over a band. A
marker sits where the selected epoch was reached. A shaded box at the right, apart from the
axis, shows the final levels with their intervals, one beside the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.loading import Run
from dglbench.report.style.curve_marks import (
    BEST,
    HELD,
    RAW,
    WARM,
    Axis,
    Interval,
    above,
    limits,
    panel_marks,
)
from dglbench.report.style.layout import FREE, PAGE_IN, Layout
from dglbench.report.style.palette import method_order, style
from dglbench.report.style.seed_band import MIDDLE_FROM
from dglbench.report.style.theme import (
    MUTED,
    legend_lines,
    lines,
    log_breaks,
    look,
    method_scales,
    percent,
    to_table,
    wrap,
)

__all__ = ["draw_curves", "final_words"]

_PANEL_HEIGHT_IN, _LEAST_HEIGHT_IN = 1.85, 1.15
_SLOT_IN = 0.08
"""Room for one method's final level at the right of a panel."""
_LABEL_IN = 0.24
"""Room for a label under the axis: `0.01`, `100k`."""
_STRIP_IN = 0.3
"""Least width of the strip of final levels: its own label is as wide."""
_GAP_IN = 0.09
"""Between the axis and that box."""
_STRIP = "#F4F4F4"
# Line type, width and alpha.
_KINDS = {
    BEST: ("solid", 0.75, 1.0),
    RAW: ("solid", 0.3, 0.35),
    HELD: ("dotted", 0.4, 0.8),
    WARM: ("dashed", 0.45, 0.9),
}


def draw_curves(
    frame: pl.DataFrame,
    *,
    x: str,
    x_title: str,
    x_labels: Callable[[Any], list[str]],
    titles: Mapping[str, str],
    intervals: Mapping[str, Interval],
    columns: int | None = None,
    notes: tuple[str, ...] = (),
    layout: Layout = FREE,
) -> Any:
    """Draw one panel per title from rows of `curves` with a ``warm_start_regret`` column.

    ``titles`` maps settings to panels: seeds of one setting share a panel.
    """
    panels = list(dict.fromkeys(titles.values()))
    columns = layout.columns(len(panels)) if columns is None else columns
    if layout.width is not None:
        columns = min(columns, layout.columns(len(panels)))
    width = layout.inches(columns)
    rows = math.ceil(len(panels) / columns)
    frame = frame.with_columns(panel=pl.col("setting").replace_strict(titles))
    methods = sorted(set(frame["method"].to_list()), key=method_order)
    axis, floor = _axis(frame, x, width / columns - 0.5, intervals)
    frame = frame.with_columns(x=pl.max_horizontal(pl.col(x).cast(pl.Float64), pl.lit(floor)))
    layers: dict[str, list[pl.DataFrame]] = {}
    for panel in panels:
        marks = panel_marks(frame.filter(pl.col("panel") == panel), axis, intervals)
        for name, part in marks.items():
            layers.setdefault(name, []).append(part.with_columns(panel=pl.lit(panel)))
    joined = {name: pl.concat(parts) for name, parts in layers.items()}
    warm = joined["lines"].filter(kind=WARM)
    drawn = {
        name: to_table(part.filter(pl.col("method") != "") if name == "lines" else part,
                       panel=panels)
        for name, part in joined.items()
    }  # fmt: skip
    kinds = [kind for kind in _KINDS if kind in set(joined["lines"]["kind"].to_list())]
    line = p9.aes("x", "y", group="piece", linetype="kind", size="kind", alpha="kind")
    plot = (
        p9.ggplot()
        + p9.geom_blank(p9.aes("x", "y"), drawn["corners"])
        # The final levels stand in a box apart, so that their places are not read as times.
        + p9.geom_rect(
            p9.aes(xmin="data", xmax="right", ymin="low", ymax="top"), drawn["strip"], fill="white"
        )
        + p9.geom_rect(
            p9.aes(xmin="start", xmax="right", ymin="low", ymax="top"),
            drawn["strip"],
            fill=_STRIP,
            color="#BBBBBB",
            size=0.4,
        )
        + p9.geom_rect(
            p9.aes(xmin="left", xmax="data", ymin="low", ymax="top"),
            drawn["strip"],
            fill="none",
            color="#BBBBBB",
            size=0.4,
        )
    )
    if not drawn["bands"].empty:
        plot += p9.geom_ribbon(
            p9.aes("x", ymin="low", ymax="high", fill="method"), drawn["bands"], alpha=0.11
        )
    if not warm.is_empty():
        plot += p9.geom_path(line, to_table(warm, panel=panels), color=MUTED)
    plot = (
        plot
        + p9.geom_path(
            p9.aes("x", "y", group="piece", linetype="kind", size="kind", alpha="kind",
                   color="method"), drawn["lines"],
        )
        + p9.geom_linerange(
            p9.aes("x", ymin="low", ymax="high", color="method"), drawn["ends"], size=0.6,
            alpha=0.6, show_legend=False,
        )
        + p9.geom_point(p9.aes("x", "y", color="method", shape="method"), drawn["selected"],
                        size=1.6, stroke=0.3)
        + p9.geom_point(p9.aes("x", "y", color="method", shape="method"), drawn["ends"],
                        size=1.2, stroke=0.3)
    )  # fmt: skip
    labs = {"x": x_title, "y": "test regret"}
    written = lines((*notes, *_above(frame, panels, intervals)), width)
    if written:
        labs["caption"] = "\n".join(written)
    zero = floor if x == "solves" else None
    ticks = _ticks(axis, zero, width / columns - 0.5) if frame[x].max() else [floor]
    method_lines = legend_lines(methods, width, extra_in=0.32)
    kind_lines = math.ceil(len(kinds) * 1.25 / (width - 0.2))
    below_in = 0.42 + 0.16 * (method_lines + kind_lines) + 0.11 * len(written)
    return (
        plot
        + p9.facet_wrap("panel", ncol=columns, scales="free_y",
                        labeller=wrap(int(12.5 * width / columns)))
        + p9.scale_x_log10(
            breaks=[*ticks, 10**axis.strip], minor_breaks=[],
            limits=(10**axis.left, 10**axis.right), expand=(0, 0),
            labels=lambda values: [*_axis_labels(values[:-1], x_labels, zero), "at the end"],
        )
        + p9.scale_y_continuous(labels=percent, expand=(0, 0))
        + _kind_scales(kinds)
        + method_scales(methods, legend=True)
        + p9.scale_fill_manual(values={name: style(name).colour for name in methods}, guide=None)
        + p9.guides(
            color=p9.guide_legend(nrow=method_lines, order=1),
            shape=p9.guide_legend(nrow=method_lines, order=1),
            linetype=p9.guide_legend(nrow=kind_lines, order=2),
        )
        + p9.labs(**labs)
        + look(
            width,
            (_panel_height(rows, below_in, layout) + 0.12) * rows + below_in,
            legend_box="vertical", legend_box_just="center", legend_box_margin=0,
            legend_key_width=16, panel_border=p9.element_blank(),
        )
    )  # fmt: skip


def final_words(runs: Sequence[Run], *, pooled: bool = True) -> str:
    """Say what the levels at the right are; ``pooled``: data seeds of a setting share a panel."""
    counts: dict[tuple[str, str], int] = {}
    seen: dict[str, set[int]] = {}
    for run in runs:
        panel = run.unit.family if pooled else run.unit.key
        counts[panel, run.method] = counts.get((panel, run.method), 0) + 1
        seen.setdefault(panel, set()).add(run.unit.seed)
    words = {
        "one": "level with its 95 % interval over test instances (one run)",
        "few": "mean and range over runs",
        "many": f"mean and middle 80 % of {MIDDLE_FROM} runs or more",
    }
    kinds = {"one" if n == 1 else "few" if n < MIDDLE_FROM else "many" for n in counts.values()}
    said = "at the end: " + "; ".join(words[kind] for kind in words if kind in kinds)
    if any(len(seeds) > 1 for seeds in seen.values()):
        said += "; bands leave out what data seeds differ by for all methods alike"
    return said


def _panel_height(rows: int, below_in: float, layout: Layout) -> float:
    """Return a panel's height: on paper less than usual, where a page would not hold them all."""
    if layout.width is None:
        return _PANEL_HEIGHT_IN
    fitting = (PAGE_IN - below_in) / rows - 0.12
    return min(_PANEL_HEIGHT_IN, max(_LEAST_HEIGHT_IN, fitting))


def _above(frame: pl.DataFrame, panels: list[str], intervals: Mapping[str, Interval]) -> list[str]:
    """Name the methods that end above a panel."""
    found = [
        f"{style(method).label} {100 * level:.1f} % in {panel}"
        for panel in panels
        for method, level in above(frame.filter(pl.col("panel") == panel), intervals).items()
    ]
    return [f"above the panel: {'; '.join(found)}"] if found else []


def _kind_scales(kinds: list[str]) -> list[Any]:
    """Return one legend for the kinds of line: type, width and strength go together."""
    common: dict[str, Any] = {"breaks": kinds, "labels": kinds, "name": "line"}
    columns = [{kind: _KINDS[kind][at] for kind in kinds} for at in range(3)]
    return [
        p9.scale_linetype_manual(values=columns[0], **common),
        p9.scale_size_manual(values=columns[1], **common),
        p9.scale_alpha_manual(values=columns[2], **common),
    ]


def _axis(
    frame: pl.DataFrame,
    x: str,
    panel_in: float,
    intervals: Mapping[str, Interval],
) -> tuple[Axis, float]:
    """Fit the axis to the data, with room for final levels; return it and where zero is drawn.

    Two-stage training has next to no set-up and calls no solver: its start is
    drawn at the left edge, a little before the first thing that is not zero.
    """
    starts: list[float] = []
    places: list[float] = []
    for _, rows in frame.group_by("panel", maintain_order=True):
        counted = rows.filter(pl.col(x) > 0)
        inside = pl.col("best_test_regret") <= limits(rows, intervals)[1]
        # All of a run that ends within the panel: boosted trees have no epoch after their start,
        # and of several runs one may lie above while their mean does not.
        shown = inside | ~pl.col("method").is_in(list(above(rows, intervals)))
        starts += counted.filter(inside & (pl.col("epoch") > 0))[x].to_list()
        places += counted.filter(shown)[x].to_list()
    first, last = min(starts or places, default=1.0), max(places, default=10.0)
    floor = 10.0 ** (math.floor(math.log10(first) + 1e-9) - 1) if x == "solves" else first / 1.5
    left, data = math.log10(floor), max(math.log10(last), math.log10(floor) + 1)
    margin = 0.02 * (data - left)
    most = frame.group_by("panel").agg(pl.col("method").n_unique())["method"].max()
    slots = int(str(most)) + 0.6
    gutter_in = _GAP_IN + max(_STRIP_IN, slots * min(_SLOT_IN, 0.45 * panel_in / slots))
    per_inch = (data - left + 2 * margin) / (panel_in - gutter_in)
    right = data + margin + per_inch * gutter_in
    axis = Axis(
        left - margin, data + margin, data + margin + per_inch * _GAP_IN, right,
        per_inch * (gutter_in - _GAP_IN) / slots,
    )  # fmt: skip
    return axis, floor


def _ticks(axis: Axis, zero: float | None, panel_in: float) -> list[float]:
    """Return ticks under the data, their labels apart; where calls are counted, one at 0."""
    low = axis.left if zero is None else math.log10(zero * 5)
    decade_in = panel_in / (axis.right - axis.left)
    # The strip has a label too, which needs its room.
    high = min(axis.data, axis.strip - _LABEL_IN / decade_in)
    powers = [10.0**power for power in range(math.ceil(low - 1e-9), math.floor(high) + 1)]
    powers = powers[:: max(1, math.ceil(_LABEL_IN / decade_in))]
    ticks = powers if len(powers) >= 3 else log_breaks((10**low, 10**high))
    return ticks if zero is None else [zero, *ticks]


def _axis_labels(values: Any, labels: Callable[[Any], list[str]], zero: float | None) -> list[str]:
    texts = labels(values)
    if zero is None:
        return texts
    return [
        "0" if value <= zero * 1.001 else text for value, text in zip(values, texts, strict=True)
    ]
