"""Panels of regret curves: shared by the figures against time, solves and seeds.

In each panel a method is a solid step line (test regret of the epoch that is
best on validation so far) over its faint raw curve. A marker sits where the
selected epoch was reached; from the end of training a dotted line holds the
level, so that slower methods can be read against it, and leads to the name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.report.figures.base import (
    COLUMN_IN,
    MUTED,
    SMALL_PT,
    columns_for,
    log_breaks,
    look,
    method_scales,
    percent,
    spread,
    to_table,
    wrap,
)
from dglbench.report.palette import style

__all__ = ["draw_curves"]

_PANEL_HEIGHT_IN = 2.35
_NAMES_IN = (0.74, 1.3)
"""Room for the names at the right of a panel: at least, and at most for a plugin's long name."""
_WARM = "warm start"


@dataclass(frozen=True)
class _Axis:
    """The shared horizontal axis, in decades."""

    left: float
    data_right: float
    names: float
    """Where the names begin."""
    right: float


def draw_curves(
    frame: pl.DataFrame,
    *,
    x: str,
    x_title: str,
    x_labels: Callable[[Any], list[str]],
    titles: dict[str, str],
    columns: int | None = None,
    note: str | None = None,
) -> Any:
    """Draw one panel per setting from rows of `curves` with a ``warm_start_regret`` column."""
    settings = list(titles)
    columns = columns or columns_for(len(settings))
    width = COLUMN_IN if columns == 1 else min(3.1, 2.75 + 0.35 * (columns == 2)) * columns
    rows = math.ceil(len(settings) / columns)
    height = (_PANEL_HEIGHT_IN + 0.12) * rows + 0.35
    longest = max(len(style(method).label) for method in frame["method"].unique())
    names_in = min(max(_NAMES_IN[0], 0.2 + 0.058 * longest), _NAMES_IN[1])
    axis, floor = _axis(frame, x, width / columns - 0.55, names_in)
    frame = frame.with_columns(x=pl.max_horizontal(pl.col(x).cast(pl.Float64), pl.lit(floor)))
    layers: dict[str, list[pl.DataFrame]] = {}
    for setting in settings:
        for name, rows_of in _panel(frame.filter(pl.col("setting") == setting), axis).items():
            layers.setdefault(name, []).append(rows_of.with_columns(panel=pl.lit(titles[setting])))
    drawn = {
        name: to_table(pl.concat(parts), panel=titles.values()) for name, parts in layers.items()
    }
    line = p9.aes("x", "y", group="piece", color="method")
    plot = (
        p9.ggplot()
        + p9.geom_blank(p9.aes("x", "y"), drawn["corners"])
        + p9.geom_path(line, drawn["raw"], size=0.3, alpha=0.3)
        + p9.geom_path(line, drawn["held"], size=0.35, linetype="dotted", alpha=0.9)
        + p9.geom_path(line, drawn["best"], size=0.75)
        + p9.geom_point(
            p9.aes("x", "y", color="method", shape="method"), drawn["selected"], size=1.7
        )
        + p9.geom_point(
            p9.aes("x", "y", color="method", shape="method"), drawn["names"], size=1.3
        )
        + p9.geom_text(
            p9.aes("text_x", "y", label="label", color="method"), drawn["names"],
            ha="left", va="center_baseline", size=SMALL_PT,
        )
    )  # fmt: skip
    if not drawn["warm"].empty:
        plot += p9.geom_path(
            p9.aes("x", "y", group="piece"), drawn["warm"], color=MUTED, size=0.4,
            linetype="dashed",
        )  # fmt: skip
        plot += p9.geom_text(
            p9.aes("x", "y", label="label"), drawn["warm_name"], color=MUTED,
            ha="left", va="center_baseline", size=SMALL_PT, fontstyle="italic",
        )  # fmt: skip
    labs = {"x": x_title, "y": "test relative regret"} | ({"caption": note} if note else {})
    zero = floor if x == "solves" else None
    return (
        plot
        + p9.facet_wrap("panel", ncol=columns, scales="free_y", labeller=wrap(38))
        + p9.scale_x_log10(
            breaks=_ticks(axis, zero) if frame[x].max() else [floor], minor_breaks=[],
            limits=(10**axis.left, 10**axis.right), expand=(0, 0),
            labels=lambda values: _axis_labels(values, x_labels, zero),
        )
        + p9.scale_y_continuous(labels=percent, expand=(0, 0))
        + method_scales(frame["method"].unique().to_list())
        + p9.labs(**labs)
        + look(width, height)
    )  # fmt: skip


def _axis(frame: pl.DataFrame, x: str, panel_in: float, names_in: float) -> tuple[_Axis, float]:
    """Fit the axis to the data, with room for the names; return it and where zero is drawn.

    Two-stage training has next to no set-up and calls no solver: its start is
    drawn at the left edge, a little before the first thing that is not zero.
    """
    tops = {
        str(setting): _limits(rows)[1]
        for (setting,), rows in frame.group_by("setting", maintain_order=True)
    }
    seen = frame.filter(
        (pl.col(x) > 0)
        & (pl.col("epoch") > 0)
        & (pl.col("best_test_regret") <= pl.col("setting").replace_strict(tops))
    )[x].to_list()
    first, last = min(seen, default=1.0), max(seen, default=10.0)
    floor = 10.0 ** (math.floor(math.log10(first) + 1e-9) - 1) if x == "solves" else first / 2
    left, data_right = math.log10(floor), max(math.log10(last), math.log10(floor) + 1)
    margin = 0.02 * (data_right - left)
    per_inch = (data_right - left + 2 * margin) / (panel_in - names_in)
    names = data_right + margin + 0.10 * per_inch
    return _Axis(left - margin, data_right + margin, names, names + names_in * per_inch), floor


