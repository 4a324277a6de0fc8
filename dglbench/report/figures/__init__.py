"""The figures: a registry by name, one short module each, and how one is saved.

A figure draws from a `Report` and nothing else. Where the logs do not allow it
(one size only, no DGL run) ``draw`` and ``data`` raise a ReportError that says
what is missing and which command would produce it.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from dglbench.atomic import atomic_path
from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.names import FIGURE_NAMES
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.theme import Figure

__all__ = ["FIGURES", "FORMATS", "Figure", "find", "save"]

FIGURES: dict[str, Figure] = {
    name: import_module(f"{__name__}.{name.replace('-', '_')}").FIGURE for name in FIGURE_NAMES
}

FORMATS = ("png", "svg", "pdf")

_DPI = 300
# Without these two the same logs would not give the same bytes twice.
_UNDATED: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "dglbench", "pdf.fonttype": 42}


def find(name: str) -> Figure:
    """Return the figure of this name, or say which there are."""
    if name not in FIGURES:
        raise ReportError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}, and all.")
    return FIGURES[name]


def save(name: str, report: Report, path: Path, format: str = "png", layout: Layout = FREE) -> None:
    """Draw a figure and write it to ``path``, whole or not at all."""
    if format not in FORMATS:
        raise ReportError(f"a figure is written as {', '.join(FORMATS)}, not as {format!r}.")
    figure = find(name)
    import matplotlib as mpl

    mpl.use("Agg")  # no window, whatever the machine has
    with warnings.catch_warnings(), mpl.rc_context(_SETTINGS):
        # plotnine still calls pandas in ways that pandas will drop; not the user's concern.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        # A run of a single epoch has a point where others have a line; its marker shows it.
        warnings.filterwarnings("ignore", "geom_path: Each group consist of only one")
        plot = figure.draw(report, layout)
        with atomic_path(path) as temporary:
            plot.save(
                temporary,
                format=format,
                dpi=_DPI,
                verbose=False,
                limitsize=False,
                metadata=_UNDATED[format],
            )
