"""The paper's main figure: how good the decisions are after so much training time."""

from __future__ import annotations

from typing import Any

import polars as pl

from dglbench.report.curves import curves, one_seed_each, with_reference
from dglbench.report.figures.base import Figure, clock_note, seconds
from dglbench.report.figures.curve_panels import draw_curves
from dglbench.report.load import Report

__all__ = ["FIGURE", "data"]


def data(report: Report) -> pl.DataFrame:
    """Return the curves of one seed of every setting, and the warm start's level."""
    units = one_seed_each(report.units)
    runs = [run for unit in units for run in report.chosen_runs(unit)]
    return with_reference(report, units, curves(report, runs))


def draw(report: Report) -> Any:
    """Draw test regret against training seconds, one panel per setting."""
    frame = data(report)
    shown = set(frame["setting"].to_list())
    titles, note = clock_note(report, [unit for unit in report.units if unit.label in shown])
    return draw_curves(
        frame,
        x="elapsed_s",
        x_title="training time",
        x_labels=seconds,
        titles=titles,
        note=note,
    )


FIGURE = Figure(
    name="time-vs-regret",
    title="Decision quality against training time",
    caption=(
        "Test relative regret of the epoch that is best on validation so far (solid) over the raw "
        "curve (faint), against training time without evaluation; the marker is where the "
        "selected epoch was reached, the dotted line holds its level. Where a setting was run "
        "with several data seeds, one is shown and per-seed has them all."
    ),
    draw=draw,
    data=data,
)
