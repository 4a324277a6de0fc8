"""The page's interactive chart: its data, and the offline runtime that draws it.

Vega-Lite comes out of `vl-convert` as one script, so the page loads nothing. What is drawn of the
data is decided in the browser (`templates/chart.js`), by `chart_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dglbench.report.cells import Cell, Result
from dglbench.report.loading import Comparability, Report, Unit
from dglbench.report.method_names import plain, qualifier
from dglbench.report.statistics.comparisons import compare, families
from dglbench.report.statistics.curves import curves, start_regrets
from dglbench.report.statistics.for_time import spent
from dglbench.report.statistics.paired import Pairs
from dglbench.report.style.palette import on_dark, style
from dglbench.report.style.seed_band import seed_offsets
from dglbench.report.style.titles import title, without_seed
from dglbench.statistics import Numbers

__all__ = ["chart_data", "opening_units", "runtime"]

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


def chart_data(report: Report, opening: list[Unit], pairs: Pairs | None = None) -> dict[str, Any]:
    """Return looks of the methods and, by setting, what can be drawn of it.

    A setting has its mean over data seeds first, where there are several, then each of them.
    """
    pairs = pairs or Pairs(report)
    looks = {}
    for method in report.methods:
        look = style(method)
        looks[method] = {
            "label": look.label,
            # Dashes distinguish predictors, so that colours are those of the boxes above the chart.
            "light": style(plain(method)).colour,
            "dark": on_dark(style(plain(method)).colour),
            "shape": _SHAPES.get(look.shape, "circle"),
            "base": plain(method),
            "with": qualifier(method),
        }
    settings = [_setting(report, units, pairs) for units in families(report)]
    first = families(report).index(opening) if opening else 0
    restarted = any(cell.repeats > 1 for cell in report.cells())
    return {
        "methods": looks,
        "settings": settings,
        "opening": first,
        "view": "restarts" if restarted else "seconds",
    }


def _setting(report: Report, units: list[Unit], pairs: Pairs) -> dict[str, Any]:
    comparison = compare(report, units)
    results = comparison.results
    views = []
    if len(comparison.units) > 1:
        views.append(
            {
                "seed": f"mean of {len(comparison.units)}",
                "title": f"{comparison.title}, mean of {len(comparison.units)} data seeds",
                **_view(report, comparison.units, results),
                "restarts": {result.method: _restarts(result, pairs) for result in results},
            }
        )
    for unit in units:
        cells = report.cells(unit)
        alone = [Result(cell.method, (cell,)) for cell in cells]
        with_interval = pairs if len(units) == 1 else None
        views.append(
            {
                "seed": str(unit.seed),
                "title": title(unit),
                **_view(report, [unit], alone),
                "restarts": {result.method: _restarts(result, with_interval) for result in alone},
            }
        )
    known: dict[str, list[Cell]] = {}
    for unit in units:
        for cell in report.cells(unit):
            known.setdefault(cell.method, []).append(cell)
    return {
        "title": without_seed(units[0]) if len(units) > 1 else title(units[0]),
        "seeds": views,
        "val": {method: _short(_mean_val(cells)) for method, cells in known.items()},
        "runs": {method: [_runs(cell) for cell in cells] for method, cells in known.items()},
    }


def _view(report: Report, units: Sequence[Unit], results: Sequence[Result]) -> dict[str, Any]:
    """Return what a mean over data seeds and a single one have alike."""
    runs = [run for result in results for run in result.runs]
    frame = curves(report, runs)
    levels: dict[str, list[float]] = {}
    for unit in units:
        own = [run for run in runs if run.unit is unit]
        for predictor, level in start_regrets(own).items():
            levels.setdefault(predictor, []).append(level)
    offsets = seed_offsets(frame) if len(units) > 1 else {}
    return {
        "starts": {name: _short(float(np.mean(found))) for name, found in levels.items()},
        "ranked": Comparability.of(units[0].label, runs).comparable,
        "curves": {
            str(rows["method"][0]): _curve(rows, offsets)
            for rows in frame.partition_by("method", maintain_order=True)
        },
    }


def _curve(rows: pl.DataFrame, offsets: Mapping[int, float]) -> dict[str, Any]:
    """Return a run's curve, or of several runs their mean by epoch and the range they hold.

    A run that stopped early holds what it ended with. The range leaves out ``offsets``: what data
    seeds differ by for all methods alike.
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
    }
    if len(runs) > 1:
        best = best - np.array([[offsets.get(int(run["seed"][0]), 0.0)] for run in runs])
        return found | {"low": _shortened(best.min(axis=0)), "high": _shortened(best.max(axis=0))}
    return found | {"raw": _shortened(stacked("test_regret")[0])}


def _restarts(result: Result, pairs: Pairs | None) -> dict[str, Any]:
    """Return expected test regret and total training seconds of best of r, r = 1 … R."""
    every = range(1, result.repeats + 1)
    found: dict[str, Any] = {
        "seconds": [_short(r * spent(result)) for r in every],
        "best": [_short(result.regret(r)) for r in every],
        "most": result.most,
    }
    ends = [pairs.interval(result, r) for r in range(1, result.most + 1)] if pairs else []
    known = [each for each in ends if each is not None]
    if known and len(known) == len(ends):
        found |= {"low": [_short(low) for low, _ in known], "high": [_short(h) for _, h in known]}
    return found


def _runs(cell: Cell) -> dict[str, Any]:
    """Return the test regret of every run of a data seed, and which one validation keeps."""
    return {
        "seed": str(cell.unit.seed),
        "regrets": _shortened(cell.regrets),
        "kept": int(cell.validation.argmin()),
    }


def _mean_val(cells: Sequence[Cell]) -> float:
    return float(np.mean([cell.val_regret for cell in cells]))


def _shortened(values: Numbers) -> list[float | None]:
    return [_short(value) for value in values.tolist()]


def _short(value: float | None) -> float | None:
    """Keep five significant digits, more than a screen shows."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.5g}")
