"""Which method has the lowest regret for the training time that one has, restarts included.

For a time, every method takes as many of its repeats as fit into it, at most half of those that
were run, and keeps the best by validation: the lowest point of its restart curve so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dglbench.report.cells import Result
from dglbench.report.statistics.comparisons import Comparison

__all__ = ["Choice", "best_for", "budgets"]

_FEW = 3
"""With fewer powers of ten than this, times in between are taken too."""


class Choice(NamedTuple):
    """The method to take for a time, with how many repeats, and what to expect."""

    result: Result
    r: int
    regret: float


def best_for(comparison: Comparison, seconds: float) -> Choice | None:
    """Return the lowest expected test regret for this training time; None if nothing fits."""
    choices = [
        Choice(result, r, result.regret(r))
        for result in comparison.results
        for r in range(1, result.most + 1)
        if r * spent(result) <= seconds
    ]
    # Of equal regrets the cheaper one.
    return min(choices, key=lambda c: (round(c.regret, 12), c.r * spent(c.result)), default=None)


def spent(result: Result) -> float:
    """Return the mean training seconds of one run."""
    return math.fsum(cell.train_s for cell in result.cells) / len(result.cells)


def budgets(comparisons: Sequence[Comparison]) -> list[float]:
    """Return round times from where something fits to where all of it does."""
    times = [
        r * spent(result)
        for comparison in comparisons
        for result in comparison.results
        for r in (1, result.most)
        if spent(result) > 0
    ]
    if not times:
        return []
    low, high = (math.ceil(round(math.log10(end), 9)) for end in (min(times), max(times)))
    tens = list(range(low, high + 1))
    if len(tens) >= _FEW:
        return [10.0**power for power in tens]
    return [mantissa * 10.0**power for power in tens for mantissa in (0.3, 1.0)]
