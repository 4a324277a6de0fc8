"""Is one method better than another? Paired differences on the same test instances.

Every run of a unit was judged on the same test instances, so methods are
compared instance by instance: the mean difference of (f* − f)/|f*|, with a 95 %
percentile bootstrap interval over instances. The resampling is seeded and the
same for every pair.

The table compares all pairs of a setting, so its intervals hold together: at 95 %
none of them misses its difference (`simultaneous`). One method is *better* only
if that wider interval excludes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from dglbench.report.loading import Report, Run
from dglbench.report.statistics.time_to_regret import blocks, in_name_order
from dglbench.statistics import (
    LEVEL,
    SMALLEST_VALUE,
    Numbers,
    percentile_interval,
    percentile_intervals,
    resampled_means,
)

__all__ = ["Difference", "Pairs", "simultaneous"]


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
        optimum = pl.col("optimal_value").abs()
        pooled = [run.run_id for run in report.chosen.values() if run.judged_by == "pooled"]
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
            resampled = resampled_means(relative)
            self._means[run_id] = (
                judged_on.tobytes(), float(relative.mean()), resampled, len(relative),
            )  # fmt: skip

    def difference(self, first: Run, second: Run, others: Pairs | None = None) -> Difference | None:
        """Return first − second (a run of ``others``, if given).

        None if they were not judged on the same instances.
        """
        return self.differences([(first, second)], others)[0]

    def differences(
        self, pairs: Sequence[tuple[Run, Run]], others: Pairs | None = None
    ) -> list[Difference | None]:
        """Return the differences of several pairs, each with an interval of its own."""
        return self._compared(pairs, lambda _, resampled: percentile_intervals(resampled), others)

    def together(self, pairs: Sequence[tuple[Run, Run]]) -> list[Difference | None]:
        """Return the differences of several pairs, with intervals that hold for all at once."""
        return self._compared(
            pairs, lambda means, resampled: simultaneous(means, np.ascontiguousarray(resampled.T))
        )

    def _compared(
        self,
        pairs: Sequence[tuple[Run, Run]],
        intervals: Callable[[Numbers, Numbers], tuple[Numbers, Numbers]],
        others: Pairs | None = None,
    ) -> list[Difference | None]:
        """Take the differences of those judged on the same instances, their intervals at once."""
        seconds = (others or self)._means
        matched = {}
        for at, (first, second) in enumerate(pairs):
            one, two = self._means.get(first.run_id), seconds.get(second.run_id)
            if one is not None and two is not None and one[0] == two[0]:
                matched[at] = one, two
        found: list[Difference | None] = [None] * len(pairs)
        if matched:
            means = np.array([one[1] - two[1] for one, two in matched.values()])
            resampled = np.stack([one[2] - two[2] for one, two in matched.values()])
            ends = zip(means, *intervals(means, resampled), strict=True)
            for (at, (one, _)), (mean, low, high) in zip(matched.items(), ends, strict=True):
                found[at] = Difference(float(mean), float(low), float(high), one[3])
        return found

    def interval(self, run: Run) -> tuple[float, float] | None:
        """Return the run's own interval: as logged, else from its decisions."""
        if run.test_interval is not None:
            return run.test_interval
        known = self._means.get(run.run_id)
        return None if known is None else percentile_interval(known[2])


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
