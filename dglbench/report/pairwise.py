"""Is one method better than another? Paired differences on the same test instances.

Every run of a unit was judged on the same test instances, so methods are
compared instance by instance: the mean difference of (f* − f)/|f*|, with a 95 %
percentile bootstrap interval over instances. One method is *better* only if the
interval excludes 0. The resampling is seeded and the same for every pair.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import polars as pl

from dglbench.report.load import Report, Run, Unit
from dglbench.report.palette import style
from dglbench.report.sheet import Cell, Column, Sheet, count, text
from dglbench.report.time_to_regret import blocks, in_name_order
from dglbench.statistics import (
    LEVEL,
    RESAMPLES,
    SMALLEST_VALUE,
    Numbers,
    percentile_interval,
    resampling_weights,
)

__all__ = ["Difference", "Pairs", "pairwise"]


class Difference(NamedTuple):
    """Mean relative regret of one run minus that of another, on the same instances."""

    mean: float
    low: float
    high: float
    instances: int

    @property
    def verdict(self) -> str:
        """``lower``, ``higher`` or ``open`` if the interval holds 0."""
        if self.high < 0:
            return "lower"
        return "higher" if self.low > 0 else "open"


class Pairs:
    """The resampled means of every chosen run; differences are read off them."""

    def __init__(self, report: Report) -> None:
        self._means: dict[str, tuple[bytes, float, Numbers, int]] = {}
        if not report.chosen:
            return
        decisions = report.table("decisions", in_name_order(report))
        worth = pl.col("optimal_value").abs().clip(lower_bound=SMALLEST_VALUE)
        frame = decisions.sort("run_id", "instance").select(
            "run_id", "instance", relative=pl.col("regret") / worth
        )
        regrets, instances = frame["relative"].to_numpy(), frame["instance"].to_numpy()
        for run_id, rows in blocks(frame):
            relative = regrets[rows]
            resampled = resampling_weights(len(relative)) @ relative
            judged_on = instances[rows].tobytes()
            self._means[run_id] = judged_on, float(relative.mean()), resampled, len(relative)

    def difference(self, first: Run, second: Run) -> Difference | None:
        """Return first − second; None if they were not judged on the same instances."""
        one, two = self._means.get(first.run_id), self._means.get(second.run_id)
        if one is None or two is None or one[0] != two[0]:
            return None
        low, high = percentile_interval(one[2] - two[2])
        return Difference(one[1] - two[1], low, high, one[3])

    def interval(self, run: Run) -> tuple[float, float] | None:
        """Return the run's own interval: as logged, else from its decisions."""
        if run.test_interval is not None:
            return run.test_interval
        known = self._means.get(run.run_id)
        return None if known is None else percentile_interval(known[2])


def pairwise(report: Report) -> Sheet:
    """Compare every pair of methods of every unit; the better one stands first."""
    pairs = Pairs(report)
    rows = []
    unmatched: Counter[str] = Counter()
    for unit in report.units:
        ranked = sorted(report.chosen_runs(unit), key=lambda run: (run.test_regret, run.run_id))
        for better, worse in combinations(ranked, 2):
            difference = pairs.difference(better, worse)
            if difference is None:
                unmatched[unit.label] += 1
            else:
                rows.append(_row(unit, better, worse, difference))
    notes = [
        f"difference: mean of the first method's relative regret minus the second's over the same "
        f"test instances, in percentage points, with a {LEVEL:.0%} bootstrap interval "
        f"({RESAMPLES:,} resamples). A method is better only if the interval excludes 0."
    ]
    for label, number in unmatched.items():
        notes.append(f"{label}: {number} pairs were judged on different instances and are left out")
    return Sheet(
        "pairwise", "Pairwise differences", _COLUMNS, tuple(rows), tuple(notes), by="setting"
    )


_COLUMNS = (
    Column("setting", "setting", "task, size and what else tells it apart"),
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
        text(unit.label),
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
