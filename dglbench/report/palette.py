"""One look for each method, the same in every figure and table.

Baselines are black, vermilion and purple; the DGL family is blue, darker the
more often duals are renewed, with the rule-based variant in teal. Hues stay
apart for colour-blind readers, and every method also has a marker of its own,
so that nothing is lost in greyscale. A method from a plugin gets a look that
depends on its name alone: it never changes with the company it is in.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["PHASE_COLOURS", "Style", "is_dgl", "method_order", "refresh_period", "style"]


class Style(NamedTuple):
    """How a method is written and drawn."""

    label: str
    colour: str
    shape: str
    """A matplotlib marker."""


_FIXED = {
    "two-stage": Style("Two-stage", "#222222", "o"),
    "spo": Style("SPO+", "#D55E00", "^"),
    "qptl": Style("QPTL", "#AA3377", "s"),
    "dgl-auto": Style("DGL-auto", "#00868B", "*"),
}
_DGL_DARK, _DGL_LIGHT = (0x08, 0x30, 0x6B), (0x4F, 0xA3, 0xDE)
_DGL_SHAPES = {"none": "X", "1": "D", "5": "v", "20": "P"}
_DGL_FURTHER_SHAPES = "<>hd8"

# For methods of plugins: dark enough for text on white, away from the blues.
_FURTHER_COLOURS = ("#8C6D00", "#3F7D20", "#7A4A2B", "#6B4FA0", "#DB6096", "#66788A")
_FURTHER_SHAPES = "pH<>d8"

PHASE_COLOURS = {
    "predict": "#DADADA",
    "backward": "#A9A9A9",
    "solve": "#D55E00",
    "refresh": "#1B5E9E",
    "differentiate": "#6E1A4F",
    "other": "#F1E9D2",
}
"""Where an epoch goes: greys for the predictor's own work, strong colours for the
solver's; darker along the stack, for greyscale."""


def style(method: str) -> Style:
    """Return the look of a method, known or not."""
    if method in _FIXED:
        return _FIXED[method]
    if is_dgl(method):
        name = method.removeprefix("dgl-")
        period = refresh_period(method)
        shape = _DGL_SHAPES.get(name) or _pick(_DGL_FURTHER_SHAPES, name)
        return Style(f"DGL-{name}", _dgl_shade(period), shape)
    return Style(method, _pick(_FURTHER_COLOURS, method), _pick(_FURTHER_SHAPES, method + "·"))


def is_dgl(method: str) -> bool:
    """Say whether a method is one of the Dual-Guided Loss family."""
    return method == "dgl-auto" or refresh_period(method) is not None


def refresh_period(method: str) -> float | None:
    """Return U of ``dgl-U``, infinity for ``dgl-none``, None where there is no fixed period."""
    name = method.removeprefix("dgl-")
    if method == name:
        return None
    if name == "none":
        return math.inf
    return float(name) if name.isdecimal() and int(name) > 0 else None


def method_order(method: str) -> tuple[float, float, str]:
    """Sort baselines first, then DGL from no refresh to every epoch, then plugins by name."""
    baselines = ("two-stage", "spo", "qptl")
    if method in baselines:
        return baselines.index(method), 0.0, method
    period = refresh_period(method)
    if period is not None:
        return 10, -period, method
    return (11 if method == "dgl-auto" else 20), 0.0, method


def _dgl_shade(period: float | None) -> str:
    """Blend from dark (U = 1) to light (never): equal steps for equal ratios of U, up to 100."""
    share = min(math.log10(period) / 2, 1.0) if period is not None else 1.0
    mixed = (
        round(dark + share * (light - dark))
        for dark, light in zip(_DGL_DARK, _DGL_LIGHT, strict=True)
    )
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def _pick(choices: Sequence[str], name: str) -> str:
    return choices[zlib.crc32(name.encode()) % len(choices)]
