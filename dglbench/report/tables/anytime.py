"""Every method's anytime score in every setting."""

from __future__ import annotations

from collections.abc import Mapping

from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import by_setting
from dglbench.report.statistics.profiles import Mean, anytime_means, anytime_scores
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural
from dglbench.report.tables.sheet import METHOD, NOTHING, Cell, Column, Sheet, mark_best

__all__ = ["anytime"]


def anytime(report: Report) -> Sheet:
    """List every method's anytime score in every setting."""
    scores, left_out = anytime_scores(report)
    settings = [each for each in by_setting(report) if each.label in scores]
    columns = (
        METHOD,
        Column("mean", "mean", "over the settings", numeric=True),
        *(Column(each.label, each.title, f"over {each.over}", numeric=True) for each in settings),
    )
    note = (
        "mean over log training time of the test regret held so far; 0: the setting's lowest "
        "regret from the first epoch on, 1: the warm start until the end. Lower is better."
    )
    means = anytime_means(report, scores)
    rows = []
    for method in report.methods:
        if method not in means:
            continue
        mean = means[method]
        some = "" if mean.shared else f" ({mean.settings} of {len(settings)})"
        values = [scores[each.label].get(method) for each in settings]
        cells = [NOTHING if value is None else Cell(f"{value:.2f}", value) for value in values]
        first = mean.shared and method == next(iter(means))
        overall = Cell(f"{mean.score:.2f}{some}", mean.score, "best" if first else "")
        rows.append((Cell(style(method).label, method), overall, *cells))
    notes = [note]
    if any(not mean.shared for mean in means.values()):
        notes.append(
            f"Means are over {plural(_shared(means), 'setting')} that the methods share; a "
            "method that lacks some of them has a mean over its own, which is not comparable."
        )
    marked = tuple(mark_best(rows, min, range(2, 2 + len(settings))))
    return Sheet("anytime", "Anytime score", columns, marked, (*notes, *left_out))


def _shared(means: Mapping[str, Mean]) -> int:
    return max((mean.settings for mean in means.values() if mean.shared), default=0)
