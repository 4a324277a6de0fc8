"""What a panel of regret curves is made of: lines, bands, markers and the levels at its right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dglbench.report.style.palette import method_order
from dglbench.report.style.seed_band import mean_and_band, seed_offsets

__all__ = ["BEST", "HELD", "RAW", "WARM", "Axis", "above", "limits", "panel_marks"]

BEST, RAW, HELD, WARM = (
    "best on validation so far", "every epoch", "held after training", "warm start",
)  # fmt: skip

Interval = tuple[float, float] | None
_SCHEMA = {"method": pl.String, "x": pl.Float64, "y": pl.Float64, "piece": pl.String,
           "kind": pl.String}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """The shared horizontal axis, in decades, from ``left`` to ``data``.

    Between ``start`` and ``right``, apart from the axis, is a box of its own for the final levels:
    there, places mean nothing.
    """

    left: float
    data: float
    start: float
    right: float
    slot: float
    """How far apart the final levels stand."""

    @property
    def strip(self) -> float:
        """The middle of the box."""
        return (self.start + self.right) / 2


def panel_marks(
    rows: pl.DataFrame, axis: Axis, intervals: Mapping[str, Interval]
) -> dict[str, pl.DataFrame]:
    """Compute every mark of one panel, of one seed or of several."""
    low, top = limits(rows, intervals)
    offsets = seed_offsets(rows)
    lines: list[dict[str, Any]] = []
    bands, selected, ends = [], [], []
    methods = sorted(set(rows["method"].to_list()), key=method_order)
    for place, method in enumerate(methods):
        slot = 10 ** (axis.start + axis.slot * (place + 0.8))
        own = rows.filter(pl.col("method") == method)
        if own["run_id"].n_unique() > 1:
            curve = mean_and_band(own, offsets)
            xs, best = curve["x"].to_list(), curve["mean"].to_list()
            (across, lows), (_, highs) = (
                _steps(xs, curve[end].to_list()) for end in ("low", "high")
            )
            edges = pl.DataFrame({"x": across, "low": lows, "high": highs})
            bands.append(
                edges.select("x", pl.lit(method).alias("method"),
                             pl.col("low", "high").clip(low, top))
            )  # fmt: skip
            chosen = _selected(own)
            at = 10 ** (sum(math.log10(x) for x in chosen) / len(chosen))
            end, interval = best[-1], (curve["low"][-1], curve["high"][-1])
            level = best[max(sum(x <= at for x in xs) - 1, 0)]
        else:
            xs, best = own["x"].to_list(), own["best_test_regret"].to_list()
            lines += _path(method, RAW, xs, own["test_regret"].to_list(), top)
            at, end = _selected(own)[0], best[-1]
            level = end
            interval = intervals.get(str(own["run_id"][0])) or (end, end)
        lines += _path(method, BEST, *_steps(xs, best), top)
        lines += _path(method, HELD, [xs[-1], 10**axis.data], [end, end], top)
        if end > top:  # it leaves the panel and does not come back
            continue
        if level <= top:  # of several seeds, the mean may come down from above later
            selected.append({"method": method, "x": at, "y": level})
        ends.append(
            {"method": method, "x": slot, "y": min(end, top),
             "low": max(interval[0], low), "high": min(interval[1], top)}
        )  # fmt: skip
    warm = _warm(rows)
    if warm:  # over several seeds their mean, as the curves are
        level = sum(warm) / len(warm)
        for part in ((axis.left, axis.data), (axis.start, axis.right)):
            places = [10**end for end in part]
            lines += _path("", WARM, places, [level] * 2, math.inf, part[0])
    # What ends above the panel does not lengthen the axis, and is drawn as far as that goes.
    within = pl.col("x") <= 10**axis.data
    return {
        "lines": pl.DataFrame(lines, schema=_SCHEMA).filter(within | (pl.col("kind") == WARM)),
        "bands": (pl.concat(bands) if bands else pl.DataFrame(schema=_BAND)).filter(within),
        "selected": pl.DataFrame(selected, schema=_POINT),
        "ends": pl.DataFrame(ends, schema=_POINT | {"low": pl.Float64, "high": pl.Float64}),
        "strip": pl.DataFrame(
            {
                "left": [10**axis.left],
                "data": [10**axis.data],
                "start": [10**axis.start],
                "right": [10**axis.right],
                "low": [low],
                "top": [top],
            }
        ),
        "corners": pl.DataFrame({"x": [10**axis.left, 10**axis.right], "y": [low, top]}),
    }


_POINT = {"method": pl.String, "x": pl.Float64, "y": pl.Float64}
_BAND = {"x": pl.Float64, "method": pl.String, "low": pl.Float64, "high": pl.Float64}


def limits(rows: pl.DataFrame, intervals: Mapping[str, Interval]) -> tuple[float, float]:
    """Return the vertical range: from the lowest regret to a little above the warm start.

    Two-stage and random weights begin at many times the regret that training ends with; to show
    that fall would press all that matters into a corner. Without a warm start the range ends as
    far above the final levels as these lie apart, at least by half of them.
    """
    if rows["seed"].n_unique() > 1:  # as the bands are drawn
        offset = pl.col("seed").replace_strict(seed_offsets(rows), return_dtype=pl.Float64)
        rows = rows.with_columns(pl.col("best_test_regret", "test_regret") - offset)
    alone = rows.filter(pl.col("run_id").n_unique().over("method") == 1)  # others have a band
    known = [found[0] for name in alone["run_id"].unique() if (found := intervals.get(name))]
    best = rows["best_test_regret"].to_list()
    low = min(*best, *known) if known else min(best)
    level = pl.col("best_test_regret")
    last = rows.group_by("run_id", "method").agg(level.last())
    means = last.group_by("method").agg(level.mean())["best_test_regret"]
    worst = max(means.to_list())
    top = min(max(rows["test_regret"].to_list()), worst + max(worst - low, 0.5 * worst))
    room = 0.06
    if warm := _warm(rows):
        ends = rows.group_by("run_id").agg(pl.col("best_test_regret").last())["best_test_regret"]
        start = max(warm)
        # What ends further above the warm start than the best is below it is named in a note.
        near = [end for end in ends.to_list() if end <= start + max(start - low, 0.1 * start)]
        top, room = max([*near, start]), 0.12
    span = max(top - low, 0.02 * abs(top), 1e-4)
    return low - 0.05 * span, top + room * span


def above(rows: pl.DataFrame, intervals: Mapping[str, Interval]) -> dict[str, float]:
    """Return the methods of a panel whose final level lies above it, with that level."""
    top = limits(rows, intervals)[1]
    ends = rows.group_by("run_id", "method", maintain_order=True).agg(
        pl.col("best_test_regret").last()
    )
    means = ends.group_by("method", maintain_order=True).agg(pl.col("best_test_regret").mean())
    return {str(method): level for method, level in means.iter_rows() if level > top}


def _selected(own: pl.DataFrame) -> list[float]:
    """Return where each seed's selected epoch was reached."""
    chosen = own.filter(pl.col("epoch") == pl.col("best_epoch").last().over("run_id"))
    return [float(value) for value in chosen["x"].to_list()]


def _warm(rows: pl.DataFrame) -> list[float]:
    """Return the warm start's level of each seed, where it is known."""
    return rows["warm_start_regret"].drop_nulls().unique().to_list()


def _steps(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    across, up = [xs[0]], [ys[0]]
    for x, before, y in zip(xs[1:], ys[:-1], ys[1:], strict=True):
        across += [x, x]
        up += [before, y]
    return across, up


def _path(
    method: str,
    kind: str,
    xs: Sequence[float],
    ys: Sequence[float],
    top: float,
    part: float = 0.0,
) -> list[dict[str, Any]]:
    """Cut a line where it leaves the panel; each piece within becomes a path of its own.

    ``part`` tells lines of one method and kind apart.
    """
    rows: list[dict[str, Any]] = []
    piece = 0

    def add(x: float, y: float) -> None:
        name = f"{kind}/{method}/{part:g}/{piece}"
        rows.append({"method": method, "x": float(x), "y": float(y), "piece": name, "kind": kind})

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
