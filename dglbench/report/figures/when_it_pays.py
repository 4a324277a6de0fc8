"""A map of where training for decisions pays: noise, training instances, predictor."""

from __future__ import annotations

from typing import Any

import plotnine as p9
import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.rivals import ANY, capacity, rivalries, short
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import TILE_EDGE
from dglbench.report.style.theme import INK, Figure, lines, look, to_table, wrap
from dglbench.report.style.titles import without_seed

__all__ = ["FIGURE", "data"]

_PANEL_IN = 2.2
_LEAST_IN = 1.7
"""What a panel's title needs."""
_ANY = "any, and trees"
_AXES = ("train", "noise")


def data(report: Report) -> pl.DataFrame:
    """Return the gain of every setting with every predictor, and with any."""
    pairs = Pairs(report)
    predictors = {run.predictor for run in report.done if not run.identity.has_own_predictor}
    rows = [
        {
            "setting": rivalry.comparison.label,
            "panel": _panel(rivalry.comparison.units[0], report),
            "task": _base(rivalry.comparison.units[0]),
            "noise": float(rivalry.comparison.units[0].settings.get("noise", 0.0)),
            "train": int(rivalry.comparison.units[0].settings["train"]),
            "predictor": predictor,
            "accurate": rivalry.accurate.method,
            "accurate_regret": rivalry.accurate.regret(),
            "focused": rivalry.focused.method,
            "focused_regret": rivalry.focused.regret(),
            "gain": 100 * rivalry.gain_mean,
            "clear": rivalry.is_clear,
        }
        for predictor in [*sorted(predictors, key=capacity), ANY]
        for rivalry in rivalries(report, pairs, predictor)
        if "train" in rivalry.comparison.units[0].settings
    ]
    if not rows:
        raise ReportError(
            "when-it-pays needs settings with a method trained for accuracy and one trained for "
            f"decisions; `dglbench sweep --preset when-it-pays --tasks matching-50 --out "
            f"{report.folder}` makes them."
        )
    return pl.DataFrame(rows).sort("task", "noise", "train", maintain_order=True)


def draw(report: Report, layout: Layout = FREE) -> Any:
    """Draw a panel per noise level, a column per number of training instances."""
    frame = data(report).with_columns(
        words=pl.struct("gain", "clear").map_elements(_words, return_dtype=pl.String),
        sizes=pl.col("train").map_elements(lambda size: f"{size:,}", return_dtype=pl.String),
        rows=pl.col("predictor").map_elements(
            lambda name: _ANY if name == ANY else short(name), return_dtype=pl.String
        ),
    )
    panels = list(dict.fromkeys(frame["panel"].to_list()))
    sizes = [f"{size:,}" for size in sorted(set(frame["train"].to_list()))]
    known = sorted(set(frame["predictor"].to_list()) - {ANY}, key=capacity)
    names = [*map(short, known), _ANY]
    most = max(float(frame["gain"].abs().max() or 0.0), 0.1)  # type: ignore[arg-type]
    columns = layout.columns(len(panels), _PANEL_IN)
    width = layout.inches(columns, _LEAST_IN)
    narrower = width - 0.6  # the caption begins under the panels
    note = lines(
        [
            "points of test regret that the best method trained for decisions saves against the "
            "best trained for accuracy, both chosen by validation; •: the 95 % interval excludes 0"
        ],
        narrower,
    )
    deep = -(-len(panels) // columns)
    return (
        p9.ggplot(to_table(frame, panel=panels, sizes=sizes, rows=names[::-1]),
                  p9.aes("sizes", "rows", fill="gain"))
        + p9.geom_tile(color=TILE_EDGE, size=0.8)
        + p9.geom_text(p9.aes(label="words"), size=6.2, color=INK)
        + p9.facet_wrap("panel", ncol=columns, scales="free_x",
                        labeller=wrap(int(13 * width / columns)))
        + p9.scale_fill_gradient2(low="#C0632B", mid="#F4F4F2", high="#2C7FB8", midpoint=0,
                                  limits=(-most, most), guide=None)
        + p9.labs(x="training instances", y="predictor", caption="\n".join(note))
        + look(width, deep * (0.27 * len(names) + 0.45) + 0.4 + 0.11 * len(note),
               panel_grid_major=p9.element_blank(), axis_text_y=p9.element_text(color=INK))
    )  # fmt: skip


def _words(row: dict[str, Any]) -> str:
    written = f"{row['gain']:+.1f}".replace("-", "−")
    return f"{written} •" if row["clear"] else written


def _base(unit: Unit) -> str:
    """Return the setting's title without noise and training instances."""
    facts = without_seed(unit).split(", ")
    kept = [fact for fact in facts if not fact.startswith(tuple(f"{name} " for name in _AXES))]
    return ", ".join(kept)


def _panel(unit: Unit, report: Report) -> str:
    """Name the noise where there are several levels of it."""
    alike = [other for other in report.units if _base(other) == _base(unit)]
    levels = {other.settings.get("noise") for other in alike}
    return f"{_base(unit)}, noise {unit.settings['noise']:g}" if len(levels) > 1 else _base(unit)


FIGURE = Figure(
    name="when-it-pays",
    title="When does training for decisions pay?",
    caption=(
        "Test regret of the best method trained for accuracy minus that of the best trained for "
        "decisions, both chosen by validation: above 0 (blue) training for decisions pays. A row "
        "is a predictor; the last one lets both sides have any, boosted trees included."
    ),
    draw=draw,
    data=data,
)
