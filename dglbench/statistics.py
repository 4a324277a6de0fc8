"""What regrets are divided by, and how sure one can be of their mean.

All intervals are percentile bootstrap intervals over instances (Efron 1979): the mean is
taken of `RESAMPLES` draws with replacement, and the middle `LEVEL` of those means is
the interval. The draws are seeded, so the same numbers have the same interval.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.streams import stream

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "SMALLEST_VALUE",
    "Numbers",
    "bootstrap_interval",
    "percentile_interval",
    "percentile_intervals",
    "resampling_weights",
]

Numbers = npt.NDArray[Any]

SMALLEST_VALUE = 1e-12
"""Relative regret divides by |f*|; an instance whose best value is 0 would divide by nothing."""
RESAMPLES = 2000
LEVEL = 0.95


def bootstrap_interval(values: Numbers) -> tuple[float, float]:
    """Return the interval of the mean over instances."""
    draws = stream(0, "bootstrap").integers(0, len(values), (RESAMPLES, len(values)))
    return percentile_interval(values[draws].mean(axis=1))


def percentile_interval(means: Numbers) -> tuple[float, float]:
    """Return the ends of the middle `LEVEL` of resampled means."""
    low, high = percentile_intervals(means)
    return float(low), float(high)


def percentile_intervals(means: Numbers) -> tuple[Numbers, Numbers]:
    """Return the lower and the upper ends for each row of (…, resamples) resampled means."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=-1)
    return low, high


@lru_cache(maxsize=32)
def resampling_weights(instances: int) -> Numbers:
    """(resamples, instances): how often each instance is drawn, so that a resample is a product.

    The same draws for every run judged on that many instances: differences are paired.
    """
    generator = stream(0, "report", "bootstrap", str(instances))
    counts = generator.multinomial(instances, np.full(instances, 1 / instances), RESAMPLES)
    weights: Numbers = counts / instances
    return weights
