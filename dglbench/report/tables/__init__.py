"""The tables by name: one file per table, in it a function of the same name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module

from dglbench.errors import ReportError
from dglbench.report.loading import Report
from dglbench.report.names import CHANGES, TABLE_NAMES
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.equivalence import BAND
from dglbench.report.statistics.power import GAP
from dglbench.report.style.titles import listing
from dglbench.report.tables.sheet import Sheet
from dglbench.report.tables.writer import FORMATS, render

__all__ = ["CHANGES", "FORMATS", "TABLES", "build", "render", "say_measure"]

TABLES: dict[str, Callable[..., Sheet]] = {
    name: getattr(import_module(f"{__name__}.{module}"), module)
    for name in TABLE_NAMES
    for module in [name.replace("-", "_")]
}

_WITHOUT_REGRET = frozenset({"budget", "resources", "selected", "published"})
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


def say_measure(sheet: Sheet, report: Report) -> Sheet:
    """Add a note that says which regret is meant; tables without regrets are left as they are."""
    if sheet.name in _WITHOUT_REGRET or not sheet.rows:
        return sheet
    return dataclasses.replace(sheet, notes=(*sheet.notes, *_measures(report)))


def _measures(report: Report) -> list[str]:
    settings = by_setting(report)
    pooled = [
        each.title
        for each in settings
        if any(run.judged_by == "pooled" for result in each.results for run in result.runs)
    ]
    relative = "relative, the mean over instances of regret / |optimum|"
    if not pooled:
        return [f"regret: {relative}."]
    some = len(pooled) < len(settings)
    where, elsewhere = (f"in {listing(pooled)} ", f"; elsewhere {relative}") if some else ("", "")
    return [
        f"regret: {where}pooled, Σ regret / Σ |optimum|, because too many optima are near 0 to "
        f"divide by{elsewhere}."
    ]
