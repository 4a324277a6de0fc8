"""The page's interactive chart: its data, its Vega-Lite specification, and the offline runtime.

Vega-Lite comes out of `vl-convert` as one script, so the page loads nothing. The
specification is completed in the browser (`templates/chart.js`): which rows, log
or linear, and the colours of the reader's scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dglbench.report.cells import Cell
from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.comparisons import families
from dglbench.report.statistics.curves import curves, reference_regret
from dglbench.report.style.palette import on_dark, style
from dglbench.report.style.titles import title, without_seed
from dglbench.statistics import Numbers

__all__ = ["chart_data", "runtime", "specification"]

_X = "M-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0L-1,-.6Z"
_STAR = "M0,-1.2L.27,-.37L1.14,-.37L.44,.14L.71,.97L0,.46L-.71,.97L-.44,.14L-1.14,-.37L-.27,-.37Z"
_SHAPES = {
    "o": "circle", "^": "triangle-up", "s": "square", "*": _STAR, "X": _X, "D": "diamond",
    "v": "triangle-down", "P": "cross", "<": "triangle-left", ">": "triangle-right",
    "d": "diamond",
}  # fmt: skip
"""matplotlib's markers, as used in the figures, by Vega's names."""


def runtime() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that defines ``vegaEmbed``."""
    import vl_convert

    script = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    return script.replace("</script", "<\\/script")  # would end the page's own tag


def opening_units(report: Report) -> list[Unit]:
    """Return the seeds of the setting that the page opens on: the last, and so the largest, of
    those in which most methods were run.
    """

    def methods(units: list[Unit]) -> int:
        return max(len(report.cells(unit)) for unit in units)

    return max(reversed(families(report)), key=methods, default=[])


def chart_data(report: Report, opening: list[Unit]) -> dict[str, Any]:
    """Return looks of the methods and, by setting and seed, the curves of the chosen runs."""
    looks = {}
    for method in report.methods:
        look = style(method)
        looks[method] = {
            "label": look.label,
            "light": look.colour,
            "dark": on_dark(look.colour),
            "shape": _SHAPES.get(look.shape, "circle"),
        }
    settings = []
    for units in families(report):
        seeds = []
        for unit in units:
            frame = curves(report, report.chosen_runs(unit))
            repeats = {cell.method: cell for cell in report.cells(unit)}
            seeds.append(
                {
                    "seed": str(unit.seed),
                    "title": title(unit),
                    "start": _short(reference_regret(report, unit)),
                    "ranked": report.comparability(unit).comparable,
                    "curves": {
                        str(rows["method"][0]): _curve(rows)
                        for rows in frame.partition_by("method", maintain_order=True)
                    },
                    "restarts": {method: _restarts(cell) for method, cell in repeats.items()},
                }
            )
        name = without_seed(units[0]) if len(units) > 1 else title(units[0])
        settings.append({"title": name, "seeds": seeds})
    first = families(report).index(opening) if opening else 0
    return {"methods": looks, "settings": settings, "opening": first}


def _curve(rows: pl.DataFrame) -> dict[str, Any]:
    """Return a run's curve, or of several repeats their mean by epoch and the range they hold.

    A repeat that stopped early holds what it ended with.
    """
    runs = rows.partition_by("run_id", maintain_order=True)
    epochs = np.unique(rows["epoch"].to_numpy())
    at = [np.searchsorted(run["epoch"].to_numpy(), epochs, side="right") - 1 for run in runs]

    def stacked(column: str) -> Numbers:
        parts = zip(runs, at, strict=True)
        return np.stack([run[column].to_numpy()[np.maximum(place, 0)] for run, place in parts])

    best = stacked("best_test_regret")
    selected = float(np.median([run["best_epoch"][-1] for run in runs]))
    found: dict[str, Any] = {
        "selected": int(epochs[np.abs(epochs - selected).argmin()]),
        "epoch": epochs.tolist(),
        "seconds": _shortened(stacked("elapsed_s").mean(axis=0)),
        "solves": stacked("solves").mean(axis=0).round().astype(int).tolist(),
        "best": _shortened(best.mean(axis=0)),
        "raw": _shortened(stacked("test_regret").mean(axis=0)),
    }
    if len(runs) > 1:
        found |= {"low": _shortened(best.min(axis=0)), "high": _shortened(best.max(axis=0))}
    return found


