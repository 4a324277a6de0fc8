"""The appendix figure: every data seed on its own, never averaged.

A seed draws a different dataset, so it is a different experiment; the question
is whether the picture is the same each time.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.curves import curves, with_reference
from dglbench.report.statistics.paired import Pairs
from dglbench.report.style.choice import BEST_ONLY, drawn_runs, is_crowded
from dglbench.report.style.curve_panels import draw_curves, final_words
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import Figure, clock_note, plain

__all__ = ["FIGURE", "data"]


def data(report: Report, layout: Layout = FREE) -> pl.DataFrame:
    """Return the curves of every setting that was run with several data seeds."""
    units = _units(report)
    rows = [[unit for unit in units if unit.family == name] for name in _families(units)]
    runs = drawn_runs(report, rows, best_only=is_crowded(report, layout))
    return with_reference(report, units, curves(report, runs))


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a row per setting and a column per seed."""
    units = _units(report)
    titles, note = clock_note(report, units)
    seeds = max(_families(units).values())
    pairs = Pairs(report)
    return draw_curves(
        data(report, layout),
        x="elapsed_s",
        x_title="training time, seconds",
        x_labels=plain,
        titles=titles,
        intervals=pairs.of_single_runs(report.cells()),
        columns=min(seeds, 4),
        notes=(
            final_words(report.chosen_runs(), pooled=False),
            *([BEST_ONLY] if is_crowded(report, layout) else []),
            *([note] if note else []),
        ),
        layout=layout,
    )


def _units(report: Report) -> list[Unit]:
    counts = _families([unit for unit in report.units if report.cells(unit)])
    units = [unit for unit in report.units if counts[unit.family] > 1]
    if not units:
        raise ReportError(
            "per-seed needs one setting with finished runs of at least two data seeds; "
            f"`dglbench sweep --out {report.folder}` runs matching with the paper's three."
        )
    return units


def _families(units: list[Unit]) -> Counter[str]:
    """Count the seeds of each setting."""
    return Counter(unit.family for unit in units)


FIGURE = Figure(
    name="per-seed",
    title="The same comparison for each data seed",
    caption=(
        "Test relative regret against training time as in time-vs-regret, one panel per data "
        "seed; over repeats their mean, with a band. A seed is a different dataset: here none is "
        "averaged away. Of more than ten methods only the best of each family is drawn."
    ),
    draw=draw,
    data=data,
)
