"""The main figure's twin: regret against solver calls, which no machine changes."""

from __future__ import annotations

from typing import Any

from dglbench.report.figures.base import Figure, number
from dglbench.report.figures.curve_panels import draw_curves
from dglbench.report.figures.time_vs_regret import data
from dglbench.report.load import Report

__all__ = ["FIGURE", "data"]


def draw(report: Report) -> Any:
    """Draw test regret against instances solved, one panel per setting."""
    frame = data(report)
    titles = {label: label for label in frame["setting"].unique(maintain_order=True).to_list()}
    return draw_curves(
        frame,
        x="solves",
        x_title="solver calls in training (instances solved)",
        x_labels=number,
        titles=titles,
    )


FIGURE = Figure(
    name="solves-vs-regret",
    title="Decision quality against solver calls",
    caption=(
        "The same curves against the number of instances solved for training: with their true "
        "values, inside steps and to renew duals. Two-stage calls no solver and stands at 0, as "
        "does a start with next to no calls. Unlike seconds, solver calls are the "
        "same on every machine."
    ),
    draw=draw,
    data=data,
)
