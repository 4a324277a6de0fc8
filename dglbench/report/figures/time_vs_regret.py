"""The paper's main figure: how good the decisions are after so much training time."""

from __future__ import annotations

from typing import Any

import polars as pl

from dglbench.report.loading import Report, Run
from dglbench.report.statistics.comparisons import BAND_SEEDS, Comparison, compare, families
from dglbench.report.statistics.curves import curves, with_reference
from dglbench.report.statistics.paired import Pairs
from dglbench.report.style.choice import BEST_ONLY, drawn_runs, is_crowded
from dglbench.report.style.curve_panels import draw_curves, final_words
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import Figure, clock_note, plain
from dglbench.report.style.titles import without_seed
from dglbench.report.units import one_seed_each

__all__ = ["FIGURE", "data", "panels", "runs_of"]

_MANY_PANELS = 4
"""With more panels than this, the best of each family is drawn."""


def panels(report: Report) -> list[Comparison]:
    """Return what each panel shows: three seeds or more that its methods share, else one seed."""
    single = {unit.family: unit for unit in one_seed_each(report.units)}
    return [
        compare(report, units if len(units) >= BAND_SEEDS else [single[units[0].family]])
        for units in families(report)
    ]


def runs_of(report: Report, layout: Layout) -> list[Run]:
    """Return the runs that are drawn."""
    shown = panels(report)
    many = len(shown) > _MANY_PANELS and not layout.every_method
    methods = {unit.key: panel.methods for panel in shown for unit in panel.units}
    runs = drawn_runs(
        report, [panel.units for panel in shown], best_only=many or is_crowded(report, layout)
    )
    return [run for run in runs if run.method in methods[run.unit.key]]


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return the curves that are drawn, and the warm start's level."""
    units = [unit for panel in panels(report) for unit in panel.units]
    return with_reference(report, units, curves(report, runs_of(report, layout)))


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw test regret against training seconds, one panel per setting."""
    return draw_against(report, layout, "elapsed_s", "training time, seconds", plain, clock=True)


def draw_against(
    report: Report, layout: Layout, x: str, x_title: str, x_labels: Any, *, clock: bool
) -> Any:
    """Draw the curves against seconds or solver calls, with notes on what is shown."""
    shown, runs = panels(report), runs_of(report, layout)
    marked, note = clock_note(report, [unit for panel in shown for unit in panel.units])
    titles = {}
    for panel in shown:
        star = clock and any(marked[unit.label].endswith(" *") for unit in panel.units)
        seeds, repeats = len(panel.units), panel.repeats
        words = [f"{seeds} seeds"] * (seeds > 1) + [f"{repeats} repeats"] * (repeats > 1)
        for unit in panel.units:
            name = without_seed(unit) if seeds > 1 else marked[unit.label].rstrip(" *")
            titles[unit.label] = ", ".join([name, *words]) + " *" * star
    notes = [final_words(runs)]
    able = [run for panel in shown for result in panel.results for run in result.runs]
    if len(runs) < len(able):
        notes.append(BEST_ONLY)
    notes += [panel.left_out for panel in shown if panel.left_out]
    if clock and note:
        notes.append(note)
    pairs = Pairs(report)
    return draw_curves(
        data(report, layout),
        x=x,
        x_title=x_title,
        x_labels=x_labels,
        titles=titles,
        intervals=pairs.of_single_runs(report.cells()),
        notes=tuple(notes),
        layout=layout,
    )


FIGURE = Figure(
    name="time-vs-regret",
    title="Decision quality against training time",
    caption=(
        "Test relative regret of the epoch that is best on validation so far (thick) over the raw "
        "curve (faint), against training time without evaluation; the marker is where the "
        "selected epoch was reached, the dotted line holds its level, and the shaded strip "
        "gives the final levels. Where a setting was run with repeats, or with three data seeds or "
        "more, the mean over all runs is shown, with a band from the lowest to the highest (the "
        "middle 80 % from ten runs on); with two data seeds, one of them; with one run, its 95 % "
        "interval over test instances at the end. With many "
        "settings or methods only the best of each family is drawn, by validation regret; "
        "--methods draws those you name."
    ),
    draw=draw,
    data=data,
)
