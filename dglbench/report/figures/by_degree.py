"""Boxes by degree: what training for decisions gains as the predictor becomes misspecified.

The figure of Elmachtoub and Grigas (2022), "Smart Predict, then Optimize": the costs
are a polynomial of the features and the predictor is linear, so its degree says how wrong the
predictor must be. Their measure is the normalised SPO loss, Σ regret / Σ |optimal value|, which
the logs call the pooled regret.
"""

from __future__ import annotations

import math
from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Unit
from dglbench.report.style.layout import FREE, TEXT_IN, Layout
from dglbench.report.style.theme import Figure, look, method_scales, percent, to_table, wrap
from dglbench.report.style.titles import without_seed

__all__ = ["FIGURE", "data"]

_PANEL_IN = 2.6


def data(report: Report) -> pl.DataFrame:
    """Return the pooled test regret of every method and data seed, of tasks of several degrees."""
    panels = _panels(report)
    rows = [
        {
            "panel": panels[unit.key],
            "degree": int(unit.settings["degree"]),
            "seed": unit.seed,
            "setting": unit.label,
            "method": cell.method,
            "pooled_regret": cell.expected(
                run.record.selected.test.pooled_regret if run.record.selected else math.nan
                for run in cell.runs
            ),
        }
        for unit in report.units
        if unit.key in panels
        for cell in report.cells(unit)
    ]
    return pl.DataFrame(rows)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per setting, a box per degree and method, and a point per seed."""
    frame = data(report)
    degrees = [str(degree) for degree in sorted(set(frame["degree"].to_list()))]
    panels = list(dict.fromkeys(frame["panel"].to_list()))
    table = to_table(frame.with_columns(pl.col("degree").cast(pl.String)),
                     panel=panels, degree=degrees)  # fmt: skip
    columns = layout.columns(len(panels), _PANEL_IN)
    rows = -(-len(panels) // columns)
    side_by_side = p9.position_dodge(width=0.75)
    width = layout.inches(columns, TEXT_IN / 2)
    return (
        p9.ggplot(table, p9.aes("degree", "pooled_regret", color="method"))
        + p9.geom_boxplot(p9.aes(fill="method"), position=side_by_side, width=0.6, alpha=0.15,
                          size=0.4, fatten=1.6, outlier_alpha=0)
        + p9.geom_point(p9.aes(shape="method"), position=side_by_side, size=0.9, alpha=0.7,
                        stroke=0.2)
        + p9.facet_wrap("panel", ncol=columns, labeller=wrap(int(12 * width / columns)))
        + p9.scale_y_continuous(labels=percent, limits=(0, None))
        + method_scales(table["method"], legend=True, fill=True)
        + p9.labs(x="degree of the polynomial behind the labels (1: the predictor can be right)",
                  y="test regret, Σ regret / Σ |optimum|")
        + look(width, 0.75 + 1.9 * rows)
    )  # fmt: skip


def _panels(report: Report) -> dict[str, str]:
    """Return unit key to panel title: what units share that differ by degree and seed alone."""
    units = [u for u in report.units if "degree" in u.settings and report.cells(u)]
    titles = {unit.key: _title(unit, units) for unit in units}
    degrees: dict[str, set[int]] = {}
    for unit in units:
        degrees.setdefault(titles[unit.key], set()).add(unit.settings["degree"])
    panels = {key: title for key, title in titles.items() if len(degrees[title]) > 1}
    if not panels:
        raise ReportError(
            "by-degree needs one task with finished runs of at least two degrees, all else equal; "
            f"`dglbench sweep --preset shortest-path --out {report.folder}` makes them."
        )
    return panels


def _title(unit: Unit, among: list[Unit]) -> str:
    """Return the unit's title without seed and degree, training instances in words."""
    base, *facts = without_seed(unit).split(", ")
    train = unit.settings.get("train")
    # A validation set that is always a quarter of the training set adds no information.
    validations = {u.settings.get("val") for u in among if u.settings.get("train") == train}
    kept = [fact for fact in facts if not fact.startswith("degree ")]
    if f"train {train}" in kept:
        place = kept.index(f"train {train}")
        kept[place] = f"{train:,} training instances"
        if len(validations) == 1:
            kept = [fact for fact in kept if not fact.startswith("val ")]
    return ", ".join([base, *kept])


FIGURE = Figure(
    name="by-degree",
    title="What training for decisions gains, by the degree of the data",
    caption=(
        "Test regret of one run (the mean over repeats), pooled over instances (Elmachtoub and "
        "Grigas's normalised SPO loss), by the degree of the polynomial that makes the labels from "
        "the features. A point is a data seed; boxes show the median and the middle half."
    ),
    draw=draw,
    data=data,
)