def _restarts(cell: Cell) -> dict[str, Any]:
    """Return expected test regret and total training seconds of best of r, r = 1 … R."""
    every = range(1, cell.repeats + 1)
    return {
        "r": list(every),
        "seconds": [_short(r * cell.train_s) for r in every],
        "best": [_short(cell.regret(r)) for r in every],
        "most": max(1, cell.repeats // 2),
    }


def _shortened(values: Numbers) -> list[float | None]:
    return [_short(value) for value in values.tolist()]


def _short(value: float | None) -> float | None:
    """Keep five significant digits, more than a screen shows."""
    return None if value is None else float(f"{value:.5g}")


def specification() -> dict[str, Any]:
    """Return the chart without its data, scales and colours."""
    hover = {
        "name": "hover",
        "select": {
            "type": "point", "nearest": True, "on": "pointerover", "clear": "pointerout",
            "toggle": False,
        },
    }  # fmt: skip
    colour = {"field": "method", "type": "nominal", "legend": None}
    x = {"field": "x", "type": "quantitative"}

    def y(field: str) -> dict[str, Any]:
        return {
            "field": field, "type": "quantitative", "title": "test regret",
            "axis": {"format": "%", "tickCount": 6},  # digits as the step between ticks needs
        }  # fmt: skip

    # Written out: under `nearest`, Vega-Lite's own tooltip looks for text in the wrong place.
    row = "(datum.datum || datum)"
    hints = {
        "method": f"{row}.label",
        "training seconds": f"format({row}.seconds, '.4~g')",
        "test regret": f"format({row}.best, '.2%')",
        "of this epoch": f"format({row}.raw, '.2%')",
        "epoch": f"format({row}.epoch, '')",
        "solver calls": f"format({row}.solves, ',')",
    }
    restarts = {
        "method": f"{row}.label",
        "best of": f"{row}.r",
        "training seconds": f"format({row}.seconds, '.4~g')",
        "expected test regret": f"format({row}.raw, '.2%')",
    }
    tooltip = {"expr": _expression(hints)}
    shape = {"field": "method", "type": "nominal", "legend": None}
    shown = {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0}
    return {
        "width": "container",
        "height": 360,
        "background": "transparent",
        "autosize": {"type": "fit", "contains": "padding"},
        "description": "Test regret against training time, one line per method",
        "usermeta": {"restarts": _expression(restarts)},
        "layer": [
            {
                "data": {"name": "start"},
                "mark": {"type": "rule", "strokeDash": [5, 4], "clip": True},
                "encoding": {"y": {"field": "start", "type": "quantitative"}},
            },
            {
                "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.14,
                         "clip": True},
                "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.3, "clip": True},
                "encoding": {"x": x, "y": y("raw"), "color": colour},
            },
            {
                "mark": {
                    "type": "line", "interpolate": "step-after", "strokeWidth": 2.2, "clip": True,
                },
                "encoding": {"x": x, "y": y("best"), "color": colour},
            },
            {
                "transform": [{"filter": "datum.selected"}],
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1, "clip": True},
                "encoding": {"x": x, "y": y("best"), "color": colour, "shape": shape},
            },
            {
                "params": [hover],
                "mark": {
                    "type": "point", "filled": True, "size": 110, "clip": True, "tooltip": tooltip,
                },
                "encoding": {"x": x, "y": y("best"), "color": colour, "opacity": shown},
            },
        ],
    }  # fmt: skip


def _expression(hints: Mapping[str, str]) -> str:
    """Return a tooltip's lines as an expression of Vega."""
    return "{" + ", ".join(f"'{name}': {value}" for name, value in hints.items()) + "}"