def _panel(rows: pl.DataFrame, axis: _Axis) -> dict[str, pl.DataFrame]:
    """Compute every mark of one panel."""
    methods = rows["method"].unique(maintain_order=True).to_list()
    curves = {method: rows.filter(pl.col("method") == method) for method in methods}
    warm = next(iter(_warm(rows)), None)
    ends = [float(curve["best_test_regret"][-1]) for curve in curves.values()]
    low, top = _limits(rows)
    parts: dict[str, list[dict[str, Any]]] = {name: [] for name in ("raw", "best", "held")}
    selected, names = [], []
    levels = [*ends, *_warm(rows)]
    gap = (top - low) * (SMALL_PT * 1.22 / 72) / (_PANEL_HEIGHT_IN - 0.35)
    placed = spread(levels, gap, low + gap / 2, top - gap / 2)
    pad = (axis.names - axis.data_right) * 0.7
    for method, end, at in zip(methods, ends, placed[: len(methods)], strict=True):
        curve = curves[method]
        xs, raw = curve["x"].to_list(), curve["test_regret"].to_list()
        best = curve["best_test_regret"].to_list()
        parts["raw"] += _path(method, xs, raw, top)
        parts["best"] += _path(method, *_steps(xs, best), top)
        elbow = [xs[-1], 10**axis.data_right, 10**axis.names]
        parts["held"] += _path(method, elbow, [end, end, at], math.inf)
        chosen = curve.filter(pl.col("epoch") == pl.col("best_epoch").last())
        selected.append({"method": method, "x": chosen["x"][0], "y": min(end, top)})
        names.append(
            {
                "method": method, "x": 10 ** (axis.names + 0.3 * pad), "y": at,
                "text_x": 10 ** (axis.names + pad), "label": style(method).label,
            }
        )  # fmt: skip
    marks = {name: pl.DataFrame(part) for name, part in parts.items()}
    corners = pl.DataFrame({"x": [10**axis.left, 10**axis.right], "y": [low, top]})
    marks |= {"corners": corners, "selected": pl.DataFrame(selected), "names": pl.DataFrame(names)}
    line: dict[str, list[Any]] = {"method": [], "x": [], "y": [], "piece": []}
    name: dict[str, list[Any]] = {"x": [], "y": [], "label": []}
    if warm is not None:
        xs, ys = [axis.left, axis.data_right, axis.names], [warm, warm, placed[-1]]
        line = {"method": [""] * 3, "x": [10**v for v in xs], "y": ys, "piece": ["warm"] * 3}
        name = {"x": [10 ** (axis.names + 0.3 * pad)], "y": [placed[-1]], "label": [_WARM]}
    schema = {"method": pl.String, "x": pl.Float64, "y": pl.Float64, "piece": pl.String}
    marks["warm"] = pl.DataFrame(line, schema=schema)
    marks["warm_name"] = pl.DataFrame(
        name, schema={"x": pl.Float64, "y": pl.Float64, "label": pl.String}
    )
    return marks


def _limits(rows: pl.DataFrame) -> tuple[float, float]:
    """Return the vertical range: from the lowest regret to a little above the warm start.

    Two-stage starts from scratch, often at many times the warm start's regret;
    to show that fall would press all that matters into a corner.
    """
    everything = [*rows["test_regret"].to_list(), *_warm(rows)]
    low, top, room = min(everything), max(everything), 0.06
    if _warm(rows):
        ends = rows.group_by("method").agg(pl.col("best_test_regret").last())["best_test_regret"]
        top, room = max(*ends.to_list(), *_warm(rows)), 0.22
    span = max(top - low, 0.02 * abs(top), 1e-4)
    return low - 0.07 * span, top + room * span


def _warm(rows: pl.DataFrame) -> list[float]:
    """Return the warm start's level, if it is known."""
    return rows["warm_start_regret"].drop_nulls().unique().to_list()


def _steps(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    across, up = [xs[0]], [ys[0]]
    for x, before, y in zip(xs[1:], ys[:-1], ys[1:], strict=True):
        across += [x, x]
        up += [before, y]
    return across, up


def _path(
    method: str, xs: Sequence[float], ys: Sequence[float], top: float
) -> list[dict[str, Any]]:
    """Cut a line where it leaves the panel; each piece within becomes a path of its own."""
    rows: list[dict[str, Any]] = []
    piece = 0

    def add(x: float, y: float) -> None:
        rows.append({"method": method, "x": float(x), "y": float(y), "piece": f"{method}/{piece}"})

    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        inside = y <= top
        if index:
            x0, y0 = xs[index - 1], ys[index - 1]
            if inside != (y0 <= top):
                share = (top - y0) / (y - y0)
                add(x0 * (x / x0) ** share, top)
                piece += not inside
        if inside:
            add(x, y)
    return rows


def _ticks(axis: _Axis, zero: float | None) -> list[float]:
    """Return ticks under the data, not under the names; where calls are counted, one at 0."""
    if zero is None:
        return log_breaks((10**axis.left, 10**axis.data_right))
    return [zero, *log_breaks((zero * 5, 10**axis.data_right))]


def _axis_labels(values: Any, labels: Callable[[Any], list[str]], zero: float | None) -> list[str]:
    texts = labels(values)
    if zero is None:
        return texts
    return [
        "0" if value <= zero * 1.001 else text for value, text in zip(values, texts, strict=True)
    ]
