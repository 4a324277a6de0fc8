"""Does the paper's cost model hold? Predicted against measured seconds per epoch.

Per epoch of K instances the paper counts ("Time Complexity Analysis"):

    two-stage   K·T_M                       T_M   forward and backward pass of the predictor
    SPO+        K·(T_M + T_O)               T_O   one solve of the relaxation
    QPTL        K·(T_M + T_O + T_O')        T_O   one solve of its QP, T_O' differentiating it
    DGL-U       K·(T_M + T_O / U)           U     epochs between refreshes

T_M is measured on the two-stage runs, T_O on SPO+'s solves (on refreshes where
there is no SPO+ run), QPTL's two on QPTL. DGL-auto has no U: its refreshes are
counted. All constants come from runs of the same unit and the same conditions.
The measured side is the mean epoch, because the model spreads a refresh over U.
"""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.figures.base import COLUMN_IN, MUTED, SMALL_PT, Figure, look
from dglbench.report.figures.base import method_scales, seconds
from dglbench.report.load import Report
from dglbench.report.palette import is_dgl, refresh_period

__all__ = ["FIGURE", "data"]

_SUMS = ("epoch_s", "solve_s", "refresh_s", "differentiate_s", "solves_train", "solves_refresh")


def data(report: Report) -> pl.DataFrame:
    """Return predicted and measured seconds per epoch of every finished run that has a model."""
    runs = {run.run_id: run for run in report.done if run.train_instances}
    totals = (
        report.table("timing", runs.values())
        .filter(pl.col("epoch") > 0)
        .group_by("run_id", "setting", "method", maintain_order=True)
        .agg(pl.len().alias("epochs"), *(pl.col(name).sum() for name in _SUMS))
    )
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in totals.iter_rows(named=True):
        run = runs[row["run_id"]]
        row["instances"] = run.train_instances
        groups.setdefault((run.unit.key, *run.conditions), []).append(row)
    points = [point for rows in groups.values() for point in _predict(rows)]
    if not points:
        raise ReportError(
            "complexity needs a two-stage run beside the others, on the same machine and with the "
            "same --jobs, to measure a plain training step; `dglbench sweep --methods "
            f"two-stage,spo,qptl,dgl-1,dgl-auto --out {report.folder}` adds it."
        )
    return pl.DataFrame(points)


def draw(report: Report) -> Any:
    """Draw one point a run, on equal log axes, with the diagonal."""
    frame = data(report)
    low = min(frame["predicted_s"].min(), frame["measured_s"].min()) / 1.6  # type: ignore[type-var,operator]
    high = max(frame["predicted_s"].max(), frame["measured_s"].max()) * 1.6  # type: ignore[type-var,operator]
    if high / low < 30:
        middle = math.sqrt(low * high)
        low, high = middle / 6, middle * 6
    factor = pl.DataFrame({"low": [low, low], "high": [high, high]})
    band = pl.DataFrame({"x": [low, high], "below": [low / 2, high / 2], "above": [low * 2, high * 2]})
    breaks = [10.0**p for p in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    axis = {"breaks": breaks, "labels": seconds, "limits": (low, high), "expand": (0, 0)}
    plot = (
        p9.ggplot(frame.to_pandas(), p9.aes("predicted_s", "measured_s"))
        + p9.geom_ribbon(
            p9.aes("x", ymin="below", ymax="above"), _within(band, low, high).to_pandas(),
            fill="#EFEFEF", inherit_aes=False,
        )
        + p9.geom_segment(
            p9.aes("low", "low", xend="high", yend="high"), factor.to_pandas(),
            color=MUTED, size=0.4, linetype="dashed", inherit_aes=False,
        )
        + p9.geom_point(p9.aes(color="method", shape="method"), size=1.9, alpha=0.85, stroke=0.3)
        + p9.annotate(
            "text", x=high / 1.15, y=low * 1.25, label="shaded: within a factor of 2", ha="right",
            size=SMALL_PT, color=MUTED,
        )
        + p9.scale_x_log10(**axis)
        + p9.scale_y_log10(**axis)
        + method_scales(frame["method"].to_list(), legend=True)
        + p9.guides(color=p9.guide_legend(ncol=1), shape=p9.guide_legend(ncol=1))
        + p9.labs(x="epoch predicted by the cost model", y="epoch measured")
        + p9.coord_fixed()
        + look(COLUMN_IN, 2.75, legend_position="right")
    )  # fmt: skip
    return plot


def _predict(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Measure the constants on one unit's runs and predict each of them."""

    def per(seconds_name: str, count_name: str, method: str) -> float | None:
        picked = [row for row in rows if row["method"] == method or (method == "dgl" and is_dgl(row["method"]))]
        count = sum(row[count_name] for row in picked)
        return sum(row[seconds_name] for row in picked) / count if count else None

    plain = [row for row in rows if row["method"] == "two-stage"]
    if not plain:
        return []
    step = sum(row["epoch_s"] for row in plain) / sum(
        row["epochs"] * row["instances"] for row in plain
    )
    solve = per("solve_s", "solves_train", "spo")
    if solve is None:
        solve = per("refresh_s", "solves_refresh", "dgl")
    quadratic = per("solve_s", "solves_train", "qptl")
    derivative = per("differentiate_s", "solves_train", "qptl")
    points = []
    for row in rows:
        extra = _extra(row, solve, quadratic, derivative)
        if extra is not None:
            points.append(
                {
                    "run_id": row["run_id"],
                    "setting": row["setting"],
                    "method": row["method"],
                    "predicted_s": row["instances"] * (step + extra),
                    "measured_s": row["epoch_s"] / row["epochs"],
                    "instances": row["instances"],
                    "model_step_s": step,
                    "solver_s": extra,
                }
            )
    return points


def _extra(
    row: dict[str, Any], solve: float | None, quadratic: float | None, derivative: float | None
) -> float | None:
    """Return the solver's seconds per instance and epoch, or None where the paper has no model."""
    method = row["method"]
    if method == "two-stage":
        return 0.0
    if method == "spo":
        return solve
    if method == "qptl":
        return None if quadratic is None or derivative is None else quadratic + derivative
    if method == "dgl-none":
        return 0.0
    if not is_dgl(method) or solve is None:
        return None
    period = refresh_period(method)
    refreshes = row["solves_refresh"] / (row["epochs"] * row["instances"])
    return solve * (refreshes if period is None else 1 / period)


def _within(band: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Cut the factor-of-two band to the square, adding the corners where it leaves it."""
    xs = sorted({low, min(low * 2, high), max(high / 2, low), high, *band["x"].to_list()})
    return pl.DataFrame(
        {
            "x": xs,
            "below": [max(x / 2, low) for x in xs],
            "above": [min(x * 2, high) for x in xs],
        }
    )


FIGURE = Figure(
    name="complexity",
    title="The paper's cost model against measured epochs",
    caption=(
        "Mean seconds per epoch of every finished run against the paper's per-epoch cost, with "
        "its constants measured on these runs: a training step on two-stage, a solve on SPO+, the "
        "QP and its derivative on QPTL. On the diagonal the model is exact."
    ),
    draw=draw,
    data=data,
)
