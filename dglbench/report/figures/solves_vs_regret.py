"""The main figure's twin: regret against solver calls, which no machine changes."""

from __future__ import annotations

from typing import Any

from dglbench.report.figures.time_vs_regret import data, draw_against
from dglbench.report.loading import Report
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import Figure, number

__all__ = ["FIGURE", "data"]


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw test regret against instances solved, one panel per setting."""
    x_title = "solver calls in training (instances solved)"
    return draw_against(report, layout, "solves", x_title, number, clock=False)


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
