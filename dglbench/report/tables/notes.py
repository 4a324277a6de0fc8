"""What every table with regrets says of them: which regret, of which epoch, against what."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from dglbench.report.loading import Report
from dglbench.report.model import Run
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.style.titles import listing
from dglbench.report.tables.sheet import Sheet

__all__ = ["say_measure"]

_Settings = Mapping[str, Sequence[Run]]
"""The runs of every setting, by its title."""
_WITHOUT_REGRET = frozenset({"budget", "resources", "selected"})


def say_measure(sheet: Sheet, report: Report) -> Sheet:
    """Add notes on which regret is meant, of which epoch; tables without regrets are left alone."""
    if sheet.name in _WITHOUT_REGRET or not sheet.rows:
        return sheet
    runs = {
        each.title: [run for result in each.results for run in result.runs]
        for each in by_setting(report)
    }
    own = () if sheet.name == "published" else (*_around_zero(runs), *_measures(runs))
    notes = (*sheet.notes, *_last(runs), *_bounded(runs), *own)
    return dataclasses.replace(sheet, notes=notes)


def _last(settings: _Settings) -> list[str]:
    """Say where no epoch was chosen by validation; what is fitted at once has none to choose."""
    titles = _where(
        settings, lambda run: run.choose == "last" and not run.identity.has_own_predictor
    )
    if not titles:
        return []
    return [f"{listing(titles)}: the last epoch counts (choose=last), none is chosen."]


def _bounded(settings: _Settings) -> list[str]:
    """Say where the optimum itself is not known: the search for it was stopped."""
    most = {title: max(runs, key=lambda run: run.bounded_tests) for title, runs in settings.items()}
    found = [
        f"{run.bounded_tests} of {run.test_instances} in {title}"
        for title, run in most.items()
        if run.bounded_tests
    ]
    if not found:
        return []
    return [
        f"test regrets against a bound: {', '.join(found)}. The search for the best decision was "
        "stopped there, and true regrets are lower."
    ]


def _around_zero(settings: _Settings) -> list[str]:
    """Say where relative regret misleads: it is far from pooled regret, so optima lie around 0."""
    titles = _where(settings, lambda run: run.around_zero)
    if not titles:
        return []
    return [
        f"{listing(titles)}: relative and pooled regret differ more than twofold, as where some "
        "optima are near 0: read absolute regret as well."
    ]


def _measures(settings: _Settings) -> list[str]:
    pooled = _where(settings, lambda run: run.judged_by == "pooled")
    relative = "relative, the mean over instances of regret / |optimum|"
    if not pooled:
        return [f"regret: {relative}."]
    some = len(pooled) < len(settings)
    where, elsewhere = (f"in {listing(pooled)} ", f"; elsewhere {relative}") if some else ("", "")
    return [
        f"regret: {where}pooled, Σ regret / Σ |optimum|, because too many optima are near 0 to "
        f"divide by{elsewhere}."
    ]


def _where(settings: _Settings, holds: Callable[[Run], bool]) -> list[str]:
    return [title for title, runs in settings.items() if any(map(holds, runs))]
