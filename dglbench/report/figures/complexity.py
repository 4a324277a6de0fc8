"""Does the paper's cost model hold? Predicted against measured seconds per epoch.

Per epoch of K instances the paper counts ("Time Complexity Analysis"):

    two-stage   K·T_M                       T_M   forward and backward pass of the predictor
    SPO+        K·(T_M + T_O)               T_O   one solve of the relaxation
    QPTL        K·(T_M + T_O + T_O')        T_O   one solve of its QP, T_O' differentiating it
    DGL-U       K·(T_M + T_O / U)           U     epochs between refreshes

T_M is measured on the two-stage runs, T_O on SPO+'s solves (on refreshes where
there is no SPO+ run), QPTL's two on QPTL. DGL-auto has no U: its refreshes are
counted. All constants come from runs of the same unit and the same conditions.
The measured side is the mean epoch, because the model spreads a refresh over U;
for DGL-U it includes the first refresh, which the logs book as set-up.
"""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.statistics.epochs import epoch_totals, mean_epoch
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import is_dgl, refresh_period
from dglbench.report.style.theme import (
    MUTED,
    SMALL_PT,
    Figure,
    log_breaks,
    look,
    method_scales,
    seconds,
    to_table,
)

__all__ = ["FIGURE", "data"]


def data(report: Report) -> pl.DataFrame:
    """Return predicted and measured seconds per epoch of every finished run that has a model."""
    runs = {run.run_id: run for run in report.current if run.train_instances}
    totals = epoch_totals(report, runs.values())
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in totals.iter_rows(named=True):
        run = runs[row["run_id"]]
        row |= {"instances": run.train_instances, "task": run.unit.task, "n": run.unit.n}
        # A network's step takes longer than a line's: each predictor has a model of its own.
        row |= {"method": run.identity.method, "predictor": run.predictor}
        groups.setdefault((run.unit.key, run.predictor, *run.conditions), []).append(row)
    points = [point for rows in groups.values() for point in _predict(rows)]
    if not points:
        raise ReportError(
            "complexity needs a two-stage run beside the others, on the same machine and with the "
            "same --jobs, to measure a plain training step; `dglbench sweep --methods "
            f"two-stage,spo,qptl,dgl-1,dgl-auto --out {report.folder}` adds it."
        )
    return pl.DataFrame(points)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw one point per run, on equal log axes, with the diagonal."""
    frame = data(report)
    values = [*frame["predicted_s"].to_list(), *frame["measured_s"].to_list()]
    low, high = min(values) / 1.6, max(values) * 1.6
    width = layout.inches(1)
    if high / low < 30:
        middle = math.sqrt(low * high)
        low, high = middle / 6, middle * 6
    grown = frame.group_by("task", "method", "predictor", "n", maintain_order=True).agg(
        pl.col("predicted_s", "measured_s").median()
    )
    grown = grown.sort("n").with_columns(
        line=pl.concat_str("task", "method", "predictor", separator=" ")
    )
    diagonal = pl.DataFrame({"low": [low], "high": [high]})
    axis = {
        "breaks": log_breaks((low, high), most=4),  # `100 ms` is long
        "minor_breaks": [],
        "labels": seconds,
        "limits": (low, high),
        "expand": (0, 0),
    }
    return (
        p9.ggplot(to_table(frame), p9.aes("predicted_s", "measured_s"))
        + p9.geom_ribbon(
            p9.aes("x", ymin="below", ymax="above"), _factor_two(low, high).to_pandas(),
            fill="#EFEFEF", inherit_aes=False,
        )
        + p9.geom_segment(
            p9.aes("low", "low", xend="high", yend="high"), diagonal.to_pandas(),
            color=MUTED, size=0.4, linetype="dashed", inherit_aes=False,
        )
        + p9.geom_path(
            p9.aes(color="method", group="line"), to_table(grown),
            size=0.35, alpha=0.6, show_legend=False,
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
        + look(width, 0.75 * width, legend_position="right")
    )  # fmt: skip


def _predict(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Measure the constants on one unit's runs and predict each of them."""

    def per(seconds_name: str, count_name: str, method: str) -> float | None:
        picked = [
            row
            for row in rows
            if row["method"] == method or (method == "dgl" and is_dgl(row["method"]))
        ]
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
                    "task": row["task"],
                    "n": row["n"],
                    "method": row["method"],
                    "predictor": row["predictor"],
                    "predicted_s": row["instances"] * (step + extra),
                    "measured_s": mean_epoch(row),
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


def _factor_two(low: float, high: float) -> pl.DataFrame:
    """Return the band within a factor of two of the diagonal, cut to the square."""
    xs = sorted({low, min(low * 2, high), max(high / 2, low), high})
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
        "QP and its derivative on QPTL. On the diagonal the model is exact; a line follows a "
        "method through the sizes of a task."
    ),
    draw=draw,
    data=data,
)
