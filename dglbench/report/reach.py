"""Who had reached which regret when: the times behind speed-ups and claims.

A time is read off the best-so-far curve (test regret of the epoch that is best
on validation so far), the same way for a method and for what it is compared
with. So a baseline that reached its own final level early is not charged for
the epochs it went on after that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from dglbench.report.curves import curves
from dglbench.report.load import Report, Run, Unit

__all__ = ["NEAR", "Reach", "Speedup", "best_run"]

NEAR = 0.05
"""Within this share of the best method's regret counts as near it."""

_TICK_S = 1e-9  # what perf_counter resolves; a set-up of nothing is no division by zero

Numbers = npt.NDArray[Any]


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
    run_s: float | None = None
    baseline_s: float | None = None


class Reach:
    """The curves of the chosen runs, ready to be asked."""

    def __init__(self, report: Report) -> None:
        self._curves: dict[str, _Curve] = {}
        frame = curves(report) if report.chosen else pl.DataFrame()
        columns = list(_Curve._fields)
        if not frame.is_empty():
            for (run_id,), part in frame.partition_by("run_id", as_dict=True).items():
                self._curves[str(run_id)] = _Curve(*(part[name].to_numpy() for name in columns))
        self._epoch_s = _mean_epochs(report)

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
            return Speedup(None, "never", own, other)
        return Speedup(other / max(own, _TICK_S), "", own, other)

    def epoch_s(self, run: Run) -> float | None:
        """Return the mean seconds of a training epoch, set-up left out."""
        return self._epoch_s.get(run.run_id)


def _mean_epochs(report: Report) -> dict[str, float]:
    if not report.chosen:
        return {}
    timing = report.table("timing").filter(pl.col("epoch") > 0)
    return dict(timing.group_by("run_id").agg(pl.col("epoch_s").mean()).iter_rows())


def best_run(report: Report, unit: Unit) -> Run:
    """Return the unit's run with the lowest test regret."""
    return min(report.chosen_runs(unit), key=lambda run: (run.test_regret, run.run_id))
