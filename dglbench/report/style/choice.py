"""Which methods a figure draws where there are too many to distinguish."""

from __future__ import annotations

from collections.abc import Sequence

from dglbench.report.loading import Report, Run, Unit
from dglbench.report.style.layout import Layout
from dglbench.report.style.palette import family

__all__ = ["BEST_ONLY", "MANY_METHODS", "best_of_each_family", "drawn_runs", "is_crowded"]

MANY_METHODS = 10
"""With more methods than this, the best of each family is drawn."""
BEST_ONLY = "drawn: the best method of each family, by validation regret"


def is_crowded(report: Report, layout: Layout) -> bool:
    """Say whether the methods are too many, and nobody has asked for these very ones."""
    return len(report.methods) > MANY_METHODS and not layout.every_method


def best_of_each_family(report: Report, units: Sequence[Unit]) -> set[str]:
    """Return, of each family of methods, the one with the lowest validation regret.

    Over several settings, on average, each setting in units of its own mean. A
    method that was not run in all of them gives way to one that was.
    """
    regrets: dict[str, list[float]] = {}
    for unit in units:
        cells = report.cells(unit)
        whole = sum(cell.val_regret for cell in cells) or 1.0
        for cell in cells:
            regrets.setdefault(cell.method, []).append(cell.val_regret * len(cells) / whole)
    best: dict[str, tuple[int, float, str]] = {}
    for method, found in regrets.items():
        place = (len(units) - len(found), sum(found) / len(found), method)
        best[family(method)] = min(best.get(family(method), place), place)
    return {method for *_, method in best.values()}


def drawn_runs(report: Report, panels: Sequence[Sequence[Unit]], *, best_only: bool) -> list[Run]:
    """Return the chosen runs of each panel's units, or of the best of each family there."""
    runs = []
    for units in panels:
        kept = best_of_each_family(report, units) if best_only else set(report.methods)
        runs += [run for unit in units for run in report.chosen_runs(unit) if run.method in kept]
    return runs
