"""Every pair of methods of every setting, compared on the same test instances."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from dglbench.report.loading import Report, Run, Unit
from dglbench.report.statistics.paired import Difference, Pairs
from dglbench.report.style.palette import style
from dglbench.report.style.titles import title
from dglbench.report.tables.sheet import SETTING, Cell, Column, Sheet, count, setting_cell
from dglbench.statistics import LEVEL, RESAMPLES

__all__ = ["pairwise"]


def pairwise(report: Report) -> Sheet:
    """Compare every pair of methods of every unit; the better one stands first."""
    pairs = Pairs(report)
    rows = []
    unmatched: Counter[str] = Counter()
    for unit in report.units:
        ranked = sorted(report.chosen_runs(unit), key=lambda run: (run.test_regret, run.run_id))
        listed = list(combinations(ranked, 2))
        for (better, worse), difference in zip(listed, pairs.together(listed), strict=True):
            if difference is None:
                unmatched[title(unit)] += 1
            else:
                rows.append(_row(unit, better, worse, difference))
    notes = [
        f"difference: mean of the first method's relative regret minus the second's over the same "
        f"test instances, in percentage points, with an interval from {RESAMPLES:,} bootstrap "
        f"resamples. The intervals of a setting hold for all of its pairs together at "
        f"{100 * LEVEL:.0f} % (max-t), so they are wider than those of the leaderboard, which "
        "compares one pair at a time. A method is better only if the interval excludes 0."
    ]
    for label, number in unmatched.items():
        notes.append(
            f"{label}: {number} pairs were evaluated on different instances and are left out"
        )
    return Sheet(
        "pairwise", "Pairwise differences", _COLUMNS, tuple(rows), tuple(notes), by="setting"
    )


_COLUMNS = (
    SETTING,
    Column("method", "method", "the method with the lower test regret"),
    Column("other", "against", "the method it is compared with"),
    Column("difference", "difference", "mean difference, percentage points", numeric=True),
    Column("low", "interval from", "lower end of the interval", numeric=True),
    Column("high", "to", "upper end of the interval", numeric=True),
    Column("instances", "instances", "test instances both were judged on", numeric=True),
    Column("verdict", "so", "whether the interval excludes 0"),
)

_WORDS = {"lower": "better", "higher": "worse", "open": "not distinguishable"}


def _row(unit: Unit, first: Run, second: Run, difference: Difference) -> tuple[Cell, ...]:
    verdict = difference.verdict
    return (
        setting_cell(unit),
        Cell(style(first.method).label, first.method),
        Cell(style(second.method).label, second.method),
        _points(difference.mean),
        _points(difference.low),
        _points(difference.high),
        count(difference.instances),
        Cell(_WORDS[verdict], _WORDS[verdict], "best" if verdict == "lower" else "muted"),
    )


def _points(value: float) -> Cell:
    return Cell(f"{100 * value:+.2f}".replace("-", "−"), 100 * value)
