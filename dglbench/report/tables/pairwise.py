"""Every pair of methods of every setting: the difference of their regrets, in both readings."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import combinations

from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.paired import Difference, Pairs
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import NOTHING, SETTING, Cell, Column, Sheet, points, text
from dglbench.statistics import LEVEL, RESAMPLES

__all__ = ["pairwise"]


def pairwise(report: Report, pairs: Pairs | None = None) -> Sheet:
    """Compare every pair of methods of every setting; the better one stands first."""
    pairs = pairs or Pairs(report)
    rows = []
    unmatched: Counter[str] = Counter()
    for comparison in by_setting(report):
        ranked = sorted(comparison.results, key=lambda result: (result.regret(), result.method))
        listed = list(combinations(ranked, 2))
        found = pairs.differences(listed, together=True)
        able = [pair for pair in listed if min(each.most for each in pair) >= report.best_of > 1]
        best = pairs.differences(able, r=report.best_of, together=True)
        restarted = dict(zip(able, best, strict=True))
        for pair, difference in zip(listed, found, strict=True):
            if difference is None:
                unmatched[comparison.title] += 1
            else:
                rows.append(_row(comparison, *pair, difference, restarted.get(pair)))
    notes = [
        f"difference: the first method's expected test regret of one run minus the second's, in "
        f"percentage points. The intervals of a setting hold for all of its pairs together at "
        f"{100 * LEVEL:.0f} %, so they are wider than those of the leaderboard, which compares one "
        "pair at a time. A method is better only if the interval excludes 0. Over three data "
        "seeds or more: t over the data seeds' differences (Bonferroni); with fewer, of these data "
        f"only: {RESAMPLES:,} bootstrap resamples of repeats and of the shared test instances "
        "(max-t)."
    ]
    if report.best_of > 1:
        notes.append(f"best of {report.best_of}: the same for the best of so many by validation.")
    for label, number in unmatched.items():
        notes.append(
            f"{label}: {number} pairs were evaluated on different instances and are left out"
        )
    columns = tuple(
        dataclasses.replace(
            column,
            files_only=column.files_only
            or (column.key.startswith("best_of") and report.best_of == 1),
            title=column.title.replace(" r", f" {report.best_of}")
            if column.key.startswith("best_of")
            else column.title,
        )
        for column in _COLUMNS
    )
    return Sheet(
        "pairwise", "Pairwise differences", columns, tuple(rows), tuple(notes), by="setting"
    )


_COLUMNS = (
    SETTING,
    Column("method", "method", "the method with the lower test regret"),
    Column("other", "against", "the method it is compared with"),
    Column("difference", "difference", "mean difference, percentage points", numeric=True),
    Column("low", "interval from", "lower end of the interval", numeric=True),
    Column("high", "to", "upper end of the interval", numeric=True),
    Column("verdict", "so", "whether the interval excludes 0"),
    Column("best_of_difference", "best of r", "difference of best of r, points", numeric=True),
    Column("best_of_low", "from", "lower end of its interval", numeric=True),
    Column("best_of_high", "to", "upper end of its interval", numeric=True),
    Column("best_of_verdict", "so", "whether that interval excludes 0"),
    Column("over", "over", "what the intervals speak of"),
    Column("instances", "instances", "test instances both were judged on", numeric=True,
           files_only=True),
)  # fmt: skip

_WORDS = {"lower": "better", "higher": "worse", "open": "not distinguishable"}


def _row(
    comparison: Comparison,
    first: Result,
    second: Result,
    difference: Difference,
    restarted: Difference | None,
) -> tuple[Cell, ...]:
    return (
        Cell(comparison.title, comparison.label),
        Cell(style(first.method).label, first.method),
        Cell(style(second.method).label, second.method),
        *_difference(difference),
        *_difference(restarted),
        text(difference.over),
        Cell(f"{difference.instances:,}", difference.instances),
    )


def _difference(difference: Difference | None) -> tuple[Cell, ...]:
    if difference is None:
        return (NOTHING,) * 4
    word = _WORDS[difference.verdict]
    return (
        points(difference.mean),
        points(difference.low),
        points(difference.high),
        Cell(word, word, "best" if difference.verdict == "lower" else "muted"),
    )
