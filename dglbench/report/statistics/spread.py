"""The ± of a paper's table: how far a reading varies, over data seeds or else over repeats."""

from __future__ import annotations

import math

import numpy as np

from dglbench.report.cells import Cell, Result
from dglbench.report.statistics.comparisons import BAND_SEEDS

__all__ = ["repeat_spread", "spread"]


def spread(result: Result, r: int = 1) -> float | None:
    """Return the standard deviation of a result's reading; None where one run is all there is.

    Over three data seeds or more, of their means; with fewer, of a draw of best of r on one data
    seed, the root mean square over data seeds.
    """
    if len(result.cells) >= BAND_SEEDS:
        return float(result.by_seed(r).std(ddof=1))
    squares = [each**2 for cell in result.cells if (each := repeat_spread(cell, r)) is not None]
    return math.sqrt(np.mean(squares)) if squares else None


def repeat_spread(cell: Cell, r: int = 1) -> float | None:
    """Return the standard deviation of what best of r gives on one data seed."""
    if len(cell.runs) < 2 or r > cell.repeats:
        return None
    if r == 1:
        return float(cell.regrets.std(ddof=1))
    mean = cell.regret(r)
    return math.sqrt(max(cell.expected((cell.regrets - mean) ** 2, r), 0.0))
