"""One look for each method, the same in every figure and table.

Baselines are black, vermilion and purple; the DGL family goes from navy over
blue and cyan to green, darker the more often duals are renewed, with the
rule-based variant in violet; RDGL from brown to gold, its Newton steps in olive.
Hues stay apart for colour-blind readers, and every method also has a marker of its
own, so that nothing is lost in greyscale.

What stands before the first hyphen of a name is its family (``spo`` of
``spo-dual``), whoever wrote it: variants share a hue and differ by its shade and
by marker. A look depends on the name alone, not on which other methods are shown.
A method that needs a look of its own gets a line in ``_FIXED``, a family one in
``_FAMILIES``.
"""

from __future__ import annotations

import colorsys
import functools
import math
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dglbench.plugins import AFTER, WITH
from dglbench.report.method_names import (
    family,
    is_dgl,
    method_order,
    refresh_period,
    variant_period,
)

__all__ = [
    "PHASE_COLOURS",
    "TILE_EDGE",
    "Style",
    "family",
    "is_dgl",
    "method_order",
    "on_dark",
    "refresh_period",
    "style",
    "tile_on_dark",
]


class Style(NamedTuple):
    """How a method is written and drawn."""

    label: str
    colour: str
    shape: str
    """A matplotlib marker."""


_FIXED = {
    "two-stage": Style("Two-stage", "#222222", "o"),
    "least-squares": Style("Least squares", "#5F6B73", "s"),
    "boosted-trees": Style("Boosted trees", "#2F5D50", "D"),
    "spo": Style("SPO+", "#D55E00", "^"),
    "qptl": Style("QPTL", "#AA3377", "s"),
    "dgl-auto": Style("DGL-auto", "#7A5BD0", "*"),
    "fenchel-young": Style("Fenchel–Young", "#B83DF5", "p"),
    "spo-smoothed": Style("SPO+ smoothed", "#B5445A", "<"),
    "spo-cached": Style("SPO+ cached", "#A65628", ">"),
    "lodl": Style("LODL", "#3F7D20", "H"),
    "lava": Style("LAVA", "#6E1C1C", "d"),
    "cave": Style("CaVE", "#056045", "8"),
    "cave-plus": Style("CaVE+", "#08A908", "P"),
    "cave-hybrid": Style("CaVE hybrid", "#620679", "X"),
    "qptl-dual": Style("QPTL-dual", "#6E1A52", "h"),
    "rdgl-auto": Style("RDGL-auto", "#472B00", "*"),
    "rdgl-newton": Style("RDGL-newton", "#737A1F", "d"),
}
_DGL_STOPS = (
    (0.0, (0x0A, 0x2A, 0x78)),
    (0.35, (0x1F, 0x74, 0xC4)),
    (0.65, (0x17, 0x9A, 0xAE)),
    (1.0, (0x4C, 0xA0, 0x5C)),
)
"""From navy (U = 1) over blue and cyan to green (never): distinguished by hue and by lightness."""
_DGL_SHAPES = {"none": "X", "1": "D", "5": "v", "20": "P"}
_DGL_FURTHER_SHAPES = "<>hd8"


class _Family(NamedTuple):
    """What the variants of a method share."""

    label: str
    """Written before the variant's name."""
    dark: str
    light: str


_FAMILIES = {
    "spo": _Family("SPO+ ", "#8A2F00", "#EE7F32"),
    "qptl": _Family("QPTL-", "#66184A", "#D0689F"),
    "rdgl": _Family("RDGL-", "#503200", "#C08E00"),
    "pyepo": _Family("PyEPO ", "#26384B", "#8A9CAF"),
}
# Middles of further families: dark enough for text on white, away from the blues.
_FURTHER_COLOURS = ("#8C6D00", "#3F7D20", "#7A4A2B", "#6B4FA0", "#DB6096", "#66788A")
_FURTHER_SHAPES = "pH<>d8"
_VARIANT_SHAPES = "^vsDPX<>pHd8ho"
_SHADES = 5
_USUAL = ("linear", "warm", f"linear{WITH}warm")
"""Predictor and start of the paper."""
_PALEST = 0.35
"""How much lighter another predictor or start is: more would not stand out on white paper."""
_PLACES = {"dbb": 0.0, "pfyl": 0.33, "nce": 0.67, "pg": 1.0}
"""Where built-in variants stand in their family's shades: as far apart as these allow."""
_DARKEST_PERIOD = 0.25
"""Where a renewal at every epoch stands: darker is near to black, which is two-stage's."""
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


TILE_EDGE = "#FFFFFE"
"""The edge of tiles with text on them: as good as white, and known by it (`tile_on_dark`)."""


