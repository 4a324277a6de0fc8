"""Who had reached which regret when: the times behind speed-ups and claims.

A time is read off the best-so-far curve (test regret of the epoch that is best
on validation so far), the same way for a method and for what it is compared
with, and over repeats as the time that is expected. So a baseline that reached its
own final level early is not charged for the epochs it went on after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dglbench.report.cells import Result
from dglbench.report.loading import Report, Run
from dglbench.report.statistics.curves import curves
from dglbench.report.statistics.epochs import EPOCHS
from dglbench.report.style.palette import method_order
from dglbench.statistics import Numbers

__all__ = ["NEAR", "Reach", "Speedup", "best_result", "blocks", "in_name_order"]

NEAR = 0.05
"""Within this share of the best method's regret counts as near it."""

_TICK_S = 1e-9  # what perf_counter resolves; a set-up of nothing is no division by zero


class _Curve(NamedTuple):
    epoch: Numbers
    elapsed_s: Numbers
    solves: Numbers
    test_regret: Numbers
    best_test_regret: Numbers


class Speedup(NamedTuple):
    """How many times sooner a method had the baseline's regret; None with the reason why not."""

    times: float | None
    why: str = ""
    """``never``, ``start`` (the shared start was there already) or ``clock`` (not comparable)."""


class Reach:
    """The curves of the chosen runs, ready to be asked."""

    def __init__(self, report: Report) -> None:
        self._curves: dict[str, _Curve] = {}
        self._epoch_s: dict[str, float] = {}
        if not report.chosen:
            return
        runs = in_name_order(report)
        frame = curves(report, runs)
        columns = [frame[name].to_numpy() for name in _Curve._fields]
        for run_id, rows in blocks(frame):
            self._curves[run_id] = _Curve(*(column[rows] for column in columns))
        clocks = report.table("timing", runs).with_columns(epochs=EPOCHS)
        epochs = clocks.filter(pl.col("epoch") > 0).group_by("run_id")
        mean = pl.col("epoch_s").sum() / pl.col("epochs").sum()
        self._epoch_s = dict(epochs.agg(mean).iter_rows())

    def selected(self, result: Result) -> tuple[float, float]:
        """Return the mean training seconds and solver calls up to the selected epoch."""
        found = []
        for run in result.runs:
            curve = self._curves[run.run_id]
            at = int(np.flatnonzero(curve.epoch == run.selected_epoch)[0])
            found.append((float(curve.elapsed_s[at]), int(curve.solves[at])))
        seconds, solves = np.mean(found, axis=0)
        return float(seconds), float(solves)

    def last_regret(self, result: Result, r: int = 1) -> float:
        """Return the expected test regret of the last epoch instead of the one validation chose."""
        each = [
            cell.expected([self._curves[run.run_id].test_regret[-1] for run in cell.runs], r)
            for cell in result.cells
        ]
        return float(np.mean(each))

    def time_to(self, result: Result, targets: Sequence[float]) -> float | None:
        """Return the training seconds expected until a target is met, one for each data seed.

        What all repeats spent, those that never met it until their end, over how many met it: who
        trains until it is met pays for the runs in vain too (the expected running time of Hansen
        et al. 2009). None if no repeat met it; of one run, when it did.
        """
        spent, met = 0.0, 0
        for cell, target in zip(result.cells, targets, strict=True):
            for run in cell.runs:
                curve = self._curves[run.run_id]
                there = np.flatnonzero(curve.best_test_regret <= target)
                spent += float(curve.elapsed_s[there[0]] if there.size else curve.elapsed_s[-1])
                met += bool(there.size)
        return spent / met if met else None

    def speedup(self, result: Result, baseline: Result) -> Speedup:
        """Compare the times at which two methods have the baseline's selected test regret."""
        if result.conditions != baseline.conditions or len(result.conditions) > 1:
            return Speedup(None, "clock")
        start = baseline.warm_start_regret
        if start is not None and start <= baseline.regret():
            # Nothing was gained in training, so any ratio would be of set-up times.
            return Speedup(None, "start")
        targets = baseline.by_seed().tolist()
        own, other = self.time_to(result, targets), self.time_to(baseline, targets)
        if own is None or other is None:
            return Speedup(None, "never")
        return Speedup(other / max(own, _TICK_S))

    def epoch_s(self, result: Result) -> float | None:
        """Return the mean seconds of a training epoch, set-up left out."""
        known = [self._epoch_s[run.run_id] for run in result.runs if run.run_id in self._epoch_s]
        return float(np.mean(known)) if known else None


def in_name_order(report: Report) -> list[Run]:
    """Return the chosen runs in the order in which `load` has read their tables already."""
    return sorted(report.chosen_runs(), key=lambda run: run.run_id)


def blocks(frame: pl.DataFrame) -> Iterator[tuple[str, slice]]:
    """Yield each run's rows of a frame in which they stand together.

    A slice of an array is a hundred times cheaper than a frame of its own.
    """
    stop = 0
    for row in frame["run_id"].rle().struct.unnest().iter_rows(named=True):
        start, stop = stop, stop + row["len"]
        yield str(row["value"]), slice(start, stop)


def best_result(results: Iterable[Result]) -> Result:
    """Return the result with the lowest mean test regret; of equals the first in display order."""
    return min(results, key=lambda result: (result.regret(), method_order(result.method)))
