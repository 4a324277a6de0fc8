"""Two paths on one ground, as a small SVG: the best one broad and white, the one taken red."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Way", "overlaid"]

Way = Sequence[tuple[float, float]]
"""The points that a path visits, in order."""

_BEST, _TAKEN, _EDGE = "#FFFFFF", "#D0104C", "#1D1F23"
# In steps of the ground: where both paths agree, the red one lies inside the white one.
_BROAD, _NARROW, _RIM = 0.46, 0.24, 0.07


def overlaid(box: tuple[float, float, float, float], ground: str, best: Way, taken: Way) -> str:
    """Return an SVG of the ground with both ways, and a dot at each end."""
    ends = "".join(
        f'<circle cx="{x:g}" cy="{y:g}" r="{0.6 * _BROAD:g}" fill="{_TAKEN}" stroke="{_BEST}" '
        f'stroke-width="{_RIM:g}"/>'
        for x, y in (best[0], best[-1])
    )
    left, top, width, height = box
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {width:g} {height:g}">'
        f'{ground}<g fill="none" stroke-linecap="round" stroke-linejoin="round">'
        f"{_line(best, _EDGE, _BROAD + 2 * _RIM)}{_line(best, _BEST, _BROAD)}"
        f"{_line(taken, _EDGE, _NARROW + _RIM)}{_line(taken, _TAKEN, _NARROW)}</g>{ends}</svg>"
    )


def _line(way: Way, colour: str, width: float) -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in way)
    return f'<polyline points="{points}" stroke="{colour}" stroke-width="{width:g}"/>'