@functools.cache
def style(method: str) -> Style:
    """Return the look of a method, known or not."""
    if method in _FIXED:
        return _FIXED[method]
    if WITH in method:
        return _qualified(method)
    own, after, lead_in = method.partition(AFTER)
    first, _, epochs = lead_in.rpartition("-")
    if after and first:
        label = f"{style(own).label} after {style(first).label}×{epochs}"
        return Style(label, style(own).colour, _pick(_VARIANT_SHAPES, method))
    if is_dgl(method):
        name = method.removeprefix("dgl-")
        period = refresh_period(method)
        shape = _DGL_SHAPES.get(name) or _pick(_DGL_FURTHER_SHAPES, name)
        return Style(f"DGL-{name}", _dgl_shade(period), shape)
    kin, _, variant = method.partition("-")
    if kin in _FAMILIES and variant:
        look = _FAMILIES[kin]
        shape = _DGL_SHAPES.get(variant) or _pick(_VARIANT_SHAPES, variant)
        written = variant.upper() if kin == "pyepo" and variant != "spo" else variant
        label = look.label + ("SPO+" if written == "spo" else written)
        shade = _mix(look.dark, look.light, _place(variant))
        return Style(label, shade, "*" if variant == "auto" else shape)
    colour = _pick(_FURTHER_COLOURS, kin)
    shapes = _VARIANT_SHAPES if variant else _FURTHER_SHAPES
    if variant:
        colour = _mix(_mix(colour, "#000000", 0.3), colour, _place(variant))
    return Style(method, colour, _pick(shapes, method + "·"))


def _qualified(method: str) -> Style:
    """Return the look of a method with a predictor or a start in its name."""
    plain, _, words = method.partition(WITH)
    of = style(plain)
    label = f"{of.label}{WITH}{words}"  # as it is typed on the command line
    if words in _USUAL:  # it keeps the look of the method
        return of._replace(label=label)
    pale = _PALEST * (0.6 + 0.4 * (zlib.crc32(words.encode()) % _SHADES) / (_SHADES - 1))
    shape = _pick(_VARIANT_SHAPES.replace(of.shape, ""), method)
    return Style(label, _lighter(of.colour, pale), shape)


def _lighter(colour: str, share: float) -> str:
    """Return a lighter shade of the same hue: mixed with white, all hues end in the same grey."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    lightness = min(lightness + share * (1 - lightness), 0.5)
    mixed = colorsys.hls_to_rgb(hue, lightness, 0.85 * saturation)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in mixed)


def on_dark(colour: str) -> str:
    """Return the colour as it is shown on a dark page: as light as it takes to stand out.

    Hues are kept. Greys and pale surfaces are turned round, so that text on them stays legible.
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    if saturation < 0.25 or lightness > 0.8:
        lightness, saturation = 1 - 0.88 * lightness, 0.6 * saturation
    else:
        # Steeply enough that the shades of a family stay apart.
        lightness = 0.4 + 0.75 * min(lightness, 0.45)
    mixed = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in mixed)


def tile_on_dark(colour: str) -> str:
    """Return the colour of a tile with text on a dark page: pale ones dark, strong ones less so."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    # A pale tile has a hue of its own by rounding only.
    saturation = saturation if lightness < 0.9 else 0.0
    mixed = colorsys.hls_to_rgb(hue, 0.16 + 0.42 * (1 - lightness), saturation)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in mixed)


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _place(variant: str) -> float:
    """Return where in its family's shades a variant stands, from dark to light."""
    if variant in _PLACES:
        return _PLACES[variant]
    period = variant_period(variant)
    if period is not None:
        return _DARKEST_PERIOD + (1 - _DARKEST_PERIOD) * min(math.log10(period) / 2, 1.0)
    if variant == "auto":
        return 0.75
    return zlib.crc32(variant.encode()) % _SHADES / (_SHADES - 1)


def _mix(one: str, other: str, share: float) -> str:
    channels = (
        round((1 - share) * int(one[at : at + 2], 16) + share * int(other[at : at + 2], 16))
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def _dgl_shade(period: float | None) -> str:
    """Blend from dark (U = 1) to light (never): equal steps for equal ratios of U, up to 100."""
    share = min(math.log10(period) / 2, 1.0) if period is not None else 1.0
    (low, dark), (high, light) = next(
        (one, two) for one, two in pairwise(_DGL_STOPS) if share <= two[0]
    )
    part = (share - low) / (high - low)
    mixed = (round(a + part * (b - a)) for a, b in zip(dark, light, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def _pick(choices: Sequence[str], name: str) -> str:
    return choices[zlib.crc32(name.encode()) % len(choices)]
