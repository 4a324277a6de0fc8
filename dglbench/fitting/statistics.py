"""What a verdict rests on: paired comparisons, how sure a choice is, how many instances could tell.

All intervals are those of `dglbench.statistics`: the same resamples of instances for every run, so
that differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from dglbench.problem import Array
from dglbench.report.statistics.rivals import SMALL
from dglbench.statistics import (
    LEVEL,
    SMALLEST_VALUE,
    has_relative_regret,
    percentile_interval,
    resampled_means,
)

__all__ = [
    "POWER",
    "Comparison",
    "Estimate",
    "Instances",
    "chosen_shares",
    "compare",
    "instances_needed",
]

_ROUNDING = 1e-12
POWER = 0.8
"""The chance of telling that `instances_needed` asks for."""


class Estimate(NamedTuple):
    """A mean over instances with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Instances:
    """The instances of a split, which all runs share."""

    optimal: Array
    """(K,): f*."""
    judged_by: Literal["relative", "pooled"] = "relative"

    @cached_property
    def _kept(self) -> Array:
        rows = has_relative_regret(self.optimal)
        return np.asarray(rows if self.judged_by == "relative" else np.ones_like(rows))

    @cached_property
    def sizes(self) -> Array:
        """What regrets are divided by: each instance's |f*|, or for pooled regret their mean."""
        size = np.abs(self.optimal)
        if self.judged_by == "relative":
            return np.asarray(size[self._kept])
        return np.full(len(size), max(float(size.mean()), SMALLEST_VALUE))

    def shares(self, regret: Array) -> Array:
        """Return the regret of every instance that counts, as a share; its mean is what counts."""
        return np.asarray(regret[self._kept] / self.sizes)

    def means(self, regret: Array) -> Array:
        """(resamples,): the regret of each resample of the instances."""
        if self.judged_by == "relative":
            return resampled_means(self.shares(regret))
        sizes = resampled_means(np.abs(self.optimal))
        return np.asarray(resampled_means(regret) / np.maximum(sizes, SMALLEST_VALUE))

    def estimate(self, regret: Array) -> Estimate:
        """Return the mean regret with its interval."""
        return Estimate(float(self.shares(regret).mean()), *percentile_interval(self.means(regret)))


class Comparison(NamedTuple):
    """The regret of the best accurate model minus that of the best decision-focused one."""

    difference: Estimate
    pays: bool | None
    """False if the interval does not exceed `SMALL`, else True if it lies above 0, else None."""
    more: int | None
    """How many more test instances could tell, where these cannot."""


def compare(accurate: Array, focused: Array, instances: Instances) -> Comparison:
    """Compare two runs' regrets on the same instances."""
    means = instances.means(accurate) - instances.means(focused)
    paired = instances.shares(accurate) - instances.shares(focused)
    value = float(paired.mean())
    difference = Estimate(value, *percentile_interval(means))
    pays = False if difference.high <= SMALL else True if difference.low > 0 else None
    more = None
    if pays is None:
        needed = instances_needed(value, float(paired.std(ddof=1)) if len(paired) > 1 else 0.0)
        more = max(needed - len(paired), 1) if needed else None
    return Comparison(difference, pays, more)


def instances_needed(difference: float, deviation: float) -> int | None:
    """Return how many instances tell a difference with 80 % power, None if nothing says.

    If the true difference is the one measured, n = ((z₀.₉₇₅ + z₀.₈) s / δ)² instances have its
    interval above 0 in 80 % of the cases; s is the standard deviation of the paired differences. To
    find that it does not exceed `SMALL`, the distance is `SMALL` − δ instead. The smaller of the
    two numbers is returned.
    """
    from scipy import stats

    z = float(stats.norm.ppf((1 + LEVEL) / 2) + stats.norm.ppf(POWER))
    distance = max(difference, SMALL - difference)
    if not math.isfinite(distance) or deviation <= 0:
        return None
    return math.ceil((z * deviation / distance) ** 2)


def chosen_shares(regrets: Sequence[Array], instances: Instances) -> list[float]:
    """Return how often each run would be chosen if the instances were drawn again.

    Equals share a resample: that one of them is chosen there is chance.
    """
    means = np.stack([instances.means(regret) for regret in regrets])
    least = means.min(axis=0)
    tied = means <= least + _ROUNDING * np.maximum(np.abs(means).max(axis=0), SMALLEST_VALUE)
    return [float(share) for share in (tied / tied.sum(axis=0)).mean(axis=1)]
