"""Who had reached which regret when: the times behind speed-ups and claims.

A time is read off the best-so-far curve (test regret of the epoch that is best
on validation so far), the same way for a method and for what it is compared
with. So a baseline that reached its own final level early is not charged for
the epochs it went on after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from dglbench.report.loading import Report, Run
from dglbench.report.statistics.curves import curves
from dglbench.statistics import Numbers

__all__ = ["NEAR", "Reach", "Speedup", "best_run", "blocks", "in_name_order"]

NEAR = 0.05
"""Within this share of the best method's regret counts as near it."""

_TICK_S = 1e-9  # what perf_counter resolves; a set-up of nothing is no division by zero


class _Curve(NamedTuple):
    epoch: Numbers
    elapsed_s: Numbers
    solves: Numbers
    best_test_regret: Numbers


class Speedup(NamedTuple):
    """How many times sooner a run reached the baseline's regret; None with the reason why not."""

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
        epochs = report.table("timing", runs).filter(pl.col("epoch") > 0)
        self._epoch_s = dict(epochs.group_by("run_id").agg(pl.col("epoch_s").mean()).iter_rows())

    def selected(self, run: Run) -> tuple[float, int]:
        """Return the training seconds and the solver calls up to the selected epoch."""
        curve = self._curves[run.run_id]
        at = int(np.flatnonzero(curve.epoch == run.selected_epoch)[0])
        return float(curve.elapsed_s[at]), int(curve.solves[at])

    def time_to(self, run: Run, target: float) -> float | None:
        """Return the training seconds until the run first had ``target``, None if it never had."""
        curve = self._curves[run.run_id]
        met = np.flatnonzero(curve.best_test_regret <= target)
        return float(curve.elapsed_s[met[0]]) if met.size else None

    def speedup(self, run: Run, baseline: Run) -> Speedup:
        """Compare the times at which two runs first had the baseline's selected test regret."""
        if run.conditions != baseline.conditions:
            return Speedup(None, "clock")
        target = baseline.test_regret
        start = baseline.warm_start_regret
        if start is not None and start <= target:
            # Nothing was gained in training, so any ratio would be of set-up times.
            return Speedup(None, "start")
        own, other = self.time_to(run, target), self.time_to(baseline, target)
        if own is None or other is None:
            return Speedup(None, "never")
        return Speedup(other / max(own, _TICK_S))

    def epoch_s(self, run: Run) -> float | None:
        """Return the mean seconds of a training epoch, set-up left out."""
        return self._epoch_s.get(run.run_id)


def in_name_order(report: Report) -> list[Run]:
    """Return the chosen runs in the order in which `load` has read their tables already."""
    return sorted(report.chosen.values(), key=lambda run: run.run_id)


def blocks(frame: pl.DataFrame) -> Iterator[tuple[str, slice]]:
    """Yield each run's rows of a frame in which they stand together.

    A slice of an array is a hundred times cheaper than a frame of its own.
    """
    stop = 0
    for row in frame["run_id"].rle().struct.unnest().iter_rows(named=True):
        start, stop = stop, stop + row["len"]
        yield str(row["value"]), slice(start, stop)


def best_run(runs: Iterable[Run]) -> Run:
    """Return the run with the lowest test regret."""
    return min(runs, key=lambda run: (run.test_regret, run.run_id))
