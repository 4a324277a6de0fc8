"""What regrets are divided by, and how precise their mean is.

All intervals are percentile bootstrap intervals over instances (Efron 1979): the mean is
taken of `RESAMPLES` draws with replacement, and the middle `LEVEL` of those means is
the interval. The draws are seeded, so the same numbers have the same interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.streams import stream

__all__ = [
    "LEVEL",
    "MOST_EXCLUDED",
    "RESAMPLES",
    "SMALLEST_SHARE",
    "SMALLEST_VALUE",
    "Numbers",
    "bootstrap_interval",
    "has_relative_regret",
    "percentile_interval",
    "percentile_intervals",
    "resampled_means",
]

Numbers = npt.NDArray[Any]

SMALLEST_VALUE = 1e-12
"""Pooled regret divides by Σ|f*|, which might be 0."""
SMALLEST_SHARE = 1e-3
"""An instance has no relative regret if its |f*| is at most this share of the split's median."""
MOST_EXCLUDED = 0.01
"""Where a larger share of a split has no relative regret, runs are judged by pooled regret."""
RESAMPLES = 2000
LEVEL = 0.95

_DRAWN_AT_ONCE = 1 << 22
"""Draws held in memory at a time: 32 MB."""
_KEPT_WEIGHTS = 1 << 22
"""Weights up to this number are kept for the next run judged on as many instances: 32 MB."""


def has_relative_regret(optimal: Numbers) -> npt.NDArray[np.bool_]:
    """Say of each instance of a split whether its optimum is large enough to divide by.

    The optima alone decide, so the answer is the same for every method.
    """
    size = np.abs(optimal)
    large: npt.NDArray[np.bool_] = size > SMALLEST_SHARE * np.median(size)
    return large


def bootstrap_interval(values: Numbers, sizes: Numbers | None = None) -> tuple[float, float]:
    """Return the interval of the mean over instances, or of Σ values / Σ sizes."""
    draws = stream(0, "bootstrap")
    means = []
    for rows in _chunks(len(values)):
        drawn = draws.integers(0, len(values), (rows, len(values)))
        mean = values[drawn].mean(axis=1)
        if sizes is not None:
            mean /= np.maximum(sizes[drawn].mean(axis=1), SMALLEST_VALUE)
        means.append(mean)
    return percentile_interval(np.concatenate(means))


def percentile_interval(means: Numbers) -> tuple[float, float]:
    """Return the ends of the middle `LEVEL` of resampled means."""
    low, high = percentile_intervals(means)
    return float(low), float(high)


def percentile_intervals(means: Numbers) -> tuple[Numbers, Numbers]:
    """Return the lower and the upper ends for each row of (…, resamples) resampled means."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=-1)
    return low, high


def resampled_means(values: Numbers) -> Numbers:
    """(resamples,): the mean over instances of each resample.

    The draws are the same for every run judged on that many instances: differences are paired.
    """
    if RESAMPLES * len(values) <= _KEPT_WEIGHTS:
        means: Numbers = _kept_weights(len(values)) @ values
        return means
    return np.concatenate([weights @ values for weights in _weights(len(values))])


@lru_cache(maxsize=16)
def _kept_weights(instances: int) -> Numbers:
    return np.concatenate(list(_weights(instances)))


def _weights(instances: int) -> Iterator[Numbers]:
    """Yield rows of (resamples, instances): how often each instance is drawn, over their number."""
    draws = stream(0, "report", "bootstrap", str(instances))
    chances = np.full(instances, 1 / instances)
    for rows in _chunks(instances):
        yield draws.multinomial(instances, chances, rows) / instances


def _chunks(instances: int) -> Iterator[int]:
    """Yield how many resamples to draw at once; a stream gives the same draws in any chunks."""
    at_once = max(_DRAWN_AT_ONCE // instances, 1)
    for start in range(0, RESAMPLES, at_once):
        yield min(at_once, RESAMPLES - start)
