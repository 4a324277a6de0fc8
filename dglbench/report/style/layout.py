"""How wide a figure is, and how many panels stand side by side.

Type is set in points, so a figure keeps its type size at any width: a narrower
one has fewer panels side by side and grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from dglbench.errors import ReportError

__all__ = ["COLUMN_IN", "FREE", "PAGE_IN", "TEXT_IN", "WIDTHS", "Layout", "parse_width"]

COLUMN_IN, TEXT_IN = 3.4, 7.0
WIDTHS = {"column": COLUMN_IN, "text": TEXT_IN}
"""One column of a two-column paper, and both."""
PAGE_IN = 9.0
"""What a page of a paper has in height."""


@dataclass(frozen=True)
class Layout:
    """What the reader asked of a figure's size and contents."""

    width: float | None = None
    """Inches; None lets the figure take what its panels need."""
    every_method: bool = False
    """Draw all methods, also where many panels call for the best of each family alone."""

    def columns(self, panels: int, panel_in: float = 2.3) -> int:
        """Return how many panels stand side by side."""
        if self.width is None:
            return min(panels, 2 if panels in (2, 4) else 3)
        return max(1, min(panels, int(self.width / panel_in + 0.05)))

    def inches(self, columns: int, panel_in: float = TEXT_IN / 3) -> float:
        """Return the figure's width."""
        if self.width is not None:
            return self.width
        return COLUMN_IN if columns == 1 else max(COLUMN_IN, panel_in * columns)


FREE = Layout()


def parse_width(words: str) -> float:
    """Read ``column``, ``text`` or a number of inches."""
    if words in WIDTHS:
        return WIDTHS[words]
    try:
        inches = float(words)
    except ValueError:
        inches = 0.0
    if not 2 <= inches <= 30:
        raise ReportError(
            f"--width takes column ({COLUMN_IN} in), text ({TEXT_IN:g} in) or inches from 2 to 30, "
            f"got {words!r}."
        )
    return inches
