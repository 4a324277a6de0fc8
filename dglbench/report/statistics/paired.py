"""Is one method better than another? Intervals of regrets and of their paired differences.

Over three data seeds or more: the t interval of the data seeds' means; a difference is taken per
data seed first (`intervals`). It speaks of further data of this kind.

Within one data seed, or two: a percentile bootstrap over repeats and test instances. The instances
are drawn once and shared by all repeats and methods, so that differences are paired; the repeats
are drawn for each method by itself, R − 1 of R, because R of R would make the spread of a mean too
small by (R − 1)/R. It speaks of *these data only*; with one repeat, of this one start only.

The table of all pairs compares many at once, so its intervals hold together: at 95 % none of them
misses its difference. One method is *better* only if the interval excludes 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dglbench.report.best_of import best_of
from dglbench.report.cells import Cell, Result
from dglbench.report.loading import Report
from dglbench.report.statistics.intervals import FEWEST_SEEDS, t_interval
from dglbench.report.statistics.time_to_regret import blocks, in_name_order
from dglbench.statistics import (
    LEVEL,
    RESAMPLES,
    SMALLEST_VALUE,
    Numbers,
    percentile_interval,
    percentile_intervals,
    resampled_means,
)
from dglbench.streams import stream

__all__ = ["Difference", "Pairs", "simultaneous"]


class Difference(NamedTuple):
    """Mean test regret of one method minus that of another."""

    mean: float
    low: float
    high: float
    seeds: int
    """Over how many data seeds it was taken."""
    instances: int
    """Test instances of a data seed."""

    @property
    def verdict(self) -> str:
        """``lower``, ``higher`` or ``open`` if the interval holds 0."""
        if self.high < 0:
            return "lower"
        return "higher" if self.low > 0 else "open"

    @property
    def over(self) -> str:
        """Say what the interval speaks of."""
        if self.seeds >= FEWEST_SEEDS:
            return f"{self.seeds} data seeds"
        return "these data only"


class _Run(NamedTuple):
    """A run's mean over test instances, and the means of their resamples."""

    judged_on: bytes
    mean: float
    resampled: Numbers
    instances: int


class _Resampled(NamedTuple):
    """A cell's reading, and that of its resamples."""

    judged_on: bytes
    value: float
    resampled: Numbers
    instances: int


class Pairs:
    """The resampled readings of every chosen cell; intervals and differences are read off them."""

    def __init__(self, report: Report) -> None:
        self._runs: dict[str, _Run] = {}
        self._cells: dict[tuple[str, str, int], _Resampled | None] = {}
        if not report.chosen:
            return
        runs = in_name_order(report)
        decisions = report.table("decisions", runs)
        optimum = pl.col("optimal_value").abs()
        pooled = [run.run_id for run in runs if run.judged_by == "pooled"]
        # Over the mean optimum, the mean over instances is the pooled regret.
        worth = (
            pl.when(pl.col("run_id").is_in(pooled))
            .then(optimum.mean().over("run_id"))
            .otherwise(optimum)
        )
        frame = decisions.select(
            "run_id", "instance", relative=pl.col("regret") / worth.clip(SMALLEST_VALUE)
        )
        regrets, instances = frame["relative"].to_numpy(), frame["instance"].to_numpy()
        for run_id, rows in blocks(frame):
            judged_on, relative = instances[rows], regrets[rows]
            if not (judged_on[:-1] < judged_on[1:]).all():
                order = judged_on.argsort(kind="stable")
                judged_on, relative = judged_on[order], relative[order]
            self._runs[run_id] = _Run(
                judged_on.tobytes(), float(relative.mean()), resampled_means(relative),
                len(relative),
            )  # fmt: skip

    def difference(
        self, first: Result, second: Result, others: Pairs | None = None, *, r: int = 1
    ) -> Difference | None:
        """Return first − second (a result of ``others``, if given).

        None if they were not judged on the same data seeds and instances.
        """
        return self.differences([(first, second)], others, r=r)[0]

    def differences(
        self,
        pairs: Sequence[tuple[Result, Result]],
        others: Pairs | None = None,
        *,
        r: int = 1,
        together: bool = False,
    ) -> list[Difference | None]:
        """Return the differences of several pairs of one setting.

        Each has an interval of its own, or all hold at once with ``together``.
        """
        found: list[Difference | None] = [None] * len(pairs)
        drawn = {}
        for at, (first, second) in enumerate(pairs):
            one, two = self._of(first, r), (others or self)._of(second, r)
            if one is None or two is None or len(one) != len(two):
                continue
            if any(a.judged_on != b.judged_on for a, b in zip(one, two, strict=True)):
                continue
            drawn[at] = one, two
        if not drawn:
            return found
        seeds = len(next(iter(drawn.values()))[0])
        if seeds >= FEWEST_SEEDS:
            apart = np.stack([pairs[at][0].by_seed(r) - pairs[at][1].by_seed(r) for at in drawn])
            means = apart.mean(axis=1)
            low, high = t_interval(apart, len(drawn) if together else 1)
        else:
            means = np.array([_mean(one) - _mean(two) for one, two in drawn.values()])
            resampled = np.stack([_resampled(one) - _resampled(two) for one, two in drawn.values()])
            if together:
                low, high = simultaneous(means, np.ascontiguousarray(resampled.T))
            else:
                low, high = percentile_intervals(resampled)
        for place, (at, (one, _)) in enumerate(drawn.items()):
            found[at] = Difference(
                float(means[place]), float(low[place]), float(high[place]), seeds, one[0].instances
            )
        return found

    def interval(self, result: Result, r: int = 1) -> tuple[float, float] | None:
        """Return a result's own interval; None where its decisions were not kept."""
        if len(result.cells) >= FEWEST_SEEDS:
            low, high = t_interval(result.by_seed(r))
            return max(float(low), 0.0), float(high)  # a regret is never below 0
        if len(result.runs) == 1 and result.first.test_interval is not None:
            return result.first.test_interval  # as the run logged it
        return self.on_these_data(result, r)

    def of_single_runs(self, cells: Iterable[Cell]) -> dict[str, tuple[float, float] | None]:
        """Return the intervals of the cells that hold one run, by its id."""
        return {
            cell.first.run_id: self.interval(Result(cell.method, (cell,)))
            for cell in cells
            if len(cell.runs) == 1
        }

    def on_these_data(self, result: Result, r: int = 1) -> tuple[float, float] | None:
        """Return the interval over repeats and test instances, for any number of data seeds."""
        known = self._of(result, r)
        return None if known is None else percentile_interval(_resampled(known))

    def _of(self, result: Result, r: int) -> list[_Resampled] | None:
        found = [self._cell(cell, r) for cell in result.cells]
        whole = [each for each in found if each is not None]
        return whole if len(whole) == len(found) else None

    def _cell(self, cell: Cell, r: int) -> _Resampled | None:
        key = cell.unit.key, cell.method, r
        if key not in self._cells:
            runs = [known for run in cell.runs if (known := self._runs.get(run.run_id))]
            alike = len({run.judged_on for run in runs}) == 1
            whole = alike and len(runs) == len(cell.runs)
            self._cells[key] = _resample(cell, runs, r) if whole else None
        return self._cells[key]


