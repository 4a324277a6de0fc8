"""The tables by name: one file per table, in it a function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.names import CHANGES, TABLE_NAMES
from dglbench.report.statistics.equivalence import BAND
from dglbench.report.statistics.power import GAP
from dglbench.report.tables.notes import say_measure
from dglbench.report.tables.sheet import Sheet
from dglbench.report.tables.writer import FORMATS, render

__all__ = ["CHANGES", "FORMATS", "TABLES", "build", "render", "say_measure"]

TABLES: dict[str, Callable[..., Sheet]] = {
    name: getattr(import_module(f"{__name__}.{module}"), module)
    for name in TABLE_NAMES
    for module in [name.replace("-", "_")]
}

_AGAINST_A_BASELINE = frozenset({"summary", "ranks", "equivalence"})


def build(
    name: str,
    report: Report,
    baseline: str | None = None,
    band: float = BAND,
    gap: float = GAP,
) -> Sheet:
    """Make the table of this name, or say which there are."""
    if name not in TABLES:
        raise ReportError(f"there is no table {name!r}; there are {', '.join(TABLES)}, and all.")
    if name == "equivalence":
        sheet = TABLES[name](report, baseline, band)
    elif name == "power":
        sheet = TABLES[name](report, gap)
    elif name in _AGAINST_A_BASELINE:
        sheet = TABLES[name](report, baseline)
    else:
        sheet = TABLES[name](report)
    return say_measure(sheet, report)
