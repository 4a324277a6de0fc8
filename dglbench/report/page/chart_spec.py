"""The chart's two Vega-Lite specifications, without their rows, scales and colours.

``templates/chart.js`` completes them in the browser: which rows, log or linear, and the colours of
the reader's scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["specification", "spread_specification"]

# Written out: under `nearest`, Vega-Lite's own tooltip looks for text in the wrong place.
_ROW = "(datum.datum || datum)"
_CURVES = {
    "method": f"{_ROW}.label",
    "training seconds": f"format({_ROW}.seconds, '.4~g')",
    "test regret": f"format({_ROW}.best, '.2%')",
    "epoch": f"format({_ROW}.epoch, '')",
    "solver calls": f"format({_ROW}.solves, ',')",
}
_RESTARTS = {
    "method": f"{_ROW}.label",
    "best of": f"{_ROW}.r",
    "training seconds": f"format({_ROW}.seconds, '.4~g')",
    "expected test regret": f"format({_ROW}.raw, '.2%')",
}
_SPREAD = {
    "method": f"{_ROW}.label",
    "data seed": f"{_ROW}.seed",
    "test regret": f"format({_ROW}.best, '.2%')",
    "kept by validation": f"{_ROW}.kept ? 'yes' : 'no'",
}
_COLOUR = {"field": "method", "type": "nominal", "legend": None}
_SHAPE = {"field": "method", "type": "nominal", "legend": None}
_REGRET = {"format": "%", "tickCount": 6}  # digits as the step between ticks needs


def specification() -> dict[str, Any]:
    """Return the chart of regret against time, solver calls or the time of restarts."""
    hover = {
        "name": "hover",
        "select": {
            "type": "point", "nearest": True, "on": "pointerover", "clear": "pointerout",
            "toggle": False,
        },
    }  # fmt: skip
    x = {"field": "x", "type": "quantitative"}
    dash = {"field": "with", "type": "nominal", "legend": None}

    def y(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "title": "test regret", "axis": _REGRET}

    shown = {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0}
    return {
        "width": "container",
        "height": 380,
        "background": "transparent",
        "autosize": {"type": "fit", "contains": "padding"},
        "description": "Test regret against training time, one line per method",
        "usermeta": {"restarts": _expression(_RESTARTS)},
        "layer": [
            {
                "data": {"name": "start"},
                "mark": {"type": "rule", "strokeDash": [5, 4], "clip": True},
                "encoding": {"y": {"field": "start", "type": "quantitative"}},
            },
            {
                "data": {"name": "start"},
                "mark": {"type": "text", "align": "right", "dx": -6, "dy": -6, "clip": True,
                         "fontSize": 11, "x": "width"},
                "encoding": {"y": {"field": "start", "type": "quantitative"},
                             "text": {"field": "label"}},
            },
            {
                "mark": {"type": "area", "interpolate": "step-after", "clip": True},
                "encoding": {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": _COLOUR,
                             "opacity": _opacity(0.14)},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1, "clip": True},
                "encoding": {"x": x, "y": y("raw"), "color": _COLOUR, "opacity": _opacity(0.35)},
            },
            {
                "mark": {
                    "type": "line", "interpolate": "step-after", "strokeWidth": 2.2, "clip": True,
                },
                "encoding": {"x": x, "y": y("best"), "color": _COLOUR, "opacity": _opacity(1),
                             "strokeDash": dash},
            },
            {
                "transform": [{"filter": "datum.selected"}],
                "mark": {"type": "point", "filled": True, "size": 80, "clip": True},
                "encoding": {"x": x, "y": y("best"), "color": _COLOUR, "shape": _SHAPE,
                             "opacity": _opacity(1)},
            },
            {
                "params": [hover],
                "mark": {
                    "type": "point", "filled": True, "size": 110, "clip": True,
                    "tooltip": {"expr": _expression(_CURVES)},
                },
                "encoding": {"x": x, "y": y("best"), "color": _COLOUR, "opacity": shown},
            },
        ],
    }  # fmt: skip


def spread_specification() -> dict[str, Any]:
    """Return the chart with a dot for every run, a row for each method and data seed."""
    return {
        "width": "container",
        "background": "transparent",
        "autosize": {"type": "fit", "contains": "padding"},
        "description": "Test regret of every run, by method",
        "mark": {"type": "point", "filled": True, "tooltip": {"expr": _expression(_SPREAD)}},
        "encoding": {
            "y": {"field": "label", "type": "nominal", "title": None, "sort": None,
                  "axis": {"labelLimit": 190, "grid": True}},
            "yOffset": {"field": "seed", "type": "nominal", "sort": None},
            "x": {"field": "best", "type": "quantitative", "title": "test regret",
                  "axis": _REGRET},
            "color": _COLOUR,
            "opacity": {"condition": {"test": "datum.dim", "value": 0.12},
                        "value": 0.75},
            "size": {"condition": {"test": "datum.kept", "value": 90}, "value": 32},
        },
    }  # fmt: skip


def _opacity(usual: float) -> dict[str, Any]:
    """Let all but the method that the reader picked out fade."""
    return {"condition": {"test": "datum.dim", "value": 0.12 * usual}, "value": usual}


def _expression(hints: Mapping[str, str]) -> str:
    """Return a tooltip's lines as an expression of Vega."""
    return "{" + ", ".join(f"'{name}': {value}" for name, value in hints.items()) + "}"