def _resample(cell: Cell, runs: Sequence[_Run], r: int) -> _Resampled:
    """Draw repeats, each with its resampled means over the shared draws of instances."""
    value = cell.expected([run.mean for run in runs], r)
    if cell.repeats == 1:
        return _Resampled(runs[0].judged_on, value, runs[0].resampled, runs[0].instances)
    draws = stream(0, "report", "repeats", cell.unit.key, cell.method)
    chance = np.full(cell.repeats, 1 / cell.repeats)
    counts = draws.multinomial(cell.repeats - 1, chance, RESAMPLES)
    means = np.stack([run.resampled for run in runs], axis=1)
    padded = np.concatenate([means, np.full((RESAMPLES, cell.lost), np.nan)], axis=1)
    found = best_of(cell.validation, padded, min(r, cell.repeats - 1), counts)
    # Draws with replacement hold fewer different repeats, so their best of r is worse: recentre.
    resampled = np.where(np.isnan(found), np.nanmean(found), found)
    resampled = resampled + (value - resampled.mean())
    # What is kept is one of the repeats, so it lies between their lowest and their highest.
    resampled = np.clip(resampled, means.min(axis=1), means.max(axis=1))
    return _Resampled(runs[0].judged_on, value, resampled, runs[0].instances)


def _mean(cells: Sequence[_Resampled]) -> float:
    return float(np.mean([cell.value for cell in cells]))


def _resampled(cells: Sequence[_Resampled]) -> Numbers:
    found: Numbers = np.mean([cell.resampled for cell in cells], axis=0)
    return found


def simultaneous(means: Numbers, resampled: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of intervals that all hold at once with probability 95 %.

    With d the differences and d* their (resamples, pairs) bootstrap: d ± c·se, se
    the standard deviation of d*, and c the 95 % quantile over resamples of the
    largest |d* − d|/se among the pairs (single-step max-t; Romano and Wolf 2005).
    Correlated pairs cost less than Bonferroni's correction would charge for them.
    """
    spread = resampled.std(axis=0, ddof=1)
    known = spread > 0
    if not known.any():  # the same decisions on every instance
        return means, means
    largest = (np.abs(resampled - means)[:, known] / spread[known]).max(axis=1)
    reach = np.quantile(largest, LEVEL) * spread
    return means - reach, means + reach
