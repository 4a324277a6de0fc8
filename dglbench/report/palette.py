"""One look for each method, the same in every figure and table.

Baselines are black, vermilion and purple; the DGL family goes from navy over
blue and cyan to green, darker the more often duals are renewed, with the
rule-based variant in violet. Hues stay apart for colour-blind readers, and
every method also has a marker of its own, so that nothing is lost in greyscale.
A method from a plugin gets a look that depends on its name alone: it never
changes with the company it is in.
"""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dglbench.plugins import AFTER

__all__ = [
    "PHASE_COLOURS",
    "Style",
    "family",
    "is_dgl",
    "method_order",
    "on_dark",
    "refresh_period",
    "style",
]


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
    "dgl-auto": Style("DGL-auto", "#7A5BD0", "*"),
}
_DGL_STOPS = (
    (0.0, (0x0A, 0x2A, 0x78)),
    (0.35, (0x1F, 0x74, 0xC4)),
    (0.65, (0x17, 0x9A, 0xAE)),
    (1.0, (0x4C, 0xA0, 0x5C)),
)
"""From navy (U = 1) over blue and cyan to green (never): told apart by hue and by lightness."""
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
    own, after, lead_in = method.partition(AFTER)
    first, _, epochs = lead_in.rpartition("-")
    if after and first:
        label = f"{style(own).label} after {style(first).label}×{epochs}"
        return _further(method, label)
    if method.startswith("pyepo-"):
        name = method.removeprefix("pyepo-")
        return _further(method, f"PyEPO {'SPO+' if name == 'spo' else name.upper()}")
    if is_dgl(method):
        name = method.removeprefix("dgl-")
        period = refresh_period(method)
        shape = _DGL_SHAPES.get(name) or _pick(_DGL_FURTHER_SHAPES, name)
        return Style(f"DGL-{name}", _dgl_shade(period), shape)
    return _further(method, method)


def family(method: str) -> str:
    """Return what variants of one method share: ``dgl`` of ``dgl-5``, ``qptl`` of ``qptl-dual``."""
    return method if method in _FIXED and not is_dgl(method) else method.partition("-")[0]


def on_dark(colour: str) -> str:
    """Return the colour as it is shown on a dark page: as light as it takes to stand out.

    Hues are kept. Greys and pale surfaces are turned round, so that text on them stays legible.
    """
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation < 0.25 or lightness > 0.8:
        lightness, saturation = 1 - 0.88 * lightness, 0.6 * saturation
    else:
        lightness = 0.56 + 0.3 * lightness
    mixed = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in mixed)


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
    if AFTER in method:  # right behind the method itself
        return (*method_order(method.partition(AFTER)[0])[:2], method)
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
    (low, dark), (high, light) = next(
        (one, two) for one, two in pairwise(_DGL_STOPS) if share <= two[0]
    )
    part = (share - low) / (high - low)
    mixed = (round(a + part * (b - a)) for a, b in zip(dark, light, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def _further(method: str, label: str) -> Style:
    return Style(label, _pick(_FURTHER_COLOURS, method), _pick(_FURTHER_SHAPES, method + "·"))


def _pick(choices: Sequence[str], name: str) -> str:
    return choices[zlib.crc32(name.encode()) % len(choices)]
