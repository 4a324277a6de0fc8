"""What to expect of a plan: its realised value, given the value that the predictions promise.

Decision-focused predictors are not calibrated: the sum of their predictions over what they choose
may be far from what that turns out to be worth. On the validation instances both are known, so a
line is fitted there by least squares,

    realised = intercept + slope · predicted,

and read at the mean predicted value of the new plans. The 95 % interval of their mean is that of a
prediction: s · t · √(1/m + 1/n + (x − x̄)² / Σ (xᵢ − x̄)²) on both sides for m new plans and n
validation instances, s the standard deviation of the residuals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dglbench.problem import Array
from dglbench.statistics import LEVEL

__all__ = ["Calibration", "Expected", "calibrate"]

FEWEST = 5
"""Validation instances that a line needs."""


class Expected(NamedTuple):
    """What new plans are worth on average."""

    value: float
    low: float
    high: float
    predicted: float
    """What the predictions promise, on average."""
    within: bool
    """Whether that is within what validation saw."""

    @property
    def words(self) -> str:
        """All of it in words."""
        words = (
            f"expect {self.value:.6g} on average ({self.low:.6g} to {self.high:.6g}, 95 %), where "
            f"the predictions promise {self.predicted:.6g}"
        )
        return words if self.within else f"{words}, which is beyond what validation saw"


class Calibration(NamedTuple):
    """The line of a run, and how precise it is."""

    intercept: float
    slope: float
    residual: float
    """Standard deviation around the line."""
    instances: int
    mean: float
    """Of the predicted values on validation."""
    scatter: float
    """Σ (xᵢ − x̄)² of the predicted values."""
    low: float
    high: float
    """Smallest and largest predicted value on validation."""

    def expect(self, predicted: Array) -> Expected:
        """Return what plans with these predicted values, (m,), are worth on average."""
        from scipy import stats

        at = float(np.mean(predicted))
        apart = (at - self.mean) ** 2 / self.scatter if self.scatter > 0 else 0.0
        spread = self.residual * math.sqrt(1 / len(predicted) + 1 / self.instances + apart)
        half = float(stats.t.ppf((1 + LEVEL) / 2, self.instances - 2)) * spread
        value = self.intercept + self.slope * at
        return Expected(value, value - half, value + half, at, self.low <= at <= self.high)


def calibrate(predicted: Array, realised: Array) -> Calibration | None:
    """Fit the line to validation instances, (n,) each; None if they are too few."""
    count = len(predicted)
    if count < FEWEST:
        return None
    mean = float(predicted.mean())
    scatter = float(np.square(predicted - mean).sum())
    # Predictions that promise the same for every instance say nothing about the differences.
    tiny = scatter <= 1e-18 * max(1.0, count * mean**2)
    slope = 0.0 if tiny else float((predicted - mean) @ realised / scatter)
    intercept = float(realised.mean()) - slope * mean
    error = realised - intercept - slope * predicted
    residual = math.sqrt(float(error @ error) / (count - 2))
    ends = float(predicted.min()), float(predicted.max())
    return Calibration(intercept, slope, residual, count, mean, 0.0 if tiny else scatter, *ends)
